//! What is a difference, and what a correction makes of a child, by table.

mod marks;
mod structure;

use serde_json::{Value, json};

use super::*;

const DIGEST: u64 = 0xabc;

/// The mark of a child.
#[derive(Clone, Copy)]
enum Marked {
    /// Of this plan; nobody has changed the spec since.
    This,
    /// Of this plan; somebody has.
    Touched,
    Another,
    No,
}

struct Case {
    name: &'static str,
    mark: Marked,
    plan: Value,
    actual: Value,
    /// FieldsV1 of ours and of somebody else; `null`: there are none.
    owned: [Value; 2],
    /// The path of the difference and what the child becomes; `None`: it is as planned.
    want: Option<(&'static str, Value)>,
}

fn managed([ours, theirs]: &[Value; 2]) -> String {
    let entry = |manager: &str, fields: &Value| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields})
    };
    let entries = [("tare", ours), ("kubectl", theirs)];
    let entries = entries.into_iter().filter(|(_, fields)| !fields.is_null());
    let entries: Vec<Value> = entries.map(|(name, fields)| entry(name, fields)).collect();
    Value::from(entries).to_string()
}

fn corrected(case: &Case, others: Others) -> Option<Correction> {
    let mark = |digest, generation| Mark {
        digest,
        generation,
        immutable: 0,
    };
    let managed = managed(&case.owned);
    let planned = Planned {
        body: &case.plan,
        mark: mark(DIGEST, 1),
        immutable: &[],
        manager: "tare",
        is_new: false,
    };
    let found = Found {
        value: &case.actual,
        generation: 2,
        mark: match case.mark {
            Marked::This => Some(mark(DIGEST, 2)),
            Marked::Touched => Some(mark(DIGEST, 1)),
            Marked::Another => Some(mark(!DIGEST, 2)),
            Marked::No => None,
        },
        copy: None,
        managed: Some(&managed),
    };
    correct(&planned, &found, others)
}

/// RFC 7396, as the server applies it.
pub(crate) fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut merged: Map<String, Value> = target.as_object().cloned().unwrap_or_default();
    for (key, change) in patch {
        if change.is_null() {
            merged.remove(key);
        } else {
            let before = merged.get(key).cloned().unwrap_or_default();
            merged.insert(key.clone(), self::merged(&before, change));
        }
    }
    Value::Object(merged)
}

fn assert_all(others: Others, cases: impl IntoIterator<Item = Case>) {
    for case in cases {
        let correction = corrected(&case, others);
        let found = correction.map(|correction| {
            let patch = correction.patch.into();
            (correction.path, merged(&case.actual, &patch))
        });
        let want = case.want.map(|(path, value)| (path.to_owned(), value));
        assert_eq!(found, want, "{}", case.name);
    }
}

