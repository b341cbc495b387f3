//! Identities are retained: owners are watched as metadata only, and a spec is read when there is work.
//!
//! Guarantees: an idle owner takes 24 bytes in one table, whatever its size: its uid and the generation that
//! its status speaks of. Generation, deletion and finalizers are in every event, so that no more is needed.
//!
//! What metadata-only watches do not show: the spec, so that a reconcile begins with a read of the owner; the
//! status, so that an `observedGeneration` that somebody else changes is found by a relist and not by an
//! event; the counters of a workload, so that workloads are watched as whole objects. Lists have whole objects
//! too, with their `observedGeneration`, so that a restart costs the same pages as in mode `none` and no
//! further read.
//!
//! When to choose it: large specs that change rarely, where whole events would cost more than a read.

use std::collections::HashMap;

use crate::api::Operator;
use crate::cache::{Cache, ChildUpdate, unknown};
use crate::model::{KindId, OwnerState, Retention, Uid};

/// What is retained of one owner.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The generation that its status speaks of.
    observed: i32,
    /// The relist that last showed it.
    epoch: u8,
}

/// The mode `metadata`.
#[derive(Debug)]
pub struct Identities {
    marks: HashMap<Uid, Mark>,
    epoch: u8,
    /// By kind: whether its events carry the whole object.
    whole: Vec<bool>,
}

impl Identities {
    /// An empty table for `O`.
    pub fn of<O: Operator>() -> Self {
        Self {
            marks: HashMap::new(),
            epoch: 0,
            whole: O::KINDS.iter().map(|kind| kind.has_status()).collect(),
        }
    }

    /// A generation beyond 2^31 is not retained: that owner is read at every event.
    fn mark(&mut self, uid: Uid, observed: Option<i64>) {
        match observed.and_then(|observed| i32::try_from(observed).ok()) {
            Some(observed) => {
                let epoch = self.epoch;
                self.marks.insert(uid, Mark { observed, epoch });
            }
            None => drop(self.marks.remove(&uid)),
        }
    }
}

impl Cache for Identities {
    fn retention(&self) -> Retention {
        Retention::Identities
    }

    fn len(&self) -> usize {
        self.marks.len()
    }

    fn on_owner(&mut self, state: &mut OwnerState, _page: Option<&[u64]>) -> bool {
        if !state.object.metadata_only {
            self.mark(state.object.uid, state.object.status.observed_generation);
        } else if let Some(mark) = self.marks.get_mut(&state.object.uid) {
            mark.epoch = self.epoch;
            state.object.status.observed_generation = Some(mark.observed.into());
        }
        true
    }

    fn on_owner_gone(&mut self, uid: Uid) {
        self.marks.remove(&uid);
        if self.marks.capacity() > 1_024 && self.marks.len() < self.marks.capacity() / 4 {
            self.marks.shrink_to(self.marks.len() * 2);
        }
    }

    fn sees_whole(&self, kind: KindId) -> bool {
        kind.of(&self.whole).copied().unwrap_or(false)
    }

    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState> {
        update.idle.then(|| unknown(update.event))
    }

    fn complete(&self, _state: &mut OwnerState) {}

    fn record(&mut self, state: &mut OwnerState) {
        if state.object.uid != Uid::default() && !state.object.metadata_only {
            self.mark(state.object.uid, state.object.status.observed_generation);
        }
    }

    fn relist_began(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn relist_ended(&mut self, whole: bool) {
        if whole {
            let epoch = self.epoch;
            self.marks.retain(|_, mark| mark.epoch == epoch);
        }
    }

    fn clear(&mut self) {
        self.marks = HashMap::new();
    }
}
