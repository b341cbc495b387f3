//! Label and field selectors: parsed once, matched against a record's labels and key.
//!
//! Guarantees: the grammar of `labels.Parse` for equality, set and existence terms; of field
//! selectors `metadata.name` and `metadata.namespace` are held, and `type` of Secrets.

use serde::Deserialize;

use crate::model::record::Record;
use crate::model::status::ApiError;

/// All terms must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selector {
    labels: Vec<Term>,
    fields: Vec<(Field, String, Wanted)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Name,
    Namespace,
    /// Of a Secret.
    Type,
}

/// What is looked at of an object.
#[derive(Deserialize)]
struct Typed {
    #[serde(default, rename = "type")]
    type_: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    Equal,
    Different,
}

impl Selector {
    /// `plural`: of the kind whose objects are selected.
    pub(crate) fn parse(plural: &str, labels: &str, fields: &str) -> Result<Selector, ApiError> {
        Ok(Selector {
            labels: parse_labels(labels)?,
            fields: parse_fields(plural, fields)?,
        })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, record: &Record) -> bool {
        let value = |key: &str| {
            record
                .labels
                .iter()
                .find(|(k, _)| &**k == key)
                .map(|(_, v)| &**v)
        };
        self.labels.iter().all(|term| match term {
            Term::In(key, values) => value(key).is_some_and(|v| values.iter().any(|w| w == v)),
            Term::NotIn(key, values) => value(key).is_none_or(|v| values.iter().all(|w| w != v)),
            Term::Exists(key) => value(key).is_some(),
            Term::Absent(key) => value(key).is_none(),
        }) && self.fields.iter().all(|(field, wanted, how)| {
            let typed;
            let actual = match field {
                Field::Name => record.name(),
                Field::Namespace => record.namespace(),
                Field::Type => {
                    typed = serde_json::from_slice(&record.bytes);
                    typed.as_ref().map_or("", |typed: &Typed| &typed.type_)
                }
            };
            (actual == wanted) == (*how == Wanted::Equal)
        })
    }
}

fn parse_labels(text: &str) -> Result<Vec<Term>, ApiError> {
    split_outside_parentheses(text)
        .into_iter()
        .filter(|term| !term.is_empty())
        .map(parse_term)
        .collect()
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut terms, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                terms.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(text[start..].trim());
    terms
}

fn parse_term(term: &str) -> Result<Term, ApiError> {
    if let Some(key) = term.strip_prefix('!') {
        return Ok(Term::Absent(label_key(key)?));
    }
    if let Some((left, rest)) = term.split_once('(') {
        let values: Vec<String> = rest
            .strip_suffix(')')
            .ok_or_else(|| unparsable(term))?
            .split(',')
            .map(|v| v.trim().to_owned())
            .collect();
        let mut words = left.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => Ok(Term::In(label_key(key)?, values)),
            (Some(key), Some("notin"), None) => Ok(Term::NotIn(label_key(key)?, values)),
            _ => Err(unparsable(term)),
        };
    }
    if let Some((key, value)) = term.split_once("!=") {
        return Ok(Term::NotIn(label_key(key)?, vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        if value.contains('=') {
            return Err(unparsable(term));
        }
        return Ok(Term::In(label_key(key)?, vec![value.trim().to_owned()]));
    }
    Ok(Term::Exists(label_key(term)?))
}

fn label_key(key: &str) -> Result<String, ApiError> {
    let key = key.trim();
    let fits = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    if fits {
        Ok(key.to_owned())
    } else {
        Err(unparsable(key))
    }
}

fn unparsable(term: &str) -> ApiError {
    ApiError::bad_request(format!(
        "unable to parse requirement: found '{term}', expected: identifier"
    ))
}

fn parse_fields(plural: &str, text: &str) -> Result<Vec<(Field, String, Wanted)>, ApiError> {
    text.split(',')
        .map(str::trim)
        .filter(|term| !term.is_empty())
        .map(|term| {
            let (key, value, wanted) = if let Some((key, value)) = term.split_once("!=") {
                (key, value, Wanted::Different)
            } else if let Some((key, value)) =
                term.split_once("==").or_else(|| term.split_once('='))
            {
                (key, value, Wanted::Equal)
            } else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: '{term}'; can't understand '{term}'"
                )));
            };
            let field = match key.trim() {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                "type" if plural == "secrets" => Field::Type,
                other if known_elsewhere(other) => {
                    return Err(ApiError::not_implemented(&format!(
                        "the field selector {other}"
                    )));
                }
                other => {
                    return Err(ApiError::bad_request(format!(
                        "field label not supported: {other}"
                    )));
                }
            };
            Ok((field, value.trim().to_owned(), wanted))
        })
        .collect()
}

/// Fields of Pods and Events that a real server selects by.
fn known_elsewhere(field: &str) -> bool {
    matches!(
        field,
        "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.schedulerName"
            | "spec.serviceAccountName"
            | "status.phase"
            | "status.podIP"
            | "status.nominatedNodeName"
    ) || field.starts_with("involvedObject.")
        || field.starts_with("regarding.")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::Selector;
    use crate::model::record::Draft;

    #[test]
    fn selectors_by_table() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "tier": "front"}}});
        let record = Draft::new("shop/web", &object).seal(7);
        let cases = [
            ("app=web", "", true),
            ("app==web,tier=front", "", true),
            ("app!=web", "", false),
            ("none!=x", "", true),
            ("app in (api, web)", "", true),
            ("app notin (api,web)", "", false),
            ("tier", "", true),
            ("!tier", "", false),
            ("!none,app in (web),tier", "", true),
            ("", "metadata.name=web", true),
            ("", "metadata.name!=web", false),
            ("", "metadata.namespace=shop,metadata.name==web", true),
        ];
        for (labels, fields, want) in cases {
            let selector = Selector::parse("configmaps", labels, fields).unwrap();
            assert_eq!(selector.matches(&record), want, "{labels} {fields}");
        }
        for bad in ["app in web", "a b", "=x", "app in (x"] {
            assert_eq!(
                Selector::parse("configmaps", bad, "").unwrap_err().code,
                400,
                "{bad}"
            );
        }
        assert_eq!(
            Selector::parse("configmaps", "", "spec.x=1")
                .unwrap_err()
                .code,
            400
        );
    }
}
