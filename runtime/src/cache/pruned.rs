//! Specs, statuses and what is known of children are kept: work needs no reads.
//!
//! Guarantees: what is kept of an owner is what a plan needs (its spec as JSON, a digest of its
//! status) and of a child its identity, its counters and digests of the planned body it was last
//! found to satisfy; everything else is skipped while decoding. A child's event is compared with the
//! plan as it comes: one that changes nothing costs nothing, one that was changed is set right from
//! the event itself. What is older than what is kept changes nothing; what a page no longer shows is
//! gone.
//!
//! Still read: an owner of which a child vanished (the owner may be gone too, and a child must not be
//! made for it); a child whose kept digests are in doubt after a conflict or an unordered join.
//!
//! When to choose it: children that change often, or an API server on which reads are dear, and
//! memory to spare for every spec.
//!
//! Why not `kube::runtime::reflector`: linked in for one kind it makes the binary 483,624 bytes larger
//! (2,910,776 -> 3,394,400; x86_64 glibc, profile `dist`, kube 5.0), it would be a second path of
//! recovery beside `source` and `join`, which all modes share and whose 410s, stalls and undecodable
//! objects are tested, and a relist of it fills a second map while the first is held. What is kept
//! here, measured with a counting allocator at 100,000 owners with two children each: 437 bytes and
//! the spec (`tests/cache_memory.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::{Child, Operator, kind_index};
use crate::cache::{Cache, ChildUpdate, Retention, snapshot_of, unknown};
use crate::model::object::{Uid, hash32};
use crate::queue::{ChildEvent, ChildRecord, OwnerState, SnapshotContent, Triggers};
use crate::reconcile::child;
use crate::reconcile::child::{Actual, with_labels};
use crate::reconcile::drift;
use crate::reconcile::owner;

/// What is kept of one owner.
#[derive(Debug)]
struct Kept {
    /// Without reasons: those are the queue's.
    state: OwnerState,
    /// resourceVersion of the newest deletion of a child: what is older and not kept is gone.
    lost_version: u64,
    /// The join that last showed it.
    epoch: u8,
}

/// The mode `pruned`.
pub struct Pruned<O> {
    operator: Arc<O>,
    /// By the halves of the uid: as one `u128` they would take more room.
    owners: HashMap<[u64; 2], Box<Kept>>,
    epoch: u8,
    /// While a join is under way: owners that went meanwhile, which its pages may still show.
    departed: Option<HashSet<Uid>>,
}

impl<O: Operator> Pruned<O> {
    /// An empty store for `operator`.
    pub fn new(operator: Arc<O>) -> Self {
        Self {
            operator,
            owners: HashMap::new(),
            epoch: 0,
            departed: None,
        }
    }
}

impl<O: Operator> Cache for Pruned<O> {
    fn retention(&self) -> Retention {
        Retention::Specs
    }

    fn len(&self) -> usize {
        self.owners.len()
    }

    fn on_owner(&mut self, state: &mut OwnerState, page: Option<&[u64]>) -> bool {
        if self
            .departed
            .as_ref()
            .is_some_and(|gone| gone.contains(&state.uid))
        {
            return false;
        }
        let epoch = self.epoch;
        let kept = self.owners.entry(state.uid.halves()).or_insert_with(|| {
            Box::new(Kept {
                state: OwnerState::default(),
                lost_version: 0,
                epoch,
            })
        });
        kept.epoch = epoch;
        if let Some(revisions) = page
            && state.children_complete
        {
            kept.replace_slots(&state.children, revisions);
        }
        let spec = state.spec.take();
        if state.resource_version >= kept.state.resource_version {
            let children = std::mem::take(&mut state.children);
            let mut newer = state.clone();
            newer.spec = spec;
            kept.state.refresh(newer);
            state.children = children;
        }
        true
    }