#[test]
fn values_under_the_same_plan() {
    let spec = |spec: Value| json!({ "spec": spec });
    let of = |fields: Value| json!({ "f:spec": fields });
    let case =
        |name, mark, plan, actual, owned: [Value; 2], want: Option<(&'static str, Value)>| Case {
            name,
            mark,
            plan: spec(plan),
            actual: spec(actual),
            owned: owned.map(|fields| if fields.is_null() { fields } else { of(fields) }),
            want: want.map(|(path, value)| (path, spec(value))),
        };
    assert_all(
        Others::Stay,
        [
            case(
                "what others add is theirs",
                Marked::Touched,
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                [json!({"f:a": {}}), json!({"f:b": {}})],
                None,
            ),
            case(
                "a value that the server or its admission stores otherwise",
                Marked::Touched,
                json!({"image": "app:1", "cpu": "0.5"}),
                json!({"image": "mirror/app:1", "cpu": "500m"}),
                [json!({"f:image": {}, "f:cpu": {}}), Value::Null],
                None,
            ),
            case(
                "one that somebody else has set",
                Marked::Touched,
                json!({"image": "app:1", "cpu": "0.5"}),
                json!({"image": "evil:1", "cpu": "500m"}),
                [json!({"f:cpu": {}}), json!({"f:image": {}})],
                Some(("/spec/image", json!({"image": "app:1", "cpu": "500m"}))),
            ),
            case(
                "one that somebody else has set to what is planned",
                Marked::Touched,
                json!({"a": 1}),
                json!({"a": 1}),
                [Value::Null, json!({"f:a": {}})],
                None,
            ),
            case(
                "one that somebody has removed",
                Marked::Touched,
                json!({"a": 1, "b": {"c": 1, "d": null}}),
                json!({"a": 1}),
                [json!({"f:a": {}}), Value::Null],
                Some(("/spec/b/c", json!({"a": 1, "b": {"c": 1}}))),
            ),
            case(
                "one that admission has removed from our own request",
                Marked::Touched,
                json!({"a": 1, "b": {"c": 1}}),
                json!({"a": 1}),
                [json!({"f:a": {}, "f:b": {".": {}, "f:c": {}}}), Value::Null],
                None,
            ),
            case(
                "zero values that the server drops",
                Marked::This,
                json!({"a": "", "b": false, "c": 0, "d": [], "e": {}, "f": {"g": ""}}),
                json!({"f": {}}),
                [json!({"f:f": {}}), Value::Null],
                None,
            ),
            case(
                "a zero value that may have been removed by whoever changed the spec",
                Marked::Touched,
                json!({"maxUnavailable": 0}),
                json!({}),
                [Value::Null, Value::Null],
                Some(("/spec/maxUnavailable", json!({"maxUnavailable": 0}))),
            ),
            case(
                "a zero value that somebody set to another",
                Marked::Touched,
                json!({"hostNetwork": false}),
                json!({"hostNetwork": true}),
                [Value::Null, json!({"f:hostNetwork": {}})],
                Some(("/spec/hostNetwork", json!({"hostNetwork": false}))),
            ),
            case(
                "a field of others that is planned as null",
                Marked::Touched,
                json!({"a": null, "b": null, "c": null}),
                json!({"a": 1, "b": {"theirs": 1}, "c": {}}),
                [Value::Null, json!({"f:a": {}, "f:b": {"f:theirs": {}}})],
                Some(("/spec/a", json!({"c": {}}))),
            ),
            case(
                "what the server sets where null is planned",
                Marked::Touched,
                json!({"a": null, "b": null}),
                json!({"a": "default", "b": "allocated"}),
                [json!({"f:a": {}}), json!({"f:x": {}})],
                None,
            ),
            case(
                "a number beyond 2^53",
                Marked::Touched,
                json!({"n": 9_007_199_254_740_993_u64}),
                json!({"n": 9_007_199_254_740_992_u64}),
                [Value::Null, json!({"f:n": {}})],
                Some(("/spec/n", json!({"n": 9_007_199_254_740_993_u64}))),
            ),
            case(
                "a whole number with a fraction",
                Marked::Touched,
                json!({"n": 1.0}),
                json!({"n": 1}),
                [Value::Null, json!({"f:n": {}})],
                None,
            ),
            case(
                "nothing is known of owners: what differs is written",
                Marked::Touched,
                json!({"a": 1, "b": {"c": 1}, "l": [1]}),
                json!({"a": 2, "b": {"c": 1, "d": 2}, "l": [1, 2]}),
                [Value::Null, Value::Null],
                Some(("/spec/a", json!({"a": 1, "b": {"c": 1, "d": 2}, "l": [1]}))),
            ),
        ],
    );
}

