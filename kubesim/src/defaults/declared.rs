//! Applies the declaration of a kind to an object: defaults, quantities, checks, what the server adds.
//!
//! Guarantees: the declared defaults are set in their order, each once its condition holds; a list that is not there
//! stays away. Leaves to others: what is declared ([`crate::model::built_in`]).

use serde_json::{Map, Value, json};

use crate::defaults::fill::fill;
use crate::defaults::{quantity, workload};
use crate::model::built_in::{BuiltIn, Check, Default, When};
use crate::model::json::as_map;
use crate::schema::field_error::FieldError;

/// Sets defaults; the errors are what the object is refused for.
pub(crate) fn shape(kind: &BuiltIn, object: &mut Value, old: Option<&Value>) -> Vec<FieldError> {
    set_defaults(kind, object);
    for at in &kind.quantities {
        visit(object, &segments(at), false, "", &mut |map, _| {
            canonical(map)
        });
    }
    let mut errors = Vec::new();
    if let Some(at) = kind.template {
        let names = segments(at);
        let slot = names
            .iter()
            .fold(&mut *object, |value, name| slot(value, name));
        errors.extend(workload::shape_template(slot, &names.join(".")));
    }
    if let Some(word) = kind.selects {
        workload::check_selector(
            object.get("spec").unwrap_or(&Value::Null),
            word,
            &mut errors,
        );
    }
    for check in &kind.checks {
        apply_check(check, object, old, &mut errors);
    }
    errors
}

/// The defaults alone.
pub(crate) fn set_defaults(kind: &BuiltIn, object: &mut Value) {
    for default in &kind.defaults {
        set(default, object, false);
    }
}

/// What the server adds to a new object after the owners of its fields are recorded.
pub(crate) fn stamp(kind: &BuiltIn, object: &mut Value) {
    for stamp in &kind.stamps {
        set(stamp, object, true);
    }
}

fn set(default: &Default, object: &mut Value, adds: bool) {
    let (of_object, of_parent): (Vec<&When>, Vec<&When>) = default
        .when
        .iter()
        .partition(|when| when.at().starts_with('/'));
    if !of_object.iter().all(|when| when.holds(object)) {
        return;
    }
    let value = fill(&default.value, object, "");
    if value.is_null() && !default.value.is_null() {
        return;
    }
    let names = segments(default.at);
    let Some((field, parents)) = names.split_last() else {
        return;
    };
    visit(object, parents, true, "", &mut |parent, _| {
        put(as_map(parent), field, &value, &of_parent, adds);
    });
}

fn put(parent: &mut Map<String, Value>, field: &str, value: &Value, when: &[&When], adds: bool) {
    if !when.iter().all(|when| when.holds_beside(parent)) {
        return;
    }
    match parent.get_mut(field) {
        Some(Value::Object(map)) if adds => {
            for (field, value) in value.as_object().into_iter().flatten() {
                map.entry(field.as_str()).or_insert(value.clone());
            }
        }
        Some(Value::Array(items)) if adds => {
            let new = value.as_array().into_iter().flatten();
            let new: Vec<Value> = new.filter(|item| !items.contains(item)).cloned().collect();
            items.extend(new);
        }
        Some(found) if !found.is_null() && *found != json!("") => {}
        _ => {
            parent.insert(field.to_owned(), value.clone());
        }
    }
}

impl When {
    fn at(&self) -> &'static str {
        match self {
            When::Is(at, _) | When::Has(at) | When::Lacks(at) | When::Same(at, _) => at,
        }
    }

    fn holds(&self, object: &Value) -> bool {
        match self {
            When::Same(one, other) => object.pointer(one) == object.pointer(other),
            when => when.is_met(object.pointer(when.at())),
        }
    }

    fn holds_beside(&self, parent: &Map<String, Value>) -> bool {
        self.is_met(parent.get(self.at()))
    }

    fn is_met(&self, found: Option<&Value>) -> bool {
        match self {
            When::Is(_, want) => found == Some(want),
            When::Has(_) => found.is_some_and(|value| !value.is_null()),
            When::Lacks(_) => found.is_none_or(Value::is_null),
            // Of a whole object only.
            When::Same(..) => false,
        }
    }
}

