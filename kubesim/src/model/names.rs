//! The syntax of names, labels and finalizers.
//!
//! Wording: apimachinery v0.36.4, `pkg/util/validation/validation.go`.

use serde_json::{Map, Value, json};

use crate::schema::field_error::FieldError;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// `None` if the name is a DNS-1123 label, else why not.
pub(crate) fn refuse_label(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!is_label(name)).then(|| LABEL.to_owned())
}

/// `None` if the name is a DNS-1123 subdomain, else why not.
pub(crate) fn refuse_subdomain(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some("must be no more than 253 bytes".to_owned());
    }
    (!name.split('.').all(is_label)).then(|| SUBDOMAIN.to_owned())
}

pub(crate) fn refuse_label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!value.is_empty() && !is_name_part(value)).then(|| LABEL_VALUE.to_owned())
}

/// What is wrong with the keys and values of labels.
pub(crate) fn refuse_labels(labels: Option<&Map<String, Value>>, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.into_iter().flatten() {
        if let Some(why) = refuse_qualified(key) {
            errors.push(FieldError::invalid(at, &json!(key), &why));
        }
        if let Some(why) = value.as_str().and_then(refuse_label_value) {
            errors.push(FieldError::invalid(at, value, &why));
        }
    }
    errors
}

/// Label keys, annotation keys and finalizers: an optional subdomain, a slash, a name.
pub(crate) fn refuse_qualified(name: &str) -> Option<String> {
    let (prefix, part) = match name.split_once('/') {
        Some((prefix, part)) => (Some(prefix), part),
        None => (None, name),
    };
    if let Some(prefix) = prefix
        && let Some(why) = refuse_subdomain(prefix)
    {
        return Some(format!("prefix part {why}"));
    }
    if part.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if part.len() > 63 {
        return Some("name part must be no more than 63 bytes".to_owned());
    }
    (!is_name_part(part)).then(|| QUALIFIED.to_owned())
}

fn is_label(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    edge(text.chars().next())
        && edge(text.chars().next_back())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn is_name_part(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(text.chars().next())
        && edge(text.chars().next_back())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::{refuse_label, refuse_label_value, refuse_qualified, refuse_subdomain};

    #[test]
    fn names_by_table() {
        for (name, subdomain, label) in [
            ("web", true, true),
            ("1web", true, true),
            ("web.shop", true, false),
            ("Web", false, false),
            ("-web", false, false),
            ("web-", false, false),
            ("", false, false),
        ] {
            assert_eq!(refuse_subdomain(name).is_none(), subdomain, "{name}");
            assert_eq!(refuse_label(name).is_none(), label, "{name}");
        }
        assert!(refuse_label_value("My_value.1").is_none());
        assert!(refuse_label_value("a b").is_some());
        assert!(refuse_qualified("tare.dev/cleanup").is_none());
        assert!(refuse_qualified("tare.dev/").is_some());
    }
}
