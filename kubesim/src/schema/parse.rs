//! From `openAPIV3Schema` to [`Schema`].

use serde_json::Value;

use crate::schema::re2::Pattern;
use crate::schema::rules::Rules;
use crate::schema::{ListType, Schema, Type};

impl Schema {
    /// # Errors
    /// Names the place and what is wrong there.
    pub(crate) fn parse(source: &Value) -> Result<Schema, String> {
        let mut schema = parse(source, "openAPIV3Schema")?;
        if schema.has_rules {
            schema.rules = Some(Rules::compile(source)?);
        }
        Ok(schema)
    }
}

fn parse(source: &Value, at: &str) -> Result<Schema, String> {
    let Some(map) = source.as_object() else {
        return Err(format!("{at}: a schema must be an object"));
    };
    let flag = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or(false);
    let number = |name: &str| map.get(name).and_then(Value::as_f64);
    let count = |name: &str| map.get(name).and_then(Value::as_u64);
    let below = |name: &str| -> Result<Option<Box<Schema>>, String> {
        match map.get(name) {
            Some(value @ Value::Object(_)) => {
                Ok(Some(Box::new(parse(value, &format!("{at}.{name}"))?)))
            }
            // additionalProperties: true
            Some(Value::Bool(true)) => Ok(Some(Box::new(Schema {
                preserve_unknown: true,
                ..Schema::default()
            }))),
            _ => Ok(None),
        }
    };
    let several = |name: &str| -> Result<Vec<Schema>, String> {
        map.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(i, value)| parse(value, &format!("{at}.{name}[{i}]")))
            .collect()
    };
    let kind = match map.get("type").and_then(Value::as_str) {
        None | Some("") => None,
        Some("object") => Some(Type::Object),
        Some("array") => Some(Type::Array),
        Some("string") => Some(Type::String),
        Some("integer") => Some(Type::Integer),
        Some("number") => Some(Type::Number),
        Some("boolean") => Some(Type::Boolean),
        Some(other) => return Err(format!("{at}.type: Unsupported value: \"{other}\"")),
    };
    let pattern = match map.get("pattern").and_then(Value::as_str) {
        None | Some("") => None,
        Some(text) => Some(Pattern::new(text).map_err(|cause| {
            format!("{at}.pattern: Invalid value: {}: must be a valid regular expression, but isn't: {cause}", Value::from(text))
        })?),
    };
    let list = match map.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(strings(map.get("x-kubernetes-list-map-keys"))),
        _ => ListType::Atomic,
    };
    let mut properties = std::collections::BTreeMap::new();
    for (name, value) in map
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        properties.insert(
            name.clone(),
            parse(value, &format!("{at}.properties[{name}]"))?,
        );
    }
    let mut schema = Schema {
        kind,
        nullable: flag("nullable"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        properties,
        additional: below("additionalProperties")?,
        items: below("items")?,
        required: strings(map.get("required")),
        allowed: map
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern,
        format: map.get("format").and_then(Value::as_str).map(str::to_owned),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: flag("uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        default: map.get("default").cloned(),
        list,
        map_is_atomic: map.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
        all_of: several("allOf")?,
        any_of: several("anyOf")?,
        one_of: several("oneOf")?,
        not: below("not")?,
        has_rules: false,
        rules: None,
    };
    schema.has_rules = map.contains_key("x-kubernetes-validations")
        || schema.properties.values().any(|s| s.has_rules)
        || schema.additional.as_ref().is_some_and(|s| s.has_rules)
        || schema.items.as_ref().is_some_and(|s| s.has_rules)
        || schema.all_of.iter().any(|s| s.has_rules);
    Ok(schema)
}

/// The texts in a list; none where it is no list.
pub(crate) fn strings(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
