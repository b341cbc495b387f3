//! Whether a child still looks as its plan says.
//!
//! Guarantees: pure; a field outside the plan is never a difference, a list in the plan is the whole
//! list (matched by its merge key, so that order does not count), a planned `null` must be absent or
//! empty, and quantities are compared by value (`0.5` is `500m`).
//! Leaves to others: reading the child and correcting it.

use serde_json::Value;

/// Fields by which the items of a Kubernetes list are told apart, the first that all items have
/// (the `x-kubernetes-patch-merge-key`s of the API: `name`, `containerPort`, `port`, `mountPath`, ...).
const MERGE_KEYS: [&str; 8] = [
    "name",
    "containerPort",
    "port",
    "mountPath",
    "devicePath",
    "topologyKey",
    "key",
    "type",
];

/// JSON pointer of the first field of `plan` that differs in `actual`, or `None`.
pub fn differs(plan: &Value, actual: &Value) -> Option<String> {
    let mut path = String::new();
    compare(plan, actual, &mut path, false).then_some(path)
}

/// Whether one of `pointers` differs: those fields can only be changed by a new object.
pub fn differs_at(plan: &Value, actual: &Value, pointers: &[&str]) -> bool {
    pointers.iter().any(|pointer| match plan.pointer(pointer) {
        Some(wanted) => differs(wanted, actual.pointer(pointer).unwrap_or(&Value::Null)).is_some(),
        None => false,
    })
}

/// Leaves the path of the difference in `path` when it returns true.
fn compare(plan: &Value, actual: &Value, path: &mut String, quantity: bool) -> bool {
    match (plan, actual) {
        (Value::Null, actual) => !is_empty(actual),
        (Value::Object(plan), actual) => {
            let quantities = quantity || path.ends_with("/requests") || path.ends_with("/limits");
            plan.iter().any(|(key, wanted)| {
                let found = actual.get(key).unwrap_or(&Value::Null);
                descend(path, key, |path| compare(wanted, found, path, quantities))
            })
        }
        (Value::Array(plan), Value::Array(actual)) => {
            plan.len() != actual.len() || compare_lists(plan, actual, path, quantity)
        }
        (Value::Array(plan), Value::Null) => !plan.is_empty(),
        (plan, actual) if plan == actual => false,
        (plan, actual) => !(quantity && same_quantity(plan, actual)),
    }
}

fn compare_lists(plan: &[Value], actual: &[Value], path: &mut String, quantity: bool) -> bool {
    let key = MERGE_KEYS
        .into_iter()
        .find(|key| plan.iter().all(|item| item.get(key).is_some()));
    plan.iter().enumerate().any(|(index, wanted)| {
        let found = match key {
            Some(key) => actual.iter().find(|item| item.get(key) == wanted.get(key)),
            None => actual.get(index),
        };
        let segment = index.to_string();
        descend(path, &segment, |path| {
            found.is_none_or(|found| compare(wanted, found, path, quantity))
        })
    })
}

