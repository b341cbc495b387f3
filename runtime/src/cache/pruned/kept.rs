//! What mode `pruned` retains of one owner, and what a change of a child means to it.
//!
//! Guarantees: older events, pages and answers change nothing; a record that may be out of date has no digests, so that
//! the child is read before it is relied on.
//! Leaves to others: which owners there are (`pruned`), the work itself (`reconcile`).

use serde_json::Value;

use crate::api::{Operator, mark_annotation};
use crate::cache::ChildUpdate;
use crate::model::{
    Body, Content, KindId, ObjectKey, OwnerObject, OwnerState, SeenChild, SeenChildren, Triggers,
};
use crate::reconcile::child;
use crate::reconcile::child::{Actual, child_id, planned_body};
use crate::reconcile::fields::{Others, correct};
use crate::reconcile::owner;

/// What is retained of one owner.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) object: OwnerObject,
    pub(super) children: SeenChildren,
    /// resourceVersion of the newest deletion of a child, and which one that was: unrecorded and older, it is gone,
    /// and another may be.
    lost_version: u64,
    lost: Option<KindId>,
    lost_place_hash: u32,
    /// The relist that last showed it.
    pub(super) epoch: u8,
}

impl Kept {
    /// A watch or the pages of a relist show the owner. Takes its body.
    pub(super) fn shown(&mut self, state: &mut OwnerState, page: Option<&[u64]>) {
        if let Some(revisions) = page
            && state.children.complete
        {
            self.replace_records(&state.children, revisions);
        }
        let body = state.object.body.take();
        if state.object.resource_version >= self.object.resource_version {
            self.object.refresh(OwnerObject {
                body,
                ..state.object.clone()
            });
        }
    }

    /// Fills in what is retained where a worker is about to take the owner.
    pub(super) fn complete(&self, state: &mut OwnerState) {
        let (kept, object) = (&self.object, &mut state.object);
        if kept.resource_version >= object.resource_version {
            take_over(object, kept);
            object.body = kept.body.clone();
        } else if (kept.generation, kept.marks) == (object.generation, object.marks) {
            object.body = kept.body.clone();
        }
        // The watch of the owners may be behind: what came of the children before is known to the entry alone.
        let known = std::mem::replace(&mut state.children, self.children.clone());
        state.children.complete |= known.complete;
        for seen in known {
            match state.children.get_mut(seen.id()) {
                Some(older) if older.resource_version < seen.resource_version => *older = seen,
                // The entry knows that it is to be looked at.
                Some(same) if same.resource_version == seen.resource_version => {
                    if seen.content.is_pending() {
                        same.content = seen.content;
                    }
                }
                None if seen.content.is_pending() || !self.is_gone(&seen) => {
                    state.children.record(seen);
                }
                Some(_) | None => {}
            }
        }
    }

    /// Takes over what a worker returns, with the owner's `body`.
    pub(super) fn returned(&mut self, state: &OwnerState, body: Option<Body>) {
        self.merge_records(&state.children);
        self.doubt_forgotten(&state.children);
        self.children.complete |= state.children.complete;
        if state.object.resource_version >= self.object.resource_version {
            take_over(&mut self.object, &state.object);
            self.object.body = body.or(self.object.body.take());
        }
    }

    /// Takes over a change of a child, and says in the event how it is to be looked at. Returns the work that follows
    /// from it for an idle owner.
    pub(super) fn on_child_event<O: Operator>(
        &mut self,
        operator: &O,
        update: ChildUpdate<'_>,
    ) -> Option<OwnerState> {
        let ChildUpdate {
            owner: key,
            event,
            line,
            idle,
        } = update;
        let seen = &mut event.child;
        // What came before a deletion of another child may arrive after it: each kind has a watch of its own.
        let known = self.children.get_mut(seen.id());
        let version = known.as_ref().map(|known| known.resource_version);
        let version = version.unwrap_or(match mutant!(DeletionHidesOthers) {
            true => self.lost_version,
            false => 0,
        });
        if seen.resource_version <= version {
            // Our own write, or older than what a worker has read.
            return None;
        }
        if seen.content == Content::Gone {
            if seen.resource_version > self.lost_version {
                self.lost_version = seen.resource_version;
                (self.lost, self.lost_place_hash) = (Some(seen.kind), seen.place_hash);
            }
            self.children.retain(|known| known.id() != seen.id());
            let planned = idle && !self.object.deleting && self.wants(operator, key, seen);
            return planned.then(|| self.work(Triggers::REFRESH.with(Triggers::CHECK)));
        }
        let is_unchanged = |record: &&mut SeenChild| {
            seen.content == Content::ByGeneration
                && record.uid_hash == seen.uid_hash
                && record.state.generation == seen.state.generation
                && record.marks == seen.marks
        };
        if !idle && let Some(record) = known.filter(is_unchanged) {
            record.resource_version = seen.resource_version;
            record.state = seen.state.clone();
            // The entry gets the counters; a changed spec would have another generation.
            seen.content = Content::Recorded(None);
            return None;
        }
        self.children.record(SeenChild {
            content: Content::Recorded(None),
            ..seen.clone()
        });
        let Some((planned, plan)) = owner::plan(operator, key, &self.object, &self.children) else {
            seen.content = Content::Unread;
            return Some(self.work(Triggers::CHECK));
        };
        let id = seen.id();
        let child = plan
            .children
            .iter()
            .find(|child| child_id::<O>(child) == id);
        if let Some(child) = child {
            let kind = seen.kind.of(O::KINDS)?;
            let held = child::held(line);
            let actual = match &held {
                Content::Held(json) => {
                    Actual::of::<O>(json, kind.status, &mark_annotation::<O>()).ok()
                }
                _ => None,
            };
            let body = child
                .body
                .as_ref()
                .map(|body| planned_body::<O>(child, body.clone(), &planned.meta));
            let as_planned = |body: &Value, actual: &Actual| {
                let planned = child::planned::<O>(body, child.immutable, false);
                correct(&planned, &actual.found(), Others::Stay).is_none()
            };
            match (body, actual) {
                (Some(body), Some(actual)) if as_planned(&body, &actual) => {
                    let applied = child::last_applied(actual.uid, &body);
                    self.children.record(SeenChild {
                        content: Content::Recorded(Some(applied)),
                        ..seen.clone()
                    });
                    seen.content = Content::Recorded(None);
                }
                _ => {
                    seen.content = held;
                    return Some(self.work(Triggers::CHECK));
                }
            }
        }
        if child.is_none() && !self.object.deleting {
            // It left the plan.
            seen.content = child::held(line);
            return Some(self.work(Triggers::CHECK));
        }
        if !self.children.complete {
            return Some(self.work(Triggers::CHECK));
        }
        let mut status = plan.status;
        let same = owner::remember::<O>(&mut status).digest == self.object.status.digest;
        // The children are compared too: those with current digests cost no request.
        (!same).then(|| self.work(Triggers::CHECK))
    }