fn apply_check(
    check: &Check,
    object: &mut Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    match check {
        Check::Required(at, field, detail) => {
            each(object, at, &mut |value, path| {
                if is_empty(value) {
                    let field = if field.is_empty() { path } else { field };
                    errors.push(FieldError::required(field, detail));
                }
            });
        }
        Check::Not(at, refused, detail) => {
            each(object, at, &mut |value, path| {
                if value == *refused {
                    errors.push(FieldError::required(path, detail));
                }
            });
        }
        Check::NotNegative(at) => {
            each(object, at, &mut |value, path| {
                if value.as_i64().is_some_and(|number| number < 0) {
                    let detail = "must be greater than or equal to 0";
                    errors.push(FieldError::invalid(path, value, detail));
                }
            });
        }
        Check::Immutable(at) => {
            let new = object.pointer(at).unwrap_or(&Value::Null);
            if old.is_some_and(|old| old.pointer(at).unwrap_or(&Value::Null) != new) {
                let at = segments(at).join(".");
                errors.push(FieldError::invalid(at, new, "field is immutable"));
            }
        }
        Check::Fixed(at, free, detail) => {
            let rest = |object: &Value| {
                let mut map = object.pointer(at).and_then(Value::as_object).cloned();
                if let Some(map) = &mut map {
                    map.retain(|field, _| !free.contains(&field.as_str()));
                }
                map
            };
            if old.is_some_and(|old| rest(old) != rest(object)) {
                errors.push(FieldError::forbidden(segments(at).join("."), detail));
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    }
}

/// Calls back for a field in each of its parents; a missing one is null.
fn each(object: &mut Value, at: &str, call: &mut impl FnMut(&Value, &str)) {
    let names = segments(at);
    let Some((field, parents)) = names.split_last() else {
        return;
    };
    let lists = parents.iter().any(|name| name == "*");
    let found = std::cell::Cell::new(false);
    visit(object, parents, false, "", &mut |parent, path| {
        found.set(true);
        let path = match path {
            "" => field.clone(),
            path => format!("{path}.{field}"),
        };
        call(parent.get(field).unwrap_or(&Value::Null), &path);
    });
    if !found.get() && !lists {
        call(&Value::Null, &names.join("."));
    }
}

/// Calls back for every place that the names lead to, with its path as messages have it. What is missing on the way is
/// made if `make` says so, but for lists and for what is optional.
fn visit(
    value: &mut Value,
    names: &[String],
    make: bool,
    path: &str,
    call: &mut impl FnMut(&mut Value, &str),
) {
    let Some((name, rest)) = names.split_first() else {
        return call(value, path);
    };
    if name == "*" {
        for (i, item) in value.as_array_mut().into_iter().flatten().enumerate() {
            visit(item, rest, make, &format!("{path}[{i}]"), call);
        }
        return;
    }
    let is_list = rest.first().is_some_and(|next| next == "*");
    let make_this = make && !is_list && !name.ends_with('?');
    let name = name.trim_end_matches('?');
    let path = match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    if make_this {
        visit(slot(value, name), rest, make, &path, call);
    } else if let Some(below) = value.get_mut(name).filter(|below| !below.is_null()) {
        visit(below, rest, make, &path, call);
    }
}

fn slot<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    as_map(value).entry(name).or_insert(Value::Null)
}

fn segments(at: &str) -> Vec<String> {
    at.split('/')
        .skip(1)
        .map(|name| name.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn canonical(map: &mut Value) {
    for value in map.as_object_mut().into_iter().flat_map(Map::values_mut) {
        let text = match &*value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if let Some(canonical) = quantity::canonical(&text) {
            *value = json!(canonical);
        }
    }
}
