//! Whether a child is as planned, and what makes it so: by the server's word on who owns which field.
//!
//! A child has a [`Mark`] that says which plan it was written from. A child of another plan is always written. Under the
//! same plan a planned field that differs is corrected if its owner in `managedFields` is not us: where it is still ours,
//! the server or its admission stores our plan so.
//!
//! A mark that somebody else has written is that of a copy. What is written beside it was ours in the original: it counts
//! as ours, the next write makes it so in `managedFields`, and the plan is written.
//!
//! Guarantees: pure. Nothing is known of a field by its name, and nothing is remembered. `managedFields` are decoded
//! only of a child that differs at first sight or whose plan is another one. What others own stays. What was ours and left
//! the plan goes, and so does a field of others that is planned as `null`.
//!
//! Where nothing says who owns a field (somebody has cleared `managedFields`), planned fields are compared one by one,
//! lists are written whole, and what left the plan stays.
//!
//! Leaves to others: reading and writing (`children`, `child_requests`).

mod list;
mod mark;
mod merge;
mod patch;
mod set;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::reconcile::fields::merge::{Basis, Merge};
use crate::reconcile::fields::patch::merge_patch;
use crate::reconcile::fields::set::{Managed, may_be_atomic, taken_over};

pub(crate) use crate::reconcile::fields::mark::Mark;
pub(crate) use crate::reconcile::fields::merge::Others;
pub(crate) use crate::reconcile::fields::patch::Created;
#[cfg(test)]
pub(crate) use crate::reconcile::fields::patch::without_nulls;
pub(crate) use crate::reconcile::fields::set::copy_of;
#[cfg(test)]
pub(crate) use crate::reconcile::fields::tests::merged;

/// A child as it is planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned<'a> {
    pub body: &'a Value,
    /// What the mark of a child is that was written from this plan, but for its generation.
    pub mark: Mark,
    /// JSON pointers to the fields that only a new object can change.
    pub immutable: &'a [&'a str],
    /// The field manager of our writes.
    pub manager: &'a str,
    /// The owner has a spec that no child was written for yet.
    pub is_new: bool,
}

/// A child as it is on the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// What a plan may say of it, without the mark.
    pub value: &'a Value,
    /// 0 where its kind has none.
    pub generation: i64,
    pub mark: Option<Mark>,
    /// The place in `metadata.managedFields` of the entry that bears the mark, where that is not ours: somebody has made the
    /// child from a copy.
    pub copy: Option<usize>,
    /// `metadata.managedFields` as JSON.
    pub managed: Option<&'a str>,
}

/// What brings a child to its plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Correction {
    /// JSON pointer of the first field that is not as planned; empty if only the plan is another one.
    pub path: String,
    /// A merge patch, without the mark.
    pub patch: Map<String, Value>,
    /// The mark that the child gets, with the generation that it is expected to have then.
    pub mark: Mark,
    /// A field differs that only a new object can change.
    pub recreates: bool,
    /// Some of what is ours was not applied, but created or patched: an apply would not remove it.
    pub is_patched: bool,
    /// Something that others own has to go, which no apply does.
    pub evicts: bool,
    /// `managedFields` that give us what somebody has copied.
    pub managed: Option<Value>,
}

impl Found<'_> {
    fn basis(&self, planned: &Planned<'_>) -> Basis {
        match self.mark {
            // Its mark says from which plan the original was written.
            _ if self.copy.is_some() => Basis::Another,
            Some(mark) if mark.digest == planned.mark.digest => Basis::This {
                touched: self.generation > mark.generation && self.generation != 0,
            },
            Some(_) => Basis::Another,
            None if planned.is_new => Basis::Another,
            None => Basis::Unknown,
        }
    }
}

