//! Validation with the real server's wording.
//!
//! Sources: kube-openapi `pkg/validation/validate` and apiextensions-apiserver v0.36.4,
//! `pkg/apiserver/validation/validation.go` (which turns them into field errors).

use serde_json::Value;

use crate::schema::field_error::FieldError;
use crate::schema::{ListType, Schema, Type, format};

/// All errors, in the order of the fields.
pub(crate) fn validate(schema: &Schema, value: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(schema, value, at, &mut errors);
    errors
}

fn check(schema: &Schema, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if value.is_null() && (schema.nullable || (schema.kind.is_none() && !schema.int_or_string)) {
        return;
    }
    if schema.int_or_string && !(value.is_string() || value.is_i64() || value.is_u64()) {
        errors.push(wrong_type(at, "integer,string", type_name(value)));
        return;
    }
    if let Some(kind) = schema.kind
        && !is_a(kind, value)
    {
        errors.push(match (&schema.format, go_format(value)) {
            (Some(format), Some(found)) => wrong_type(at, format, found),
            _ => wrong_type(at, kind.text(), type_name(value)),
        });
        if value.is_number() {
            errors.extend(out_of_range(schema, kind, value, at));
        }
        return;
    }
    if !schema.allowed.is_empty() && !schema.allowed.contains(value) {
        errors.push(FieldError::not_supported(at, value, &schema.allowed));
    }
    match value {
        Value::String(text) => check_string(schema, text, value, at, errors),
        Value::Number(number) => {
            let kind = schema.kind.unwrap_or(Type::Number);
            errors.extend(out_of_range(schema, kind, value, at));
            check_number(schema, number.as_f64().unwrap_or(0.0), value, at, errors)
        }
        Value::Array(list) => check_list(schema, list, value, at, errors),
        Value::Object(map) => check_map(schema, map, value, at, errors),
        _ => {}
    }
    check_combinations(schema, value, at, errors);
}

fn is_a(kind: Type, value: &Value) -> bool {
    match kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Boolean => value.is_boolean(),
        Type::Number => value.is_number(),
        // 1.0 is an integer to the real server too.
        Type::Integer => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What the real server says of the form of a value where the schema asks for a form: nothing of texts and lists.
fn go_format(value: &Value) -> Option<&'static str> {
    match value {
        Value::Number(number) if number.is_f64() => Some("float64"),
        Value::Number(_) => Some("int64"),
        Value::Bool(_) | Value::Object(_) => Some(""),
        Value::Null | Value::String(_) | Value::Array(_) => None,
    }
}

/// A number that its type cannot hold. The real server names the field in the text alone.
fn out_of_range(schema: &Schema, kind: Type, value: &Value, at: &str) -> Option<FieldError> {
    let format = schema.format.as_deref();
    let fits = match (kind, format) {
        (Type::Integer, Some("int32")) => whole(value).is_some_and(|n| i32::try_from(n).is_ok()),
        (Type::Integer, _) => whole(value).is_some_and(|n| i64::try_from(n).is_ok()),
        _ => true,
    };
    let kind = kind.text();
    let form = match format {
        Some(format) => format!("with format {format}"),
        None => "(default format)".to_owned(),
    };
    let detail = format!("Checked value must be of type {kind} {form} in {at}");
    (!fits).then(|| FieldError::invalid("<nil>", &Value::from(""), &detail))
}

/// The integer that a number is, also one that is written `3.0`.
fn whole(value: &Value) -> Option<i128> {
    let whole = value.as_i64().map(i128::from);
    whole
        .or_else(|| value.as_u64().map(i128::from))
        .or_else(|| {
            let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
            Some(number as i128)
        })
}

fn wrong_type(at: &str, want: &str, found: &str) -> FieldError {
    // The value that is shown is the type's name: so it is in the real server.
    FieldError::type_invalid(
        at,
        &Value::from(found),
        &format!("{at} in body must be of type {want}: \"{found}\""),
    )
}

fn check_string(
    schema: &Schema,
    text: &str,
    value: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let chars = text.chars().count() as u64;
    // The first of these alone is said.
    if let Some(max) = schema.max_length.filter(|max| chars > *max) {
        errors.push(FieldError::too_long(at, max));
    } else if let Some(min) = schema.min_length.filter(|min| chars < *min) {
        errors.push(FieldError::invalid(
            at,
            value,
            &format!("{at} in body should be at least {min} chars long"),
        ));
    } else if let Some(pattern) = schema
        .pattern
        .as_ref()
        .filter(|pattern| !pattern.is_match(text))
    {
        errors.push(FieldError::invalid(
            at,
            value,
            &format!("{at} in body should match '{}'", pattern.as_str()),
        ));
    }
    if let Some(name) = schema
        .format
        .as_deref()
        .filter(|name| !format::holds(name, text))
    {
        errors.push(FieldError::invalid(
            at,
            value,
            &format!("{at} in body must be of type {name}: {value}"),
        ));
    }
}