    fn on_owner_gone(&mut self, uid: Uid) {
        self.owners.remove(&uid.halves());
        if let Some(departed) = &mut self.departed {
            departed.insert(uid);
        }
        if self.owners.capacity() > 1_024 && self.owners.len() < self.owners.capacity() / 4 {
            self.owners.shrink_to(self.owners.len() * 2);
        }
    }

    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState> {
        let kept = update
            .event
            .owner_uid
            .map(|uid| self.owners.get_mut(&uid.halves()));
        match kept {
            Some(Some(kept)) => {
                let ChildUpdate {
                    owner,
                    event,
                    line,
                    idle,
                } = update;
                let asked = kept.judge(&*self.operator, owner, event, line, idle);
                asked.filter(|_| idle)
            }
            // An owner that no watch and no page has shown: its children are the garbage collector's.
            Some(None) if self.departed.is_none() => None,
            _ => update.idle.then(|| unknown(&update, true)),
        }
    }

    fn complete(&self, state: &mut OwnerState) {
        let Some(Kept { state: kept, .. }) =
            self.owners.get(&state.uid.halves()).map(|kept| &**kept)
        else {
            return;
        };
        if kept.resource_version >= state.resource_version {
            state.resource_version = kept.resource_version;
            state.generation = kept.generation;
            state.deleting = kept.deleting;
            state.finalizers = kept.finalizers;
            state.status = kept.status.clone();
            state.spec = kept.spec.clone();
        } else if kept.generation == state.generation {
            state.spec = kept.spec.clone();
        }
        state.children = kept.children.clone();
        state.children_complete = kept.children_complete;
    }

    fn record(&mut self, state: &mut OwnerState) {
        let spec = state.spec.take();
        if let Some(kept) = self.owners.get_mut(&state.uid.halves()) {
            kept.merge_slots(&state.children);
            kept.state.children_complete |= state.children_complete;
            if state.resource_version >= kept.state.resource_version {
                let known = &mut kept.state;
                known.resource_version = state.resource_version;
                known.generation = state.generation;
                known.deleting = state.deleting;
                known.finalizers = state.finalizers;
                known.status = state.status.clone();
                known.spec = spec.or(known.spec.take());
            }
        }
        // The queue needs to know what it wrote, not what it looked like.
        for record in &mut state.children {
            record.last_applied = None;
        }
    }

    fn relist_began(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.departed = Some(HashSet::new());
    }

    fn relist_ended(&mut self, whole: bool) {
        self.departed = None;
        if whole {
            let epoch = self.epoch;
            self.owners.retain(|_, kept| kept.epoch == epoch);
        }
    }

    fn clear(&mut self) {
        self.owners = HashMap::new();
    }
}

impl Kept {
    /// Takes in a child's event; what it asks for, if anything.
    fn judge<O: Operator>(
        &mut self,
        operator: &O,
        key: &str,
        event: &mut ChildEvent,
        line: &[u8],
        idle: bool,
    ) -> Option<OwnerState> {
        let place = self.place(event);
        let known = place.map_or(self.lost_version, |place| {
            self.state.children[place].resource_version
        });
        if event.resource_version <= known {
            // Our own write, or older than what a worker has read.
            return None;
        }
        if event.deleted {
            self.lost_version = self.lost_version.max(event.resource_version);
            if let Some(place) = place {
                self.state.children.swap_remove(place);
            }
            let planned = idle && !self.state.deleting && self.wants(operator, key, event);
            let triggers = Triggers::REFRESH.with(Triggers::CHECK);
            return planned.then(|| self.ask(triggers, Some((event, SnapshotContent::Gone))));
        }
        let unchanged = place.is_some_and(|place| {
            let known = &self.state.children[place].state;
            known.generation == event.state.generation && known.generation != 0
        });
        let place = place.unwrap_or_else(|| {
            self.state.children.reserve_exact(1);
            self.state.children.push(ChildRecord {
                kind: event.kind,
                name_hash: event.name_hash,
                resource_version: 0,
                state: event.state,
                last_applied: None,
            });
            self.state.children.len() - 1
        });
        let record = &mut self.state.children[place];
        record.resource_version = event.resource_version;
        record.state = event.state;
        if !idle && unchanged {
            // The entry hears of its counters; a changed spec would have another generation.
            return None;
        }
        record.last_applied = None;
        let Some((planned, plan)) = owner::plan(operator, key, &self.state) else {
            return Some(self.ask(Triggers::CHECK, None));
        };
        let child = plan.children.iter().find(|child| is::<O>(child, event));
        if let Some(child) = child {
            let kind = O::KINDS.get(usize::from(event.kind))?;
            let snapshot = child::snapshot(line);
            let actual = match &snapshot {
                SnapshotContent::Object(json) => Actual::decode(json, kind.workload).ok(),
                SnapshotContent::Unread | SnapshotContent::Gone => None,
            };
            let body = child
                .body
                .as_ref()
                .map(|body| with_labels::<O>(body.clone(), &planned.meta.name));
            match (body, actual) {
                (Some(body), Some(actual)) if drift::differs(&body, &actual.value).is_none() => {
                    self.state.children[place].last_applied =
                        Some(child::last_applied(actual.uid, &body, child.immutable));
                }
                _ => {
                    event.differs = true;
                    return Some(self.ask(Triggers::CHECK, Some((event, snapshot))));
                }
            }
        }
        if !self.state.children_complete {
            return Some(self.ask(Triggers::CHECK, None));
        }
        let mut status = plan.status;
        let same = owner::remember::<O>(&mut status).digest == self.state.status.digest;
        // The children are looked at again too: what their digests vouch for costs nothing.
        (!same).then(|| self.ask(Triggers::CHECK, None))
    }