#[test]
fn what_left_the_plan_goes_and_what_others_put_into_it_stays() {
    let case = |name, mark, plan, actual, owned, want| Case {
        name,
        mark,
        plan,
        actual,
        owned,
        want,
    };
    let volume = |source: &str| {
        format!(
            "{{\"f:v\":{{\".\":{{}},\"k:{{\\\"name\\\":\\\"data\\\"}}\":{{\".\":{{}},\"f:name\":{{}},\"f:{source}\":{{\".\":{{}},\"f:x\":{{}}}}}}}}}}"
        )
    };
    let volume =
        |source: &str| -> Value { serde_json::from_str(&volume(source)).unwrap_or_default() };
    assert_all(
        Others::Stay,
        [
            case(
                "a volume becomes an emptyDir",
                Marked::Another,
                json!({"v": [{"name": "data", "emptyDir": {}}]}),
                json!({"v": [{"name": "data", "configMap": {"x": 1}}]}),
                [volume("configMap"), Value::Null],
                Some((
                    "/v/0/emptyDir",
                    json!({"v": [{"name": "data", "emptyDir": {}}]}),
                )),
            ),
            case(
                "a map that is planned empty",
                Marked::Another,
                json!({"securityContext": {}}),
                json!({"securityContext": {"privileged": true, "theirs": 1}}),
                [
                    json!({"f:securityContext": {".": {}, "f:privileged": {}}}),
                    json!({"f:securityContext": {"f:theirs": {}}}),
                ],
                Some((
                    "/securityContext/privileged",
                    json!({"securityContext": {"theirs": 1}}),
                )),
            ),
            case(
                "a map, a value that others agree to, and what nobody owns",
                Marked::Another,
                json!({"metadata": {"labels": {}}}),
                json!({"metadata": {"labels": {"a": "1"}, "annotations": {"ours": "1", "admission": "1"}},
                    "gone": {"x": 1}, "both": 1, "nobodys": 1}),
                [
                    json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:annotations": {".": {}, "f:ours": {}}},
                        "f:gone": {".": {}, "f:x": {}}, "f:both": {}}),
                    json!({"f:both": {}}),
                ],
                Some((
                    "/metadata/labels/a",
                    json!({"metadata": {"labels": {}, "annotations": {"admission": "1"}}, "both": 1, "nobodys": 1}),
                )),
            ),
            case(
                "under the same plan a default of ours stays",
                Marked::Touched,
                json!({"a": 1}),
                json!({"a": 1, "default": 1}),
                [json!({"f:a": {}, "f:default": {}}), Value::Null],
                None,
            ),
            case(
                "another plan without a difference is written too",
                Marked::Another,
                json!({"a": 1}),
                json!({"a": 1}),
                [json!({"f:a": {}}), Value::Null],
                Some(("", json!({"a": 1}))),
            ),
            case(
                "without a mark and without a difference nothing is written",
                Marked::No,
                json!({"a": 1, "gone": null}),
                json!({"a": 1, "default": 1}),
                [json!({"f:a": {}, "f:default": {}}), Value::Null],
                None,
            ),
            case(
                "without a mark any difference is, and what is ours and not planned goes with it",
                Marked::No,
                json!({"a": 2}),
                json!({"a": 1, "old": 1, "theirs": 1}),
                [json!({"f:a": {}, "f:old": {}}), json!({"f:theirs": {}})],
                Some(("/a", json!({"a": 2, "theirs": 1}))),
            ),
        ],
    );
}

#[test]
fn a_place_that_somebody_took_is_given_back_where_the_server_refuses_both() {
    let budget = |field: &str, value: i64| json!({"spec": {field: value, "selector": {"a": "b"}}});
    let case = |others_field: &str| Case {
        name: "a union",
        mark: Marked::Touched,
        plan: budget("maxUnavailable", 0),
        actual: budget(others_field, 1),
        owned: [
            json!({"f:spec": {"f:selector": {}}}),
            json!({"f:spec": {format!("f:{others_field}"): {}}}),
        ],
        want: None,
    };
    let case = case("minAvailable");
    let become_of = |others| {
        let correction = corrected(&case, others);
        correction.map(|correction| merged(&case.actual, &correction.patch.into()))
    };
    let mut both = budget("maxUnavailable", 0);
    both["spec"]["minAvailable"] = json!(1);
    assert_eq!(become_of(Others::Stay), Some(both));
    assert_eq!(become_of(Others::Yield), Some(budget("maxUnavailable", 0)));
}

#[test]
fn only_a_plan_recreates_what_can_never_change() {
    let mark = |digest, immutable| Mark {
        digest,
        generation: 1,
        immutable,
    };
    let pointers = ["/spec/size"];
    let recreates = |of: Option<Mark>, plan: &str, owned: &Value| {
        let managed = managed(&[owned.clone(), Value::Null]);
        let (body, value) = (
            json!({"spec": {"size": plan, "a": 2}}),
            json!({"spec": {"size": "1Gi", "a": 1}}),
        );
        let planned = Planned {
            body: &body,
            mark: mark(2, 7),
            immutable: &pointers,
            manager: "tare",
            is_new: false,
        };
        let found = Found {
            value: &value,
            generation: 1,
            mark: of,
            copy: None,
            managed: Some(&managed),
        };
        correct(&planned, &found, Others::Stay).is_some_and(|correction| correction.recreates)
    };
    let ours = json!({"f:spec": {"f:size": {}, "f:a": {}}});
    for (name, of, plan, owned, want) in [
        (
            "another form of the same",
            Some(mark(1, 7)),
            "1024Mi",
            &ours,
            false,
        ),
        ("another plan of it", Some(mark(1, 8)), "2Gi", &ours, true),
        (
            "the same, and nobody knows the plan",
            None,
            "1024Mi",
            &ours,
            false,
        ),
        (
            "somebody else's",
            Some(mark(1, 7)),
            "2Gi",
            &json!({"f:spec": {"f:a": {}}}),
            true,
        ),
    ] {
        assert_eq!(recreates(of, plan, owned), want, "{name}");
    }
}
