//! The part of the loop that relists: when one begins, and what becomes of what it finds.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::api::Operator;
use crate::cache::Cache;
use crate::controller::engine::Controller;
use crate::controller::readiness::cause;
use crate::controller::running::RunningRelist;
use crate::controller::written::PageAge;
use crate::model::{KindId, ObjectKey, OwnerState, Triggers};
use crate::queue::Observation;
use crate::reconcile::compare::Comparer;
use crate::reconcile::observe::Observer;
use crate::relist::{Coverage, Found, ListError, Relist};
use crate::watch::WatchStream;

impl<O: Operator, C: Cache> Controller<O, C> {
    /// Whether the running relist may read on: first pages never wait, all else waits for capacity.
    pub fn relist_may_go_on(&self) -> bool {
        self.relist
            .as_ref()
            .is_some_and(|running| running.opening > 0 || self.queue.has_capacity())
    }

    /// Begins a relist if one is due.
    pub fn begin_relist(&mut self) {
        self.request_for_evicted();
        let (coverage, at_ms) = self.schedule.next();
        let now_ms = self.now_ms();
        let replaces = self.relist.as_ref().is_none_or(|running| {
            // A watch that waits for its resourceVersion does not wait for a relist of owners to end.
            running.coverage == Coverage::Owners && coverage == Coverage::All
        });
        let waits = coverage == Coverage::Owners && !self.queue.has_capacity();
        if at_ms > now_ms || !replaces || waits {
            return;
        }
        self.schedule.began(coverage, now_ms);
        self.cache.relist_began();
        let operator = Arc::clone(&self.operator);
        let comparer = Comparer::new(
            operator,
            self.api.clone(),
            Arc::clone(&self.names),
            self.cache.retention(),
        );
        let paths = Arc::clone(&self.paths);
        let relist = Relist::new(comparer, self.api.clone(), paths, coverage);
        let kinds = coverage.kinds(&self.paths);
        let known = self.queue.versions().newest();
        self.relist = Some(RunningRelist::new(relist, coverage, kinds, known));
    }

    pub fn on_found(&mut self, found: Found) {
        match found {
            Found::Opened {
                kind,
                resource_version,
            } => self.on_first_page(kind, resource_version),
            Found::Missing { kind } => self.on_missing_list(kind),
            Found::Owner {
                key,
                state,
                triggers,
            } => {
                if let Some(kind) = self.is_ahead_of(&key, &state) {
                    self.forget_revisions(kind);
                    return self.request_all();
                }
                self.departed.remove(&key);
                if state.work.requeue_after_s > 0 {
                    let after = Duration::from_secs(state.work.requeue_after_s.into());
                    let now_ms = self.now_ms();
                    let fits = self
                        .requeues
                        .on_found(&key, state.object.uid, after, now_ms);
                    self.on_requeue(fits);
                }
                self.on_found_owner(&key, *state, triggers);
            }
            Found::Done { owners, skipped } => self.on_relisted(owners, skipped),
            Found::Failed(ListError { kind, error }) => {
                let Some(RunningRelist { coverage, .. }) = self.relist.take() else {
                    return;
                };
                self.cache.relist_ended(false);
                self.schedule.failed(coverage, self.now_ms());
                // After the first relist only a missing permission is reported: what was missed would
                // never be found.
                if !self.readiness.relisted || error.missing_permission().is_some() {
                    let because = cause::<O>(&self.paths, "list", kind, &error);
                    self.readiness.unlisted(kind, because);
                    self.publish_readiness();
                }
            }
        }
    }

