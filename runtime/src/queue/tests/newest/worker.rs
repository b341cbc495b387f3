//! What a worker does with an owner, as `reconcile` does it.
//!
//! Leaves to others: server and watches (`model`).

use crate::queue::tests::newest::model::{Model, Object, Worker, is_planned, kind};
use crate::queue::tests::*;

impl Model {
    /// What a worker does, as `reconcile` does it: reads the owner where it has to, looks at the children that are
    /// pending, or at all, and writes what differs.
    pub(super) fn work(&mut self, state: &mut OwnerState, owner: usize) -> Outcome {
        let must_read = state.work.triggers.has(Triggers::REFRESH)
            || state.object.resource_version == 0
            || state.object.body.is_none();
        if must_read {
            let read = self.owner_state(owner);
            state.refresh(read.object);
            state.work.request(state.object.own_triggers(true));
        }
        let pending = state.children.are_pending();
        let wanted = state
            .work
            .triggers
            .has(Triggers::SPEC.with(Triggers::CHECK));
        let all = wanted || (pending && !state.object.status.ready);
        for child in 0..KINDS {
            let known = state
                .children
                .get_mut((kind(child), 1))
                .map(|seen| seen.content.clone());
            let is_pending = known.as_ref().is_some_and(Content::is_pending);
            // The status of a ready owner follows from its workload, which is read where it is not known.
            let unknown = known.is_none() && pending && child == 0;
            if !all && !is_pending && !unknown {
                continue;
            }
            let on_server = self.owners[owner].children[child];
            if !is_planned(child, state.object.generation) {
                if known != Some(Content::Gone) && on_server.is_some() {
                    self.set_child(owner, child, None);
                }
                state.children.retain(|seen| seen.kind != kind(child));
                continue;
            }
            let found = match known {
                Some(Content::Held(json)) => {
                    let mut parts = json.split(' ').map(|part| part.parse::<u64>().unwrap_or(0));
                    let mut part = || parts.next().unwrap_or(0);
                    let (version, edit, ready) = (part(), part(), part());
                    let is_newest = on_server.is_some_and(|object| object.version == version);
                    if edit != 0 && !is_newest {
                        // The patch meets a newer object.
                        let anew = Triggers::REFRESH.with(Triggers::CHILDREN);
                        state.work.request(anew);
                        state.children.release();
                        return Outcome::Again;
                    }
                    let (uid_hash, generation, marks) = state
                        .children
                        .get_mut((kind(child), 1))
                        .map_or((0, 0, 0), |seen| {
                            (seen.uid_hash, seen.state.generation, seen.marks)
                        });
                    Some(Object {
                        uid_hash,
                        version,
                        generation,
                        edit: edit as u8,
                        ready: ready == 1,
                        marks,
                    })
                }
                _ => on_server,
            };
            match found {
                None => self.make(owner, child, 0),
                Some(object) if object.edit != 0 => self.change_child(owner, child, |object| {
                    object.edit = 0;
                    object.generation += i64::from(object.generation > 0);
                }),
                Some(_) => {}
            }
            let written = self.owners[owner].children[child];
            let recorded = match found {
                Some(object) if object.edit == 0 => Some(object),
                _ => written,
            };
            if let Some(object) = recorded {
                state
                    .children
                    .record(self.seen(child, &object, Content::Recorded(None)));
            }
        }
        state.children.settle();
        state.children.complete |= all;
        let workload = state.children.get_mut((kind(0), 1));
        let ready = workload.map_or(self.owners[owner].ready, |seen| {
            seen.state.ready_replicas > 0
        });
        let is_current = self.owners[owner].version == state.object.resource_version;
        if ready != state.object.status.ready
            || state.object.status.observed_generation != Some(state.object.generation)
        {
            if !is_current {
                let anew = Triggers::REFRESH.with(Triggers::CHILDREN);
                state.work.request(anew);
                return Outcome::Again;
            }
            let generation = state.object.generation;
            let version = self.write_owner(owner, |owner| {
                (owner.observed, owner.ready) = (generation, ready);
            });
            let written = self.owner_state(owner);
            state.refresh(written.object);
            (state.object.own_version, state.object.resource_version) = (version, version);
        }
        Outcome::Written {
            ready,
            requeue_after: None,
        }
    }

    pub(super) fn take(&mut self, at_once: bool) -> bool {
        let Some((key, state)) = self.queue.take() else {
            return false;
        };
        self.workers.push(Worker {
            key,
            state,
            outcome: None,
        });
        if at_once {
            let worker = self.workers.len() - 1;
            self.do_work(worker);
        }
        true
    }

    pub(super) fn do_work(&mut self, worker: usize) {
        if self.workers[worker].outcome.is_none() {
            let mut state = std::mem::take(&mut self.workers[worker].state);
            let owner = self.workers[worker].key.name().parse().unwrap_or(0);
            let outcome = self.work(&mut state, owner);
            self.workers[worker].state = state;
            self.workers[worker].outcome = Some(outcome);
        }
    }

    /// A worker returns its owner. `how`: what else than its work may become of it.
    pub(super) fn give_back(&mut self, worker: usize, how: u8) {
        let fails = self.workers[worker].outcome.is_none();
        let outcome = match how {
            0 if fails => Outcome::Failed { base_ms: None },
            1 if fails => Outcome::Waits { base_ms: 100 },
            _ => {
                self.do_work(worker);
                let done = self.workers[worker].outcome;
                let yields = !self.workers[worker].state.work.status_yielded;
                match (how, done) {
                    // Its children are looked at, and the status that was written yields as well as one that was not.
                    (2, Some(Outcome::Written { ready: false, .. })) if yields => {
                        self.workers[worker].state.work.status_yielded = true;
                        Outcome::Yielded
                    }
                    (_, Some(done)) => done,
                    (_, None) => Outcome::Again,
                }
            }
        };
        let Worker { key, mut state, .. } = self.workers.swap_remove(worker);
        if outcome != Outcome::Yielded {
            state.work.status_yielded = false;
        }
        let admission = self.queue.finish(&key, state, outcome, self.now_ms);
        self.requested |= admission == Admission::Rejected;
    }
}
