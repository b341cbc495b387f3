//! The newest that the queue was told of a child is what a worker has used, or work is pending: a model of server,
//! watches and workers around the queue, and random sequences of what may happen.
//!
//! A sequence ends with a drain: all events are shown, all that is due is taken and written, relists that were requested
//! run. The periodic relist does not exist. Then every child is as planned and every status says what its child says.
//! `QUEUE_SEQUENCES=100000` tries as many; `just simulate` does.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::queue::tests::*;

const OWNERS: usize = 5;

/// A child as the server has it.
#[derive(Debug, Clone, Copy)]
struct Object {
    /// Another one for each object of a name.
    uid_hash: u32,
    version: u64,
    /// Of its spec; 0 for a kind without.
    generation: i64,
    /// What somebody wrote into its spec; 0 is as planned.
    edit: u8,
    ready: bool,
    marks: u32,
}

/// An owner as the server has it, with its children: a workload, and one of a kind without a generation, which only
/// every other spec asks for.
#[derive(Debug, Clone)]
struct Owner {
    version: u64,
    generation: i64,
    observed: i64,
    /// What its status says of the workload.
    ready: bool,
    children: [Option<Object>; KINDS],
}

#[derive(Debug, Clone)]
enum Step {
    /// Somebody changes a child.
    Flap(usize),
    Edit(usize, usize, u8),
    Label(usize, usize),
    Delete(usize, usize),
    Make(usize, usize),
    /// A user changes a spec.
    Spec(usize),
    /// The watch of a kind shows so many events.
    Show(usize, usize),
    /// A worker takes an owner and works on it, at once or just before it returns.
    Take(bool),
    Return(usize, u8),
    Wake(u64),
    /// The watch of a kind of child loses what it has not shown, and a relist opens it again.
    Lose(usize),
    /// A relist shows an owner as it was before its last write.
    Past(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let owner = || 0..OWNERS;
    let child = || 0..KINDS;
    prop_oneof![
        4 => owner().prop_map(Step::Flap),
        2 => (owner(), child(), 0..3u8).prop_map(|(owner, child, edit)| Step::Edit(owner, child, edit)),
        1 => (owner(), child()).prop_map(|(owner, child)| Step::Label(owner, child)),
        1 => (owner(), child()).prop_map(|(owner, child)| Step::Delete(owner, child)),
        1 => (owner(), child()).prop_map(|(owner, child)| Step::Make(owner, child)),
        1 => owner().prop_map(Step::Spec),
        6 => (0..=KINDS, 1..4usize).prop_map(|(kind, events)| Step::Show(kind, events)),
        3 => any::<bool>().prop_map(Step::Take),
        3 => (0..4usize, 0..8u8).prop_map(|(which, outcome)| Step::Return(which, outcome)),
        3 => (0..2_000u64).prop_map(Step::Wake),
        1 => child().prop_map(Step::Lose),
        1 => owner().prop_map(Step::Past),
    ]
}

/// A worker that has an owner.
struct Worker {
    key: ObjectKey,
    state: OwnerState,
    /// How its work ended, once it is done.
    outcome: Option<Outcome>,
}

struct Model {
    queue: Queue,
    owners: Vec<Owner>,
    /// What the watch of each kind has still to show: the owner, and its or its child's state.
    logs: [std::collections::VecDeque<(usize, Option<Object>, u64)>; KINDS + 1],
    workers: Vec<Worker>,
    version: u64,
    now_ms: u64,
    /// A relist was requested.
    requested: bool,
}

/// Whether the spec of this generation asks for the child.
fn is_planned(child: usize, generation: i64) -> bool {
    child == 0 || generation % 2 == 1
}

fn kind(child: usize) -> KindId {
    KindId::child(child).expect("a kind of child")
}

fn key(owner: usize) -> ObjectKey {
    ObjectKey::new("a", &owner.to_string())
}

impl Model {
    /// All owners are idle and as planned.
    fn new() -> Self {
        let limits = Limits {
            entries: 6,
            spec_bytes: 400,
            waiting_spec_bytes: 200,
            ..Limits::default()
        };
        let object = |generation| Object {
            uid_hash: 1,
            version: 1,
            generation,
            edit: 0,
            ready: true,
            marks: 1,
        };
        let owner = Owner {
            version: 1,
            generation: 1,
            observed: 1,
            ready: true,
            children: [Some(object(1)), Some(object(0))],
        };
        Self {
            queue: queue(limits),
            owners: vec![owner; OWNERS],
            logs: Default::default(),
            workers: Vec::new(),
            version: 1,
            now_ms: 0,
            requested: false,
        }
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Changes a child on the server; `None` deletes it.
    fn set_child(&mut self, owner: usize, child: usize, object: Option<Object>) {
        let version = self.next_version();
        let object = object.map(|object| Object { version, ..object });
        self.owners[owner].children[child] = object;
        self.logs[child + 1].push_back((owner, object, version));
    }

    fn change_child(&mut self, owner: usize, child: usize, change: impl FnOnce(&mut Object)) {
        if let Some(mut object) = self.owners[owner].children[child] {
            change(&mut object);
            self.set_child(owner, child, Some(object));
        }
    }

    /// A new child, as planned but for `edit`.
    fn make(&mut self, owner: usize, child: usize, edit: u8) {
        if self.owners[owner].children[child].is_none() {
            let object = Object {
                uid_hash: 2 + self.version as u32,
                version: 0,
                generation: i64::from(child == 0),
                edit,
                ready: false,
                marks: 1,
            };
            self.set_child(owner, child, Some(object));
        }
    }

    fn write_owner(&mut self, owner: usize, change: impl FnOnce(&mut Owner)) -> u64 {
        let version = self.next_version();
        self.owners[owner].version = version;
        change(&mut self.owners[owner]);
        self.logs[0].push_back((owner, None, version));
        version
    }

    fn owner_state(&self, owner: usize) -> OwnerState {
        let shown = &self.owners[owner];
        let mut state = owner_at(shown.generation, shown.version);
        state.status.observed_generation = Some(shown.observed);
        state.status.ready = shown.ready;
        state.status.digest = 1 + u64::from(shown.ready) + 2 * shown.observed.unsigned_abs();
        state
    }

    fn seen(&self, child: usize, object: &Object, content: Content) -> SeenChild {
        SeenChild {
            kind: kind(child),
            name_hash: 1,
            uid_hash: object.uid_hash,
            resource_version: object.version,
            state: ChildState {
                generation: object.generation,
                ready_replicas: i32::from(object.ready),
                ..ChildState::default()
            },
            marks: if child == 0 { object.marks } else { 0 },
            content,
        }
    }

    fn observe(&mut self, owner: usize, observation: Observation<'_>) {
        let admission = self.queue.observe(&key(owner), observation, self.now_ms);
        self.requested |= admission == Admission::Rejected;
        let Evicted {
            work,
            waiting: _,
            failing_owners,
            failing_children,
        } = self.queue.take_evicted();
        self.requested |= work || failing_owners || failing_children;
    }

    /// The watch of a kind shows its next event.
    fn show(&mut self, kind_index: usize) -> bool {
        let Some((owner, object, version)) = self.logs[kind_index].pop_front() else {
            return false;
        };
        if kind_index == 0 {
            self.queue.advance(KindId::OWNER, version);
            // As the owner was then; later writes of it are still to be shown.
            let is_newest = !self.logs[0].iter().any(|(other, ..)| *other == owner);
            if is_newest {
                let shown = self.owner_state(owner);
                let is_known = false;
                self.observe(owner, Observation::Owner { shown, is_known });
            }
            return true;
        }
        let child = kind_index - 1;
        self.queue.advance(kind(child), version);
        let content = match (&object, child) {
            (None, _) => Content::Gone,
            (_, 0) => Content::Shown,
            _ => Content::Unread,
        };
        let shown = object.unwrap_or(Object {
            uid_hash: 0,
            version,
            generation: i64::from(child == 0),
            edit: 0,
            ready: false,
            marks: 1,
        });
        let event = ChildEvent {
            owner_uid: Some(uid(1)),
            child: self.seen(child, &shown, content),
        };
        let idle = OwnerState {
            uid: uid(1),
            triggers: Triggers::REFRESH.with(Triggers::CHILD),
            ..OwnerState::default()
        };
        let idle = self.queue.is_idle(&key(owner)).then_some(idle);
        let json = format!("{} {} {}", shown.version, shown.edit, u8::from(shown.ready));
        let hold = || Content::Held(json.as_str().into());
        let hold = &hold;
        self.observe(owner, Observation::Child { event, idle, hold });
        true
    }

    /// What a worker does, as `reconcile` does it: reads the owner where it has to, looks at the children that are
    /// pending, or at all, and writes what differs.
    fn work(&mut self, state: &mut OwnerState, owner: usize) -> Outcome {
        let must_read = state.triggers.has(Triggers::REFRESH)
            || state.resource_version == 0
            || state.spec.is_none();
        if must_read {
            let read = self.owner_state(owner);
            state.refresh(read);
            state.triggers = state.triggers.with(state.own_triggers(true));
        }
        let pending = state.has_pending_children();
        let wanted = state.triggers.has(Triggers::SPEC.with(Triggers::CHECK));
        let all = wanted || (pending && !state.status.ready);
        for child in 0..KINDS {
            let known = state
                .child(Some(kind(child)), 1)
                .map(|seen| seen.content.clone());
            let is_pending = known.as_ref().is_some_and(Content::is_pending);
            // The status of a ready owner follows from its workload, which is read where it is not known.
            let unknown = known.is_none() && pending && child == 0;
            if !all && !is_pending && !unknown {
                continue;
            }
            let on_server = self.owners[owner].children[child];
            if !is_planned(child, state.generation) {
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
                        state.triggers = state.triggers.with(anew);
                        state.release_children();
                        return Outcome::Again;
                    }
                    let (uid_hash, generation, marks) =
                        state.child(Some(kind(child)), 1).map_or((0, 0, 0), |seen| {
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
                state.record_child(self.seen(child, &object, Content::Recorded(None)));
            }
        }
        state.settle_children();
        state.children_complete |= all;
        let workload = state.child(Some(kind(0)), 1);
        let ready = workload.map_or(self.owners[owner].ready, |seen| {
            seen.state.ready_replicas > 0
        });
        let is_current = self.owners[owner].version == state.resource_version;
        if ready != state.status.ready || state.status.observed_generation != Some(state.generation)
        {
            if !is_current {
                let anew = Triggers::REFRESH.with(Triggers::CHILDREN);
                state.triggers = state.triggers.with(anew);
                return Outcome::Again;
            }
            let generation = state.generation;
            let version = self.write_owner(owner, |owner| {
                (owner.observed, owner.ready) = (generation, ready);
            });
            let written = self.owner_state(owner);
            state.refresh(written);
            (state.own_version, state.resource_version) = (version, version);
        }
        Outcome::Written {
            ready,
            requeue_after: None,
        }
    }

    fn take(&mut self, at_once: bool) -> bool {
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

    fn do_work(&mut self, worker: usize) {
        if self.workers[worker].outcome.is_none() {
            let mut state = std::mem::take(&mut self.workers[worker].state);
            let owner = self.workers[worker].key.name().parse().unwrap_or(0);
            let outcome = self.work(&mut state, owner);
            self.workers[worker].state = state;
            self.workers[worker].outcome = Some(outcome);
        }
    }

    /// A worker returns its owner. `how`: what else than its work may become of it.
    fn give_back(&mut self, worker: usize, how: u8) {
        let fails = self.workers[worker].outcome.is_none();
        let outcome = match how {
            0 if fails => Outcome::Failed { base_ms: None },
            1 if fails => Outcome::Waits { base_ms: 100 },
            _ => {
                self.do_work(worker);
                let done = self.workers[worker].outcome;
                let yields = !self.workers[worker].state.status_yielded;
                match (how, done) {
                    // Its children are looked at, and the status that was written yields as well as one that was not.
                    (2, Some(Outcome::Written { ready: false, .. })) if yields => {
                        self.workers[worker].state.status_yielded = true;
                        Outcome::Yielded
                    }
                    (_, Some(done)) => done,
                    (_, None) => Outcome::Again,
                }
            }
        };
        let Worker { key, mut state, .. } = self.workers.swap_remove(worker);
        if outcome != Outcome::Yielded {
            state.status_yielded = false;
        }
        let admission = self.queue.finish(&key, state, outcome, self.now_ms);
        self.requested |= admission == Admission::Rejected;
    }

    /// A relist: the watch of a kind of child that has lost its place opens there, and what differs is found.
    fn relist(&mut self, lost: Option<usize>) {
        self.requested = false;
        if let Some(child) = lost {
            self.logs[child + 1].clear();
            self.queue.advance(kind(child), self.version);
            self.queue.relisted(self.version);
        }
        for owner in 0..OWNERS {
            let server = &self.owners[owner];
            let ready = server.children[0].is_some_and(|object| object.ready);
            let differs = (0..KINDS).any(|child| self.differs(owner, child))
                || server.ready != ready
                || server.observed != server.generation;
            if differs {
                let mut shown = self.owner_state(owner);
                shown.spec = None;
                let beyond = Triggers::CHECK.with(Triggers::REFRESH);
                self.observe(owner, Observation::Page { shown, beyond });
            }
        }
    }

    /// Whether a child is not as the newest spec asks for it.
    fn differs(&self, owner: usize, child: usize) -> bool {
        let owner = &self.owners[owner];
        match owner.children[child] {
            Some(object) => !is_planned(child, owner.generation) || object.edit != 0,
            None => is_planned(child, owner.generation),
        }
    }

    fn past_page(&mut self, owner: usize) {
        let mut shown = self.owner_state(owner);
        shown.resource_version -= 1;
        let rows = self.owners[owner].children.iter().enumerate();
        shown.children = rows
            .filter_map(|(child, object)| {
                let object = object.as_ref()?;
                Some(self.seen(child, object, Content::Recorded(None)))
            })
            .collect();
        shown.children_complete = true;
        let revisions = &[self.version; KINDS + 1][..];
        self.observe(owner, Observation::PastPage { shown, revisions });
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Flap(owner) => self.change_child(owner, 0, |object| object.ready = !object.ready),
            Step::Edit(owner, child, edit) => self.change_child(owner, child, |object| {
                object.edit = edit;
                object.generation += i64::from(child == 0);
            }),
            Step::Label(owner, child) => {
                self.change_child(owner, child, |object| object.marks += 1)
            }
            Step::Delete(owner, child) => {
                if self.owners[owner].children[child].is_some() {
                    self.set_child(owner, child, None);
                }
            }
            Step::Make(owner, child) => self.make(owner, child, 1),
            Step::Spec(owner) => {
                self.write_owner(owner, |owner| owner.generation += 1);
            }
            Step::Show(kind, events) => {
                for _ in 0..events {
                    self.show(kind);
                }
            }
            Step::Take(at_once) => {
                self.take(at_once);
            }
            Step::Return(which, how) => {
                if !self.workers.is_empty() {
                    self.give_back(which % self.workers.len(), how);
                }
            }
            Step::Wake(after_ms) => {
                self.now_ms += after_ms;
                self.queue.wake(self.now_ms);
            }
            Step::Lose(child) => self.relist(Some(child)),
            Step::Past(owner) => self.past_page(owner),
        }
        self.queue.entries.assert_consistent();
    }

    /// Everything is shown, taken, and written.
    fn drain(&mut self) -> Result<(), String> {
        for _ in 0..200 {
            for kind in 0..=KINDS {
                while self.show(kind) {}
            }
            while !self.workers.is_empty() {
                self.give_back(0, 9);
            }
            if self.requested {
                self.relist(None);
            }
            self.now_ms += 5_000;
            self.queue.wake(self.now_ms);
            // A workload that somebody makes becomes ready, or its owner waits for it.
            if !self.take(true)
                && self.queue.depth() == 0
                && self.logs.iter().all(|log| log.is_empty())
                && !self.requested
                && self.queue.entries.with_work().is_empty()
            {
                return self.judge();
            }
        }
        Err("the work does not end".to_owned())
    }

    fn judge(&self) -> Result<(), String> {
        for (n, owner) in self.owners.iter().enumerate() {
            if let Some(child) = (0..KINDS).find(|child| self.differs(n, *child)) {
                return Err(format!("child {child} of owner {n} is not as planned"));
            }
            if owner.observed != owner.generation {
                return Err(format!("the spec of owner {n} is not observed"));
            }
            let ready = owner.children[0].is_some_and(|object| object.ready);
            if owner.ready != ready {
                return Err(format!(
                    "the status of owner {n} says {}, its child {ready}",
                    owner.ready
                ));
            }
        }
        Ok(())
    }
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new();
    for step in steps {
        model.step(step);
    }
    model.drain().map_err(TestCaseError::fail)
}

fn try_sequences(cases: u32) -> Result<(), String> {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let sequence = proptest::collection::vec(step(), 1..80);
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let tried = runner.run(&sequence, |steps| run(&steps));
    tried.map_err(|error| error.to_string())
}

#[test]
fn the_newest_of_each_child_is_used_or_work_is_pending() {
    let cases = std::env::var("QUEUE_SEQUENCES").ok();
    let cases = cases.and_then(|cases| cases.parse().ok()).unwrap_or(5_000);
    if let Err(failed) = try_sequences(cases) {
        panic!("{failed}");
    }
}

/// The model finds each fault of what the queue does with a child.
#[cfg(feature = "mutants")]
#[test]
fn known_bugs_are_found() {
    use crate::mutants::{Mutant, choose};
    for mutant in [
        Mutant::ChildQueuedDropped,
        Mutant::ChildDelayedDropped,
        Mutant::ChildAwaitingDropped,
        Mutant::ChildInFlightDropped,
        Mutant::OlderContentKept,
        Mutant::GoneOutlivesRecreation,
        Mutant::RelistedInFlightIgnored,
        Mutant::ReadinessIgnored,
    ] {
        choose(Some(mutant));
        let found = try_sequences(5_000);
        choose(None);
        assert!(found.is_err(), "{mutant:?} is not found");
    }
}