    /// An owner as the running relist shows it, with what its children ask for.
    fn on_found_owner(&mut self, key: &ObjectKey, mut state: OwnerState, triggers: Triggers) {
        let now_ms = self.now_ms();
        let Some(running) = &mut self.relist else {
            return;
        };
        // A relist of owners would not find again what this one found by the children.
        let coverage = running.coverage;
        let shown = running
            .written
            .shows(key, state.object.uid, state.object.resource_version);
        let revisions = &*running.revisions;
        if !self.cache.on_owner(&mut state, Some(revisions)) {
            return;
        }
        let by_children = !triggers.only(Triggers::CHILDREN).is_empty();
        let is_idle =
            triggers.is_empty() && state.object.own_triggers(O::FINALIZER.is_some()).is_empty();
        let is_past = match shown {
            PageAge::Newest => false,
            PageAge::Past => !by_children,
            PageAge::Unknown => is_idle,
        };
        let (shown, beyond) = (state, triggers);
        let page = match (is_past, coverage) {
            (false, _) => Observation::Page { shown, beyond },
            // What the owner itself asks for was done, and watches show its children.
            (true, Coverage::Owners) => return,
            (true, Coverage::All) => Observation::PastPage { shown, revisions },
        };
        let admission = self.queue.observe(key, page, now_ms);
        self.on_admission(admission, coverage);
    }

    /// The kind of which more is known than the running relist shows, which was read since. After a restore the server
    /// may be as far as it was before anybody asks it where it is.
    fn is_ahead_of(&self, key: &ObjectKey, shown: &OwnerState) -> Option<KindId> {
        let revisions = &*self.relist.as_ref()?.revisions;
        let owners_version = revisions.first().copied().unwrap_or_default();
        if mutant!(BackwardsIgnored) {
            return None;
        }
        match self.queue.is_ahead_of(key, shown, owners_version) {
            true => Some(KindId::OWNER),
            false => self.cache.is_ahead_of(shown, revisions),
        }
    }

    /// Opens the watches of `kind` where its first page was read.
    fn on_first_page(&mut self, kind: KindId, resource_version: u64) {
        let mut owners_version = resource_version;
        let is_backwards = |running: &RunningRelist| running.is_backwards(kind, resource_version);
        if self.relist.as_ref().is_some_and(is_backwards) {
            self.forget_revisions(kind);
            return self.request_all();
        }
        if let Some(running) = &mut self.relist {
            running.opening -= 1;
            running.revisions.push(resource_version);
            owners_version = running.revisions[0];
        }
        if self.readiness.is_missing(kind) {
            self.watches.close(kind);
            self.on_appeared(kind);
        }
        if self.watches.is_open(kind) {
            return;
        }
        // What is read of the other parts is of that resourceVersion or newer: none is watched from later on.
        for (part, collection) in self.paths.parts(kind).iter().enumerate() {
            let observer = Observer::<O>::new(Arc::clone(&self.paths), Arc::clone(&self.names));
            let (api, collection) = (self.api.clone(), Arc::clone(collection));
            let stream = WatchStream::new(api, collection, observer, kind, resource_version)
                .of_part(part)
                .with_versions(self.queue.versions().clone());
            self.watches.open(kind, stream);
        }
        match kind.is_owner() {
            true => self.queue.owners_relisted(),
            false => self.queue.relisted(owners_version),
        }
    }

    fn on_relisted(&mut self, owners: usize, skipped: bool) {
        let Some(RunningRelist { coverage, .. }) = self.relist.take() else {
            return;
        };
        let now_ms = self.now_ms();
        self.cache.relist_ended(true);
        if coverage == Coverage::All && !skipped {
            self.names.relisted();
        }
        self.api.metrics().relists_completed.fetch_add(1, Relaxed);
        // About right, and it does not depend on how the children were listed.
        let objects = owners * coverage.kinds(&self.paths);
        self.schedule.listed(coverage, objects);
        match owners == 0 {
            // The server looks at every owner to find none that is selected.
            true if self.selects => self.request_late(Coverage::Owners),
            true => self.schedule.await_first(now_ms),
            false => {}
        }
        // An owner that was skipped was not compared with its children either, where those were listed.
        if skipped && !mutant!(SkippedForgotten) {
            self.request_late(coverage);
        }
        self.schedule
            .ended(coverage, self.queue.is_full_of_failures(), now_ms);
        self.trim_timer.worked(now_ms);
        self.readiness.listed(coverage == Coverage::All);
        self.publish_readiness();
    }
}
