//! Specs, statuses and records of children are retained: a reconcile needs no reads.
//!
//! Guarantees: of an owner only what a plan needs is retained (its spec as JSON, a digest of its status), and of
//! a child its identity, its counters and digests of the planned body that it last satisfied; everything else
//! is skipped while decoding. A change of a child is compared with the plan as it arrives: one without a
//! difference costs no request, one with a difference is corrected from the event itself. Older events and
//! pages change nothing; what a newer page no longer shows is gone.
//!
//! Still read: an owner of which a child was deleted (the owner may be gone too, and no child must be created for
//! it); a child whose digests may be out of date after a conflict or a relist by label.
//!
//! When to choose it: children that change often, or an API server on which reads are expensive, and enough
//! memory for every spec.
//!
//! Why not `kube::runtime::reflector`: for one kind it makes the binary 483,624 bytes larger (2,910,776 ->
//! 3,394,400; x86_64 glibc, profile `dist`, kube 5.0). It would be a second path of recovery beside `watch` and
//! `relist`, which all modes share and whose 410s, stalls and undecodable objects are tested. Its relist fills a
//! second map while the first is held. What is retained here, measured with a counting allocator at 100,000
//! owners with two children each: 501 bytes and the spec (`tests/programs/cache_memory.rs`).

mod kept;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::Operator;
use crate::cache::pruned::kept::Kept;
use crate::cache::{Cache, ChildUpdate, unknown};
use crate::model::{Content, KindId, OwnerState, Retention, SeenChild, Uid};

/// The mode `pruned`.
pub struct Pruned<O> {
    operator: Arc<O>,
    owners: HashMap<Uid, Box<Kept>>,
    epoch: u8,
    /// While a relist runs: owners that were deleted meanwhile, which its pages may still show.
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
            .is_some_and(|gone| gone.contains(&state.object.uid))
        {
            return false;
        }
        let epoch = self.epoch;
        let kept = self.owners.entry(state.object.uid).or_default();
        kept.epoch = epoch;
        kept.shown(state, page);
        true
    }

    fn is_ahead_of(&self, state: &OwnerState, page: &[u64]) -> Option<KindId> {
        let known = self.owners.get(&state.object.uid)?;
        let is_past = |kind: KindId, version: u64| {
            let page = page.get(kind.index());
            page.is_some_and(|page| version <= *page)
        };
        if state.object.resource_version < known.object.resource_version
            && is_past(KindId::OWNER, known.object.resource_version)
        {
            return Some(KindId::OWNER);
        }
        let is_ahead = |known: &&SeenChild| {
            let mut shown = state.children.iter();
            is_past(known.kind, known.resource_version)
                && shown.any(|shown| {
                    shown.id() == known.id() && shown.resource_version < known.resource_version
                })
        };
        known.children.iter().find(is_ahead).map(|known| known.kind)
    }

    fn knows_status_of(&self, state: &OwnerState) -> bool {
        let kept = self.owners.get(&state.object.uid);
        kept.is_some_and(|kept| {
            let (kept, shown) = (&kept.object, &state.object);
            (kept.status.digest, kept.marks) == (shown.status.digest, shown.marks)
        })
    }

    fn on_owner_gone(&mut self, uid: Uid) {
        self.owners.remove(&uid);
        if let Some(departed) = &mut self.departed {
            departed.insert(uid);
        }
        if self.owners.capacity() > 1_024 && self.owners.len() < self.owners.capacity() / 4 {
            self.owners.shrink_to(self.owners.len() * 2);
        }
    }

    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState> {
        let kept = update.event.owner_uid.map(|uid| self.owners.get_mut(&uid));
        match kept {
            Some(Some(kept)) => {
                let idle = update.idle;
                let work = kept.on_child_event(&*self.operator, update);
                work.filter(|_| idle)
            }
            // No watch and no page has shown the owner: the garbage collector deletes its children.
            Some(None) if self.departed.is_none() => None,
            _ => update.idle.then(|| unknown(update.event)),
        }
    }

    fn complete(&self, state: &mut OwnerState) {
        if let Some(kept) = self.owners.get(&state.object.uid) {
            kept.complete(state);
        }
    }

    fn record(&mut self, state: &mut OwnerState) {
        let body = state.object.body.take();
        let object = &state.object;
        // What the worker has seen of the children is newer than the page that is still to come.
        let is_to_come = object.resource_version > 0
            && self
                .departed
                .as_ref()
                .is_some_and(|gone| !gone.contains(&object.uid));
        if is_to_come {
            self.owners.entry(object.uid).or_default().epoch = self.epoch;
        }
        if let Some(kept) = self.owners.get_mut(&state.object.uid) {
            kept.returned(state, body);
        }
        // The queue needs the resourceVersions, not the digests.
        for child in &mut *state.children {
            if let Content::Recorded(applied) = &mut child.content {
                *applied = None;
            }
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
        // An owner that was deleted may be back with the backup.
        self.departed = self.departed.as_ref().map(|_| HashSet::new());
    }
}