/// What brings the child to its plan; `None`: it is as planned.
pub(crate) fn correct(
    planned: &Planned<'_>,
    found: &Found<'_>,
    others: Others,
) -> Option<Correction> {
    let basis = found.basis(planned);
    if basis != Basis::Another && is_plain(found.managed, "", planned.body, found.value) {
        return None;
    }
    let managed = Managed::decode(found.managed, planned.manager, found.copy);
    let merged = |basis| {
        let mut merge = Merge::new(basis, others, &managed);
        let wanted = merge.object(planned.body, found.value);
        (wanted, merge.first, merge.evicts)
    };
    let (mut wanted, path, mut evicts) = merged(basis);
    if basis != Basis::Another && path.is_none() {
        return None;
    }
    if basis == Basis::Unknown {
        (wanted, _, evicts) = merged(Basis::Another);
    }
    keep_annotations(found.value, &mut wanted);
    let recreates = {
        let is_same = |mark: Mark| mark.immutable == planned.mark.immutable;
        let wanted = match found.mark.is_none_or(is_same) && !planned.immutable.is_empty() {
            // The plan has not changed them: they may be stored in another form.
            true => &merged(Basis::This { touched: true }).0,
            false => &wanted,
        };
        let mut immutable = planned.immutable.iter();
        immutable.any(|pointer| match planned.body.pointer(pointer) {
            None => false,
            Some(Value::Null) if found.mark.is_none() => found.value.pointer(pointer).is_some(),
            Some(_) => wanted.pointer(pointer) != found.value.pointer(pointer),
        })
    };
    let patch = match (found.value, &wanted) {
        (Value::Object(found), Value::Object(wanted)) => merge_patch(found, wanted),
        _ => Map::new(),
    };
    let is_spec = patch.keys().any(|field| field != "metadata");
    let generation = match found.mark {
        Some(mark) if basis != Basis::Another && !is_spec => mark.generation,
        _ => found.generation + 1,
    };
    Some(Correction {
        path: path.unwrap_or_default(),
        patch,
        mark: Mark {
            generation,
            ..planned.mark
        },
        recreates,
        is_patched: managed.is_patched,
        evicts,
        managed: found
            .copy
            .and_then(|copy| taken_over(found.managed, copy, planned.manager)),
    })
}

/// The annotations are not removed as a whole: one of them, which is not in the values, is the mark.
fn keep_annotations(found: &Value, wanted: &mut Value) {
    let has = found.pointer("/metadata/annotations").is_some();
    if has && let Some(Value::Object(metadata)) = wanted.get_mut("metadata") {
        let none = || Map::new().into();
        metadata.entry("annotations").or_insert_with(none);
    }
}

/// Whether a child is as planned by what a list shows of it, which has no `managedFields` where the kind has a generation.
/// `false`: it differs, or only `managedFields` can tell.
pub(crate) fn is_as_listed(planned: &Planned<'_>, found: &Found<'_>) -> bool {
    let covers = |planned: &Value, found: &Value| is_plain(None, "", planned, found);
    match found.basis(planned) {
        _ if found.generation == 0 => correct(planned, found, Others::Stay).is_none(),
        Basis::Another | Basis::This { touched: true } => false,
        // Nobody has changed its spec since our write.
        Basis::This { touched: false } => {
            let of = |value: &Value| value.get("metadata").cloned().unwrap_or_default();
            covers(&of(planned.body), &of(found.value))
        }
        Basis::Unknown => covers(planned.body, found.value),
    }
}

/// Whether all that is planned is there at first sight, and nothing else can have changed what it means: `managed` shows
/// that `name`, the field at hand, is neither an atomic map nor an atomic list.
fn is_plain(managed: Option<&str>, name: &str, planned: &Value, found: &Value) -> bool {
    match (planned, found) {
        (Value::Object(plan), Value::Object(all)) => {
            let members = plan.iter().all(|(key, planned)| match all.get(key) {
                Some(found) => is_plain(managed, key, planned, found),
                None => planned.is_null(),
            });
            members && (all.len() == plan.len() || !may_be_atomic(managed, name))
        }
        (Value::Array(plan), Value::Array(all)) => {
            let mut pairs = plan.iter().zip(all);
            plan.len() == all.len()
                && pairs.all(|(planned, found)| is_plain(managed, name, planned, found))
                && (planned == found || !may_be_atomic(managed, name))
        }
        (planned, found) => planned == found,
    }
}