/// Runs `check` one level deeper; the longer path stays only if it found a difference.
fn descend(path: &mut String, segment: &str, check: impl FnOnce(&mut String) -> bool) -> bool {
    let length = path.len();
    path.push('/');
    path.push_str(segment);
    let differs = check(path);
    if !differs {
        path.truncate(length);
    }
    differs
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn same_quantity(a: &Value, b: &Value) -> bool {
    match (quantity_nanos(a), quantity_nanos(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// A quantity in billionths, the smallest unit the API knows
/// (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>).
fn quantity_nanos(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (scale, power): (i128, i32) = match suffix {
        "n" => (1, 0),
        "u" => (1_000, 0),
        "m" => (1_000_000, 0),
        "" => (1_000_000_000, 0),
        "k" => (1_000_000_000, 3),
        "M" => (1_000_000_000, 6),
        "G" => (1_000_000_000, 9),
        "T" => (1_000_000_000, 12),
        "P" => (1_000_000_000, 15),
        "E" => (1_000_000_000, 18),
        "Ki" => (1_000_000_000 << 10, 0),
        "Mi" => (1_000_000_000 << 20, 0),
        "Gi" => (1_000_000_000 << 30, 0),
        "Ti" => (1_000_000_000 << 40, 0),
        "Pi" => (1_000_000_000 << 50, 0),
        "Ei" => (1_000_000_000 << 60, 0),
        _ => (
            1_000_000_000,
            suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
        ),
    };
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = power - i32::try_from(fraction.len()).ok()?;
    let scaled = mantissa.checked_mul(scale)?;
    let ten = 10i128.checked_pow(power.unsigned_abs())?;
    let nanos = if power >= 0 {
        scaled.checked_mul(ten)?
    } else {
        scaled / ten
    };
    Some(if negative { -nanos } else { nanos })
}

/// `body` without nulls, which is what a new object is created from. Lists lose theirs always: a
/// merge patch replaces a list as it stands.
pub fn without_nulls(body: &Value) -> Value {
    match body {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k.clone(), without_nulls(v)))
                .collect(),
        ),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// `body` as a merge patch: nulls in maps stay, because they remove what is there.
pub fn as_merge_patch(body: &Value) -> Value {
    match body {
        Value::Object(map) => map
            .iter()
            .map(|(k, v)| (k.clone(), as_merge_patch(v)))
            .collect(),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_by_table() {
        let cases = [
            (
                "defaults of the server are not ours",
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                None,
            ),
            (
                "a changed value",
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 2}}),
                Some("/a/b"),
            ),
            (
                "a missing value",
                json!({"a": {"b": 1}}),
                json!({}),
                Some("/a/b"),
            ),
            (
                "null must be absent",
                json!({"a": null}),
                json!({"a": {"x": 1}}),
                Some("/a"),
            ),
            (
                "null may be empty",
                json!({"a": null, "b": null}),
                json!({"a": {}, "b": []}),
                None,
            ),
            (
                "order of a list does not count",
                json!([{"name": "a"}, {"name": "b"}]),
                json!([{"name": "b", "x": 1}, {"name": "a"}]),
                None,
            ),
            (
                "an extra item is drift: a list is ours as a whole",
                json!([{"name": "a"}]),
                json!([{"name": "a"}, {"name": "b"}]),
                Some(""),
            ),
            (
                "an item's field",
                json!([{"name": "a", "value": "1"}]),
                json!([{"name": "a", "value": "2"}]),
                Some("/0/value"),
            ),
            (
                "quantities by value",
                json!({"limits": {"cpu": "500m", "memory": "1Ki", "x": 1}}),
                json!({"limits": {"cpu": "0.5", "memory": "1024", "x": "1"}}),
                None,
            ),
            (
                "quantities differ",
                json!({"limits": {"cpu": "500m"}}),
                json!({"limits": {"cpu": "1"}}),
                Some("/limits/cpu"),
            ),
            (
                "text that looks like a quantity elsewhere",
                json!({"v": "1000m"}),
                json!({"v": "1"}),
                Some("/v"),
            ),
            (
                "resources planned empty",
                json!({"resources": {"limits": null, "requests": null}}),
                json!({"resources": {}}),
                None,
            ),
        ];
        for (name, plan, actual, want) in cases {
            assert_eq!(differs(&plan, &actual).as_deref(), want, "{name}");
        }
    }

    #[test]
    fn quantities_in_billionths() {
        for (text, want) in [
            ("1", 1_000_000_000),
            ("1.5", 1_500_000_000),
            ("100m", 100_000_000),
            ("1Mi", 1_048_576_000_000_000),
            ("2e3", 2_000_000_000_000),
            ("-1", -1_000_000_000),
        ] {
            assert_eq!(quantity_nanos(&json!(text)), Some(want), "{text}");
        }
        assert_eq!(quantity_nanos(&json!("much")), None);
    }

    #[test]
    fn what_was_written_never_differs_from_its_plan() {
        let plan = json!({"a": null, "b": {"c": null, "d": 1}, "l": [{"name": "x", "env": null}]});
        assert_eq!(differs(&plan, &without_nulls(&plan)), None);
        assert_eq!(
            as_merge_patch(&plan),
            json!({"a": null, "b": {"c": null, "d": 1}, "l": [{"name": "x"}]})
        );
    }
}