fn check_number(
    schema: &Schema,
    number: f64,
    value: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let mut refuse = |what: &str, bound: f64| {
        let bound = go_float(bound);
        errors.push(FieldError::invalid(
            at,
            value,
            &format!("{at} in body should be {what} {bound}"),
        ));
    };
    if let Some(max) = schema.maximum {
        if schema.exclusive_maximum && number >= max {
            refuse("less than", max);
        } else if number > max {
            refuse("less than or equal to", max);
        }
    }
    if let Some(min) = schema.minimum {
        if schema.exclusive_minimum && number <= min {
            refuse("greater than", min);
        } else if number < min {
            refuse("greater than or equal to", min);
        }
    }
    if let Some(factor) = schema
        .multiple_of
        .filter(|f| *f != 0.0 && (number / f).fract() != 0.0)
    {
        refuse("a multiple of", factor);
    }
}

/// As Go's `%v` prints a float64: with an exponent from a million on.
fn go_float(number: f64) -> String {
    if number.abs() < 1e6 {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{digits}e+{exponent:0>2}"),
        None => text,
    }
}

fn check_list(
    schema: &Schema,
    list: &[Value],
    value: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let count = list.len();
    if let Some(max) = schema.max_items.filter(|max| count as u64 > *max) {
        errors.push(FieldError::too_many(at, count, max));
    }
    if let Some(min) = schema.min_items.filter(|min| (count as u64) < *min) {
        errors.push(FieldError::invalid(
            at,
            value,
            &format!("{at} in body should have at least {min} items"),
        ));
    }
    if schema.unique_items || schema.list == ListType::Set {
        for (i, item) in list
            .iter()
            .enumerate()
            .filter(|(i, item)| list[..*i].contains(item))
        {
            errors.push(duplicate(&format!("{at}[{i}]"), item));
        }
    }
    if let ListType::Map(keys) = &schema.list {
        let id = |item: &Value| -> Vec<(String, Value)> {
            keys.iter()
                .map(|key| (key.clone(), item.get(key).cloned().unwrap_or(Value::Null)))
                .collect()
        };
        for (i, item) in list.iter().enumerate() {
            if list[..i].iter().any(|earlier| id(earlier) == id(item)) {
                let shown: serde_json::Map<String, Value> = id(item).into_iter().collect();
                errors.push(duplicate(&format!("{at}[{i}]"), &Value::Object(shown)));
            }
        }
    }
    if let Some(below) = schema.item() {
        for (i, item) in list.iter().enumerate() {
            check(below, item, &format!("{at}[{i}]"), errors);
        }
    }
}

fn duplicate(at: &str, value: &Value) -> FieldError {
    FieldError {
        kind: "FieldValueDuplicate",
        field: at.to_owned(),
        message: format!("Duplicate value: {value}"),
    }
}

fn check_map(
    schema: &Schema,
    map: &serde_json::Map<String, Value>,
    value: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let count = map.len();
    if let Some(max) = schema.max_properties.filter(|max| count as u64 > *max) {
        errors.push(FieldError::too_many(at, count, max));
    }
    if let Some(min) = schema.min_properties.filter(|min| (count as u64) < *min) {
        errors.push(FieldError::invalid(
            at,
            value,
            &format!("{at} in body should have at least {min} properties"),
        ));
    }
    let path = |key: &str| {
        if at.is_empty() {
            key.to_owned()
        } else {
            format!("{at}.{key}")
        }
    };
    for key in schema.required.iter().filter(|key| !map.contains_key(*key)) {
        errors.push(FieldError::required(path(key), ""));
    }
    for (key, value) in map {
        if let Some(below) = schema.field(key) {
            check(below, value, &path(key), errors);
        }
    }
}

fn check_combinations(schema: &Schema, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for part in &schema.all_of {
        check(part, value, at, errors);
    }
    let holds = |part: &Schema| validate(part, value, at).is_empty();
    let mut refuse = |detail: String| errors.push(FieldError::invalid(at, value, &detail));
    if !schema.any_of.is_empty() && !schema.any_of.iter().any(holds) {
        refuse(format!(
            "{at} in body must validate at least one schema (anyOf)"
        ));
    }
    if !schema.one_of.is_empty() && schema.one_of.iter().filter(|part| holds(part)).count() != 1 {
        refuse(format!(
            "{at} in body must validate one and only one schema (oneOf)"
        ));
    }
    if schema.not.as_deref().is_some_and(holds) {
        refuse(format!("{at} in body must not validate the schema (not)"));
    }
}

#[cfg(test)]
mod tests;
