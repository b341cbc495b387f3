//! What a write set, changed and removed; and which fields a configuration names.

use serde_json::Value;

use crate::fields::layout::{Items, Layout, element};
use crate::fields::set::Fields;

/// Differences between two states of an object.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Added or modified.
    pub(crate) changed: Fields,
    pub(crate) removed: Fields,
}

pub(crate) fn compare(layout: Layout<'_>, old: Option<&Value>, new: Option<&Value>) -> Comparison {
    match (old, new) {
        (None, None) => Comparison::default(),
        (None, Some(new)) => Comparison {
            changed: all(layout, new),
            removed: Fields::default(),
        },
        (Some(old), None) => Comparison {
            changed: Fields::default(),
            removed: all(layout, old),
        },
        (Some(old), Some(new)) if old == new => Comparison::default(),
        (Some(old), Some(new)) => compare_both(layout, old, new),
    }
}

fn compare_both(layout: Layout<'_>, old: &Value, new: &Value) -> Comparison {
    let mut result = Comparison::default();
    match (old, new) {
        (Value::Object(before), Value::Object(after))
            if !(layout.is_atomic_map() || before.is_empty() && after.is_empty()) =>
        {
            for (key, value) in after {
                let child = compare(layout.field(key), before.get(key), Some(value));
                result.changed.set(format!("f:{key}"), child.changed);
                result.removed.set(format!("f:{key}"), child.removed);
            }
            for (key, value) in before {
                if !after.contains_key(key) {
                    result
                        .removed
                        .set(format!("f:{key}"), all(layout.field(key), value));
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            compare_lists(layout, before, after, &mut result);
        }
        _ => result.changed.own = true,
    }
    result
}

fn compare_lists(layout: Layout<'_>, before: &[Value], after: &[Value], result: &mut Comparison) {
    let items = layout.items(after.first().or(before.first()).unwrap_or(&Value::Null));
    let named = |list: &[Value]| -> Option<Vec<String>> {
        list.iter().map(|item| element(&items, item)).collect()
    };
    let (Some(names_before), Some(names_after)) = (named(before), named(after)) else {
        result.changed.own = true;
        return;
    };
    if matches!(items, Items::Atomic) || (before.is_empty() && after.is_empty()) {
        result.changed.own = true;
        return;
    }
    for (name, item) in names_after.iter().zip(after) {
        let old = names_before
            .iter()
            .position(|n| n == name)
            .map(|at| &before[at]);
        let child = compare(layout.item(), old, Some(item));
        result.changed.set(name.clone(), child.changed);
        result.removed.set(name.clone(), child.removed);
    }
    for (name, item) in names_before.iter().zip(before) {
        if !names_after.contains(name) {
            let mut gone = all(layout.item(), item);
            gone.own = true;
            result.removed.set(name.clone(), gone);
        }
    }
}

/// Every path of a value that appeared or vanished as a whole.
fn all(layout: Layout<'_>, value: &Value) -> Fields {
    if is_nobodys(layout, value) {
        return Fields::default();
    }
    let mut fields = named_by(layout, value);
    fields.own |= !layout.is_struct();
    mark_containers(layout, value, &mut fields);
    fields
}

/// A field of a built-in kind that always exists is nobody's while it is empty.
fn is_nobodys(layout: Layout<'_>, value: &Value) -> bool {
    match value {
        Value::Null => layout.is_built_in(),
        Value::Object(map) => map.is_empty() && layout.is_struct(),
        _ => false,
    }
}

/// Maps and lists that appeared as a whole are owned themselves too.
fn mark_containers(layout: Layout<'_>, value: &Value, fields: &mut Fields) {
    match value {
        Value::Object(map) if !layout.is_atomic_map() => {
            for (key, value) in map {
                let below = layout.field(key);
                if is_nobodys(below, value) {
                    fields.children.remove(&format!("f:{key}"));
                }
                if let Some(child) = fields.children.get_mut(&format!("f:{key}")) {
                    child.own |= !below.is_struct();
                    mark_containers(below, value, child);
                }
            }
        }
        Value::Array(list) => {
            let items = layout.items(list.first().unwrap_or(&Value::Null));
            for item in list {
                if let Some(child) =
                    element(&items, item).and_then(|name| fields.children.get_mut(&name))
                {
                    mark_containers(layout.item(), item, child);
                }
            }
        }
        _ => {}
    }
}

/// The fields that a configuration names: leaves, list items, members of free maps.
pub(crate) fn named_by(layout: Layout<'_>, value: &Value) -> Fields {
    match value {
        Value::Object(map) if map.is_empty() || layout.is_atomic_map() => Fields::leaf(),
        Value::Object(map) => {
            let mut fields = Fields::default();
            for (key, value) in map {
                fields.set(format!("f:{key}"), named_by(layout.field(key), value));
            }
            fields
        }
        Value::Array(list) if list.is_empty() => Fields::leaf(),
        Value::Array(list) => {
            let items = layout.items(list.first().unwrap_or(&Value::Null));
            let mut fields = Fields::default();
            for item in list {
                let Some(name) = element(&items, item) else {
                    return Fields::leaf();
                };
                let mut child = named_by(layout.item(), item);
                child.own = true;
                fields.set(name, child);
            }
            fields
        }
        _ => Fields::leaf(),
    }
}
