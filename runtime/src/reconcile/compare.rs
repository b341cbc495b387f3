//! An owner compared with its children as a relist found them.
//!
//! Guarantees: no request; every child that was found is recorded in the owner's state; one that is ours and not
//! in the plan is a difference.
//! Leaves to others: finding the children (`relist`), what a difference is (`fields`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::api::{Child, Operator, Owner, OwnerStatus, Requeue, Status, mark_annotation};
use crate::http::request::Api;
use crate::model::{
    Content, KindId, Meta, ObjectKey, OwnerState, PartialObject, Retention, Triggers,
};
use crate::reconcile::child::{Actual, child_id, last_applied, planned, planned_body};
use crate::reconcile::child_names::{ChildNames, is_planned};
use crate::reconcile::fields::is_as_listed;
use crate::reconcile::owner;
use crate::relist::{Compare, Comparison, Coverage};

/// Compares owners with their plans, for a relist.
pub struct Comparer<O> {
    operator: Arc<O>,
    api: Api,
    names: Arc<ChildNames>,
    retention: Retention,
    /// The annotation on a child that names its plan.
    mark: String,
}

impl<O: Operator> Comparer<O> {
    /// Compares with the plans of `operator` and counts differences in the metrics of `api`. For a cache that retains
    /// owners, owners without work are reported too; for one that retains specs, the state from the page is
    /// used without a read of the owner.
    pub fn new(operator: Arc<O>, api: Api, names: Arc<ChildNames>, retention: Retention) -> Self {
        Self {
            operator,
            api,
            names,
            retention,
            mark: mark_annotation::<O>(),
        }
    }

    fn child_differs(
        &self,
        mut child: Child,
        owner: &Meta,
        state: &mut OwnerState,
        found: &[(KindId, Actual)],
    ) -> bool {
        let id = child_id::<O>(&child);
        let actual = found
            .iter()
            .find(|(of, actual)| *of == id.0 && child.is_at(&owner.namespace, actual.key.parts()))
            .map(|(_, actual)| actual);
        let is_ours =
            |actual: Option<&Actual>| actual.is_some_and(|it| it.owner == Some(owner.uid));
        let differs = match (child.body.take(), actual) {
            (None, actual) => is_ours(actual),
            (Some(_), None) => true,
            (Some(body), Some(actual)) => {
                let body = planned_body::<O>(&child, body, owner);
                let planned = planned::<O>(&body, child.immutable, false);
                let differs = !is_ours(Some(actual)) || !is_as_listed(&planned, &actual.found());
                if let Some(record) = state.children.get_mut(id)
                    && !differs
                    && self.retention == Retention::Specs
                {
                    let applied = last_applied(actual.uid, &body);
                    record.content = Content::Recorded(Some(applied));
                }
                differs
            }
        };
        if differs {
            self.api.metrics().drift.fetch_add(1, Relaxed);
        }
        differs
    }
}

impl<O: Operator> Compare for Comparer<O> {
    type Child = Actual;

    fn owner(&self, object: &PartialObject<'_>) -> Result<OwnerState, serde_json::Error> {
        Ok(owner::decode::<O>(object).into())
    }

    fn child(&self, kind: KindId, raw: &str, key: Option<&ObjectKey>) -> Option<Actual> {
        let actual = Actual::of::<O>(raw, kind.of(O::KINDS)?.status, &self.mark).ok()?;
        let is_asked_for = key.is_none_or(|key| actual.key == *key);
        is_asked_for.then(|| actual.into_listed())
    }

    fn compare(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
        children: &[(KindId, Actual)],
        by_name: bool,
    ) -> Comparison {
        for (kind, actual) in children {
            if actual.owner == Some(state.object.uid) {
                self.names.learn(*kind, key, actual.key.parts());
            }
        }
        let none = Comparison::Triggers(Triggers::default());
        let check = Comparison::Triggers(Triggers::CHECK);
        let own = owner::triggers_beside_children::<O>(&state.object);
        // To remove a retired finalizer says nothing of the children.
        let has_work = state.object.deleting || !own.without(Triggers::RETIRED).is_empty();
        // The worker reads the children of an owner with work, unless the cache retains them.
        if has_work && (self.retention != Retention::Specs || mutant!(PageWithoutChildren)) {
            return none;
        }
        for (kind, actual) in children {
            let id = (*kind, actual.place_hash(key.namespace()));
            let seen = actual.seen(id, Content::Recorded(None));
            state.children.record(seen);
        }
        state.children.complete = true;
        if has_work {
            // What the owner itself asks for may be done since its page, without what the pages show of the children;
            // a watch shows nothing that is older than the records.
            return match children.is_empty() {
                true => none,
                false => check,
            };
        }
        let Some((owner, plan)) = owner::plan(&*self.operator, key, &state.object, &state.children)
        else {
            return check;
        };
        // What it differs in is left as it is, until a change of the owner has all compared.
        let is_paused = AssertUnwindSafe(|| self.operator.is_paused(&owner));
        if catch_unwind(is_paused).unwrap_or_default() {
            return none;
        }
        let is_named_otherwise =
            |child: &&Child| child.name != *owner.meta.name || child.namespace.is_some();
        if by_name && let Some(child) = plan.children.iter().find(is_named_otherwise) {
            return Comparison::NotByName(format!("{} {:?}", child.kind.kind, child.name));
        }
        if let Requeue::After(after) = plan.requeue {
            state.work.requeue_after_s = u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1);
        }
        // A plan of a large owner is as large as that: each part of both goes as soon as it is not needed.
        let Owner { meta, .. } = owner;
        let mut differs = false;
        for (kind, actual) in children {
            let ours = actual.owner == Some(state.object.uid) && !actual.deleting;
            let (of_owner, place) = (key.namespace(), actual.key.parts());
            if ours && !is_planned::<O>(&plan.children, *kind, of_owner, place) {
                self.api.metrics().drift.fetch_add(1, Relaxed);
                differs = true;
            }
        }
        for child in plan.children {
            differs |= self.child_differs(child, &meta, state, children);
        }
        if differs {
            return check;
        }
        let mut status = plan.status;
        if owner::differs::<O>(&state.object, &mut status) {
            // The worker reads what the status follows from.
            return check;
        }
        if !Status::<O>::OBSERVES {
            state.object.status.observed_generation = Some(state.object.generation);
        }
        none
    }

    fn admit(
        &self,
        state: &mut OwnerState,
        mut triggers: Triggers,
        coverage: Coverage,
    ) -> Option<Triggers> {
        let finalizer = O::FINALIZER.is_some();
        let own = match coverage {
            Coverage::All => owner::triggers_beside_children::<O>(&state.object),
            Coverage::Owners => state.object.own_triggers(finalizer),
        };
        let has_work = !own.with(triggers).is_empty();
        // The first write of an owner without our finalizer, or with a retired one, carries the
        // resourceVersion on the page. One that was never seen gets children that do not exist yet.
        let page_suffices = state.object.lacks_finalizer(finalizer)
            || owner::never_seen::<O>(&state.object)
            || own.has(Triggers::DELETE.with(Triggers::RETIRED))
            || self.retention == Retention::Specs;
        if has_work && !page_suffices {
            // A page may be old: the worker reads the owner first.
            triggers = triggers.with(Triggers::REFRESH);
            state.object.body = None;
        }
        let reported = has_work || state.work.requeue_after_s > 0;
        (reported || self.retention != Retention::Nothing).then_some(triggers)
    }
}
