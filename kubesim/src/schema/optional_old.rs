//! Rules whose `oldSelf` is an optional (`optionalOldSelf: true`).
//!
//! `kube-cel` 0.8 binds the old value, and null where there is none; the API server binds an optional of CEL
//! ([transition rules](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#transition-rules)).
//! So each `oldSelf` of such a rule becomes an expression that makes one of the other.
//!
//! Guarantees: texts within a rule stay as they are. Leaves to others: evaluating the rules (`rules`).

use serde_json::Value;

const OLD: &str = "oldSelf";
const OPTIONAL: &str = "(oldSelf == null ? optional.none() : optional.of(oldSelf))";

/// Rewrites such rules in a schema, also those of properties and items.
pub(super) fn rewrite(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(rewrite),
        Value::Object(map) => {
            if map.get("optionalOldSelf") == Some(&Value::Bool(true)) {
                for field in ["rule", "messageExpression"] {
                    if let Some(Value::String(rule)) = map.get_mut(field) {
                        *rule = rewritten(rule);
                    }
                }
            }
            map.values_mut().for_each(rewrite);
        }
        _ => {}
    }
}

fn rewritten(rule: &str) -> String {
    let mut text = String::with_capacity(rule.len() + OPTIONAL.len());
    // Of a literal: its quote, while within it.
    let mut quote = None;
    let mut rest = rule;
    while let Some(c) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let begins = quote.is_none() && !text.ends_with(is_name);
        let name = rest.strip_prefix(OLD).filter(|_| begins);
        if let Some(after) = name.filter(|after| !after.starts_with(|c| is_name(c) && c != '.')) {
            text.push_str(OPTIONAL);
            rest = after;
            continue;
        }
        let escaped = (quote.is_some() && c == '\\').then(|| rest[1..].chars().next());
        quote = match quote {
            Some(open) if open == c => None,
            None if c == '"' || c == '\'' => Some(c),
            same => same,
        };
        let taken = c.len_utf8() + escaped.flatten().map_or(0, char::len_utf8);
        text.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_old_value_is_rewritten() {
        for (rule, want) in [
            ("oldSelf.hasValue()", format!("{OPTIONAL}.hasValue()")),
            (
                "self == oldSelf.value()",
                format!("self == {OPTIONAL}.value()"),
            ),
            ("self != 'oldSelf'", "self != 'oldSelf'".to_owned()),
            (
                r"'\'oldSelf' == oldSelf",
                format!(r"'\'oldSelf' == {OPTIONAL}"),
            ),
            (
                "self.oldSelf && oldSelfish",
                "self.oldSelf && oldSelfish".to_owned(),
            ),
            ("self == 'ä'", "self == 'ä'".to_owned()),
        ] {
            assert_eq!(rewritten(rule), want);
        }
    }

    #[test]
    fn a_rule_without_the_flag_stays() {
        let rules = |flag| {
            json!({ "properties": { "driver": { "x-kubernetes-validations": [
                { "rule": "self == oldSelf", "optionalOldSelf": flag },
            ] } } })
        };
        let (mut plain, mut optional) = (rules(false), rules(true));
        rewrite(&mut plain);
        rewrite(&mut optional);
        assert_eq!(plain, rules(false));
        assert_ne!(optional, rules(true));
    }
}
