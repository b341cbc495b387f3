//! A child as it should be: its plan merged into what is there, by who owns which field.
//!
//! Guarantees: pure. What others own stays: their members of maps, their items of keyed lists and sets, their fields in
//! our items. What is atomic is written whole. An item that the plan does not know by its keys is somebody else's.
//! Leaves to others: which basis holds (`fields`), keyed lists (`list`), what is sent (`patch`).

use serde_json::{Map, Value};

use crate::model::map_of;
use crate::reconcile::fields::patch::without_nulls;
use crate::reconcile::fields::set::{Managed, Set};

/// What is known of how the child came to be what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// It was written from this very plan: what is ours is as the server or its admission stores it.
    This {
        /// Somebody may have changed it since.
        touched: bool,
    },
    /// It was written from another plan: everything is written, and what is ours and not planned any more goes.
    Another,
    /// Nothing says from which plan it was written: whatever differs is written.
    Unknown,
}

/// What becomes of the fields of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    Stay,
    /// They go where a planned field beside them is missing: theirs came in its place, and the server refuses both.
    Yield,
}

/// A place in the sets of both.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At<'s> {
    pub ours: Option<&'s Set<'s>>,
    pub theirs: Option<&'s Set<'s>>,
}

impl<'s> At<'s> {
    fn field(self, name: &str) -> Self {
        self.below(|set| set.field(name))
    }

    /// Of a list whose items are told apart by keys, or by their value.
    pub(super) fn item(self, item: &Value) -> Self {
        self.below(|set| match item {
            Value::Object(_) => set.item(item, false),
            _ => set.value(item),
        })
    }

    fn below(self, step: impl Fn(&'s Set<'s>) -> Option<&'s Set<'s>>) -> Self {
        Self {
            ours: self.ours.and_then(&step),
            theirs: self.theirs.and_then(&step),
        }
    }

    /// Whether nothing below it is told apart, by whoever owns it.
    fn is_atomic(self) -> bool {
        let owners = [self.ours, self.theirs];
        let mut owners = owners.into_iter().flatten().peekable();
        owners.peek().is_some() && owners.all(Set::is_leaf)
    }
}

pub(super) struct Merge<'m> {
    pub basis: Basis,
    pub others: Others,
    /// Who owns what is not known at all.
    is_blind: bool,
    at: At<'m>,
    path: String,
    /// JSON pointer of the first field that is not as it should be.
    pub first: Option<String>,
    /// Something that others own has to go.
    pub evicts: bool,
}

impl<'m> Merge<'m> {
    pub(super) fn new(basis: Basis, others: Others, managed: &'m Managed<'m>) -> Self {
        Self {
            basis,
            others,
            is_blind: managed.is_unknown(),
            at: At {
                ours: Some(&managed.ours),
                theirs: Some(&managed.theirs),
            },
            path: String::new(),
            first: None,
            evicts: others == Others::Yield,
        }
    }

    /// `actual` as it should be.
    pub(super) fn object(&mut self, plan: &Value, actual: &Value) -> Value {
        let at = self.at;
        self.value(plan, Some(actual), at).unwrap_or_default()
    }

    /// What should be there; `None`: nothing.
    pub(super) fn value(
        &mut self,
        plan: &Value,
        actual: Option<&Value>,
        at: At<'_>,
    ) -> Option<Value> {
        // One without members was emptied, by whomever.
        let is_whole = at.is_atomic() && !actual.is_some_and(is_empty);
        match (plan, actual) {
            (Value::Null, _) => self.absent(actual, at),
            (Value::Object(_), None | Some(Value::Object(_)))
                if is_whole && !mutant!(AtomicMapsAreMerged) =>
            {
                self.leaf(plan, actual, at)
            }
            (Value::Object(plan), Some(Value::Object(found))) => {
                Some(self.map(plan, found, at).into())
            }
            (Value::Object(plan), None) if !plan.is_empty() => {
                let map = self.map(plan, &Map::new(), at);
                (!map.is_empty()).then(|| map.into())
            }
            (Value::Array(items), Some(Value::Array(found))) => {
                Some(self.list(items, found, at).into())
            }
            _ => self.leaf(plan, actual, at),
        }
    }