    /// Whether the plan has a body for the child.
    fn wants<O: Operator>(&self, operator: &O, key: &str, event: &ChildEvent) -> bool {
        owner::plan(operator, key, &self.state).is_none_or(|(_, plan)| {
            let mut wanted = plan.children.iter().filter(|child| child.body.is_some());
            wanted.any(|child| is::<O>(child, event))
        })
    }

    /// An entry for the queue; the rest is filled in when a worker takes it.
    fn ask(
        &self,
        triggers: Triggers,
        snapshot: Option<(&ChildEvent, SnapshotContent)>,
    ) -> OwnerState {
        OwnerState {
            uid: self.state.uid,
            generation: self.state.generation,
            resource_version: self.state.resource_version,
            deleting: self.state.deleting,
            finalizers: self.state.finalizers,
            status: self.state.status.clone(),
            triggers: triggers.with(Triggers::CHILD),
            snapshots: snapshot
                .map(|(event, snapshot)| snapshot_of(event, snapshot))
                .into_iter()
                .collect(),
            ..OwnerState::default()
        }
    }

    fn place(&self, event: &ChildEvent) -> Option<usize> {
        let mut children = self.state.children.iter();
        children.position(|record| (record.kind, record.name_hash) == (event.kind, event.name_hash))
    }

    /// Takes over what a worker has seen or written, where it is newer.
    fn merge_slots(&mut self, children: &[ChildRecord]) {
        for record in children {
            let known = self
                .state
                .children
                .iter_mut()
                .find(|known| (known.kind, known.name_hash) == (record.kind, record.name_hash));
            match known {
                Some(known) if known.resource_version <= record.resource_version => {
                    known.clone_from(record);
                }
                Some(_) => {}
                None if record.resource_version > self.lost_version => {
                    self.state.children.reserve_exact(1);
                    self.state.children.push(record.clone());
                }
                None => {}
            }
        }
    }

    /// Takes over what pages have shown: what they do not show and is not younger than they are, is
    /// gone.
    fn replace_slots(&mut self, children: &[ChildRecord], revisions: &[u64]) {
        self.state.children.retain(|known| {
            let page = revisions.get(usize::from(known.kind) + 1);
            page.is_none_or(|page| known.resource_version > *page)
                || children
                    .iter()
                    .any(|record| (known.kind, known.name_hash) == (record.kind, record.name_hash))
        });
        self.merge_slots(children);
        self.state.children_complete = true;
    }
}

fn is<O: Operator>(child: &Child, event: &ChildEvent) -> bool {
    kind_index(O::KINDS, &child.kind) == Some(event.kind) && hash32(&child.name) == event.name_hash
}