    /// Whether the plan has a body for the child.
    fn wants<O: Operator>(&self, operator: &O, key: &ObjectKey, seen: &SeenChild) -> bool {
        owner::plan(operator, key, &self.object, &self.children).is_none_or(|(_, plan)| {
            let mut wanted = plan.children.iter().filter(|child| child.body.is_some());
            wanted.any(|child| child_id::<O>(child) == seen.id())
        })
    }

    /// The work for the queue; the rest is filled in when a worker takes it.
    fn work(&self, triggers: Triggers) -> OwnerState {
        let triggers = triggers.with(Triggers::CHILD);
        let mut work = OwnerState::unread(self.object.uid, triggers);
        take_over(&mut work.object, &self.object);
        work
    }

    /// Takes over what a worker or a page has recorded, where it is newer.
    fn merge_records(&mut self, children: &[SeenChild]) {
        // What is still to be looked at is known to the entry, and to the cache as far as events told it.
        for record in children.iter().filter(|child| !child.content.is_pending()) {
            match self.children.get_mut(record.id()) {
                Some(known) if known.resource_version <= record.resource_version => {
                    known.clone_from(record);
                }
                Some(known) => {
                    // A newer event, of another object of that name than the one that is recorded.
                    let applied_to =
                        |child: &SeenChild| child.content.last_applied().map(|applied| applied.uid);
                    let is_another =
                        applied_to(record).is_some() && applied_to(record) != applied_to(known);
                    if is_another {
                        known.content = Content::Recorded(None);
                    }
                }
                None => {
                    let may_be_gone = record.resource_version <= self.lost_version;
                    if self.is_gone(record) || (may_be_gone && mutant!(DeletionHidesOthers)) {
                        continue;
                    }
                    let mut record = record.clone();
                    if may_be_gone {
                        // It may have been deleted before the last one: it is read before it is relied on.
                        record.content = Content::Recorded(None);
                    }
                    self.children.record(record);
                }
            }
        }
    }

    /// A worker does not know those children that it has found to be gone. No event tells that of a child which another
    /// controller had taken over; one that was made meanwhile, or that the worker did not look at, is not known either: it
    /// is read.
    fn doubt_forgotten(&mut self, children: &[SeenChild]) {
        for known in &mut *self.children {
            if !children.iter().any(|child| child.id() == known.id()) {
                known.content = Content::Recorded(None);
            }
        }
    }

    /// Whether this child, which is not recorded, was the last one that was deleted.
    fn is_gone(&self, record: &SeenChild) -> bool {
        record.resource_version <= self.lost_version
            && (self.lost, self.lost_place_hash) == (Some(record.kind), record.place_hash)
    }

    /// Takes over the records from pages: a child that they do not show is gone, unless it is newer than they
    /// are.
    fn replace_records(&mut self, children: &[SeenChild], revisions: &[u64]) {
        self.children.retain(|known| {
            let page = revisions.get(known.kind.index());
            page.is_none_or(|page| known.resource_version > *page)
                || children.iter().any(|record| record.id() == known.id())
        });
        self.merge_records(children);
        self.children.complete = true;
    }
}

/// Takes over a state of the owner that is as new or newer, but for its spec.
fn take_over(object: &mut OwnerObject, newer: &OwnerObject) {
    object.resource_version = newer.resource_version;
    object.generation = newer.generation;
    object.deleting = newer.deleting;
    object.finalizers = newer.finalizers;
    object.created_s = newer.created_s;
    object.marks = newer.marks;
    object.status = newer.status.clone();
}