    /// A planned `null`. What nobody owns the server sets there by itself, and would again; what is ours is a default,
    /// unless another plan has set it.
    fn absent(&mut self, actual: Option<&Value>, at: At<'_>) -> Option<Value> {
        let found = actual?;
        let is_default = at.ours.is_none() || matches!(self.basis, Basis::This { .. });
        let stays = at.theirs.is_none() && is_default && !self.is_blind;
        if stays || is_empty(found) {
            return Some(found.clone());
        }
        self.evicts |= at.theirs.is_some();
        self.differs();
        None
    }

    fn leaf(&mut self, plan: &Value, actual: Option<&Value>, at: At<'_>) -> Option<Value> {
        if actual.is_some_and(|found| same(plan, found)) {
            return actual.cloned();
        }
        if self.keeps(at) || (actual.is_none() && self.is_dropped(plan)) {
            return actual.cloned();
        }
        self.differs();
        Some(without_nulls(plan))
    }

    fn map(
        &mut self,
        plan: &Map<String, Value>,
        found: &Map<String, Value>,
        at: At<'_>,
    ) -> Map<String, Value> {
        let mut merged = found.clone();
        let mut is_missing = false;
        for (key, planned) in plan {
            let before = found.get(key);
            let below = at.field(key);
            match self.descend(key, |merge| merge.value(planned, before, below)) {
                Some(value) => {
                    is_missing |= before.is_none();
                    merged.insert(key.clone(), value);
                }
                None => drop(merged.remove(key)),
            }
        }
        let is_root = self.path.is_empty() || self.path == "/metadata";
        for (key, value) in found.iter().filter(|(key, _)| !plan.contains_key(*key)) {
            let yields = is_missing && self.others == Others::Yield && !is_root;
            let left = match yields {
                true => None,
                false => self.left(value, at.field(key)),
            };
            if left.as_ref() == Some(value) {
                continue;
            }
            self.descend(key, Merge::differs);
            match left {
                Some(left) => drop(merged.insert(key.clone(), left)),
                None => drop(merged.remove(key)),
            }
        }
        merged
    }

    fn list(&mut self, plan: &[Value], found: &[Value], at: At<'_>) -> Vec<Value> {
        let sets = [at.ours, at.theirs];
        let mut sets = sets.into_iter().flatten();
        let names = sets.clone().find_map(Set::key_names);
        if let Some(names) = names
            && let Some(merged) = self.keyed(&names, plan, found, at)
        {
            return merged;
        }
        if sets.any(Set::has_values) && plan.iter().all(|item| !item.is_array()) {
            return self.set(plan, found, at);
        }
        // A list that is empty where items are planned was emptied: who did that is not told apart.
        let is_emptied = found.is_empty() && !plan.is_empty();
        let is_same = match at.is_atomic() {
            true => same_list(plan, found) || (self.keeps(at) && !is_emptied),
            // Nobody owns it, or the keys of two planned items are the same: it is compared item by item.
            false => self.basis != Basis::Another && self.covers_all(plan, found),
        };
        if is_same {
            return found.to_vec();
        }
        self.differs();
        plan.iter().map(without_nulls).collect()
    }

    /// What is left of a field that is not planned: what is not ours.
    pub(super) fn left(&self, found: &Value, at: At<'_>) -> Option<Value> {
        if self.basis != Basis::Another || at.ours.is_none() {
            return Some(found.clone());
        }
        let is_theirs = at.theirs.is_some_and(Set::is_own);
        match found {
            Value::Object(members) if !at.is_atomic() => {
                let left = members.iter().filter_map(|(key, value)| {
                    Some((key.clone(), self.left(value, at.field(key))?))
                });
                let left = map_of(left);
                (!left.is_empty() || is_theirs).then(|| left.into())
            }
            Value::Array(items) if !at.is_atomic() => {
                let left = items.iter().filter_map(|item| self.left_item(item, at));
                let left: Vec<Value> = left.collect();
                (!left.is_empty() || is_theirs).then(|| left.into())
            }
            _ => at.theirs.map(|_| found.clone()),
        }
    }

