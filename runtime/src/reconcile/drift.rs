//! Whether a child still looks as its plan says.
//!
//! Guarantees: pure. A field outside the plan is never a difference. A list in the plan is the whole list
//! (matched by its keys, so that order does not count), and so is a map that the API calls atomic, such as a
//! selector. A planned `null` must be absent. A zero value (`""`, `false`, `0`, `[]`, `{}`) counts as absent,
//! except where the API keeps it and means something else by it. Quantities are compared by value (`0.5` is
//! `500m`). What the server is known to store in another form is no difference (`normalized`).
//! Leaves to others: reading the child and correcting it.

use serde_json::{Map, Value};
use tracing::debug;

use crate::model::KindId;
use crate::reconcile::api_fields::{
    holds_quantities, is_atomic_map, is_empty, is_text_map, is_zero, item_keys, same_item,
    zero_is_absent,
};
use crate::reconcile::normalized::NormalizedFields;
use crate::reconcile::quantity::same_quantity;

/// JSON pointer of the first field of `plan` that differs in `actual`, a child of `kind`, or `None`.
pub fn differs(
    plan: &Value,
    actual: &Value,
    kind: Option<KindId>,
    normalized: &NormalizedFields,
) -> Option<String> {
    let mut first = None;
    each_difference(plan, actual, &mut |path, planned, found| {
        let differs = !normalized.accepts(kind, path, planned, found);
        if differs {
            first = Some(path.to_owned());
        }
        differs
    });
    first
}

/// Whether one of `pointers` differs: those fields can only be changed by a new object.
pub fn differs_at(
    plan: &Value,
    actual: &Value,
    pointers: &[&str],
    kind: Option<KindId>,
    normalized: &NormalizedFields,
) -> bool {
    pointers.iter().any(|pointer| {
        let Some(planned) = plan.pointer(pointer) else {
            return false;
        };
        let found = actual.pointer(pointer).unwrap_or(&Value::Null);
        let field = pointer.rsplit('/').next().unwrap_or_default();
        let path = (*pointer).to_owned();
        let visit = &mut |path: &str, planned: &Value, found: &Value| {
            !normalized.accepts(kind, path, planned, found)
        };
        Walk { path, visit }.compare(At::field(field), planned, found)
    })
}

/// The server has confirmed that `actual` is what it stores for `plan`.
pub(crate) fn confirm(
    plan: &Value,
    actual: &Value,
    kind: Option<KindId>,
    normalized: &NormalizedFields,
) {
    each_difference(plan, actual, &mut |path, planned, found| {
        debug!(path, %planned, %found, "stored in another form than planned");
        normalized.learn(kind, path, planned, found);
        false
    });
}

/// Shows `visit` each field that differs, with its path and both values, until it returns true.
fn each_difference(
    plan: &Value,
    actual: &Value,
    visit: &mut dyn FnMut(&str, &Value, &Value) -> bool,
) {
    let path = String::new();
    Walk { path, visit }.compare(At::field(""), plan, actual);
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct At<'a> {
    /// The field; for an item of a list, the list.
    field: &'a str,
    /// In a map of quantities, or a quantity itself.
    quantity: bool,
    /// In a map of texts.
    text: bool,
}

impl<'a> At<'a> {
    fn field(field: &'a str) -> Self {
        Self {
            field,
            quantity: holds_quantities(field),
            text: false,
        }
    }

    fn under(self, field: &'a str) -> Self {
        Self {
            quantity: self.quantity || holds_quantities(field),
            text: is_text_map(self.field),
            ..Self::field(field)
        }
    }

    /// Whether a zero value means the same here as nothing.
    fn zero_is_absent(self) -> bool {
        !self.text && zero_is_absent(self.field)
    }
}

struct Walk<'v> {
    path: String,
    visit: &'v mut dyn FnMut(&str, &Value, &Value) -> bool,
}

/// Every step returns whether `visit` has seen enough.
impl Walk<'_> {
    fn compare(&mut self, at: At<'_>, plan: &Value, actual: &Value) -> bool {
        match (plan, actual) {
            (Value::Object(plan), actual) if !plan.is_empty() => self.maps(at, plan, actual),
            (Value::Object(_), Value::Object(found)) if is_atomic_map(at.field) => {
                self.foreign_keys(&Map::new(), found)
            }
            (Value::Array(planned), Value::Array(found)) if planned.len() == found.len() => {
                self.lists(at, planned, found)
            }
            (plan, actual) if same_value(at, plan, actual) => false,
            (plan, actual) => (self.visit)(&self.path, plan, actual),
        }
    }

    fn maps(&mut self, at: At<'_>, plan: &Map<String, Value>, actual: &Value) -> bool {
        let stops = plan.iter().any(|(key, planned)| {
            let found = actual.get(key).unwrap_or(&Value::Null);
            self.descend(key, |walk| walk.compare(at.under(key), planned, found))
        });
        stops
            || match actual {
                Value::Object(found) if is_atomic_map(at.field) => self.foreign_keys(plan, found),
                _ => false,
            }
    }

    /// What somebody added to a map that has one writer.
    fn foreign_keys(&mut self, plan: &Map<String, Value>, found: &Map<String, Value>) -> bool {
        found.iter().any(|(key, found)| {
            let foreign = !plan.contains_key(key) && !is_empty(found);
            let foreign = foreign && !mutant!(AtomicMapsAreMerged);
            foreign && self.descend(key, |walk| (walk.visit)(&walk.path, &Value::Null, found))
        })
    }

    fn lists(&mut self, at: At<'_>, plan: &[Value], actual: &[Value]) -> bool {
        let keys = item_keys(plan);
        plan.iter().enumerate().any(|(index, planned)| {
            // Its own place first: there are lists in which two items have the same keys, such as tolerations.
            let same_place = actual.get(index);
            let found = match keys {
                Some(keys) => same_place
                    .into_iter()
                    .chain(actual)
                    .find(|item| same_item(item, planned, keys)),
                None => same_place,
            };
            let found = found.unwrap_or(&Value::Null);
            self.descend(&index.to_string(), |walk| walk.compare(at, planned, found))
        })
    }

    /// Runs `step` one level deeper.
    fn descend(&mut self, segment: &str, step: impl FnOnce(&mut Self) -> bool) -> bool {
        let length = self.path.len();
        self.path.push('/');
        match segment.contains(['~', '/']) {
            // As RFC 6901 escapes it.
            true => self.path += &segment.replace('~', "~0").replace('/', "~1"),
            false => self.path += segment,
        }
        let stops = step(self);
        self.path.truncate(length);
        stops
    }
}

fn same_value(at: At<'_>, plan: &Value, actual: &Value) -> bool {
    let absent = |value: &Value| match value {
        Value::Null => true,
        // A selector of labels has lists, too; its texts are under the fields of those.
        Value::Object(_) | Value::Array(_) => is_empty(value) && zero_is_absent(at.field),
        _ => is_zero(value) && at.zero_is_absent(),
    };
    match (plan, actual) {
        (plan, actual) if plan == actual => true,
        (Value::Null, actual) => absent(actual),
        (plan, Value::Null) => absent(plan),
        // A field outside the plan is never a difference.
        (Value::Object(plan), Value::Object(_)) => plan.is_empty(),
        (Value::Number(plan), Value::Number(actual)) if plan.as_f64() == actual.as_f64() => true,
        (plan, actual) => at.quantity && same_quantity(plan, actual),
    }
}

#[cfg(test)]
mod tests;