    /// What is left of an item that is not planned. It is ours if we have made it, whatever others have put into it.
    pub(super) fn left_item(&self, item: &Value, list: At<'_>) -> Option<Value> {
        let at = list.item(item);
        if self.basis == Basis::Another
            && at.ours.is_some_and(Set::is_own)
            && !at.theirs.is_some_and(Set::is_own)
        {
            return None;
        }
        self.left(item, at)
    }

    /// Whether what is there is kept although it differs: it is ours, and so the server stores our plan.
    pub(super) fn keeps(&self, at: At<'_>) -> bool {
        let is_ours = at.ours.is_some_and(Set::is_own);
        matches!(self.basis, Basis::This { .. }) && is_ours
    }

    /// Whether the server has dropped a zero value. That leaves no trace; somebody who removes one changes the spec.
    fn is_dropped(&self, plan: &Value) -> bool {
        self.basis == Basis::This { touched: false } && is_zero(plan)
    }

    /// Whether all that is planned is there, whatever else is.
    pub(super) fn covers(&self, plan: &Value, found: Option<&Value>) -> bool {
        match (plan, found) {
            (Value::Null, None) => true,
            (Value::Null, Some(found)) => is_empty(found),
            (plan, None) => self.is_dropped(plan),
            (Value::Object(plan), Some(Value::Object(found))) => plan
                .iter()
                .all(|(key, planned)| self.covers(planned, found.get(key))),
            (Value::Array(plan), Some(Value::Array(found))) => self.covers_all(plan, found),
            (plan, Some(found)) => same(plan, found),
        }
    }

    fn covers_all(&self, plan: &[Value], found: &[Value]) -> bool {
        let mut pairs = plan.iter().zip(found);
        plan.len() == found.len() && pairs.all(|(plan, found)| self.covers(plan, Some(found)))
    }

    pub(super) fn differs(&mut self) {
        self.first.get_or_insert_with(|| self.path.clone());
    }

    /// Runs `step` one level deeper.
    pub(super) fn descend<T>(&mut self, segment: &str, step: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        match segment.contains(['~', '/']) {
            // As RFC 6901 escapes it.
            true => self.path += &segment.replace('~', "~0").replace('/', "~1"),
            false => self.path += segment,
        }
        let done = step(self);
        self.path.truncate(length);
        done
    }
}

/// Whether two values are one, to the last member. A planned `null` is nothing.
pub(super) fn same(plan: &Value, found: &Value) -> bool {
    match (plan, found) {
        (Value::Object(plan), Value::Object(found)) => same_map(plan, found),
        (Value::Array(plan), Value::Array(found)) => same_list(plan, found),
        // A whole number may be written with a fraction.
        (Value::Number(plan), Value::Number(found)) if plan.is_f64() != found.is_f64() => {
            plan.as_f64() == found.as_f64()
        }
        (plan, found) => plan == found,
    }
}

fn same_list(plan: &[Value], found: &[Value]) -> bool {
    let mut pairs = plan.iter().zip(found);
    plan.len() == found.len() && pairs.all(|(plan, found)| same(plan, found))
}

fn same_map(plan: &Map<String, Value>, found: &Map<String, Value>) -> bool {
    let mut planned = plan.iter().filter(|(_, value)| !value.is_null());
    let is_there =
        |(key, value): (&String, &Value)| found.get(key).is_some_and(|found| same(value, found));
    planned.clone().count() == found.len() && planned.all(is_there)
}

/// `null`, an empty map or an empty list.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// What Go's `omitempty` leaves out: the zero value of a text, a number or a truth value, and what is empty.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => is_empty(value),
    }
}
