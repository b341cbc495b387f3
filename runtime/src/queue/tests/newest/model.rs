//! The server, its watches and its relists around the queue, as far as the children of a few owners go.
//!
//! Leaves to others: what happens (`newest`), what a worker does (`worker`).

use std::collections::VecDeque;

use crate::queue::tests::*;

pub(super) const OWNERS: usize = 5;

/// Watches: of the owners, and of each kind of child.
pub(super) const KINDS_OF_WATCHES: usize = KINDS + 1;

/// A child as the server has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Another one for each object of a name.
    pub(super) uid_hash: u32,
    pub(super) version: u64,
    /// Of its spec; 0 for a kind without.
    pub(super) generation: i64,
    /// What somebody wrote into its spec; 0 is as planned.
    pub(super) edit: u8,
    pub(super) ready: bool,
    pub(super) marks: u32,
}

/// An owner as the server has it, with its children: a workload, and one of a kind without a generation, which only
/// every other spec asks for.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) version: u64,
    pub(super) generation: i64,
    pub(super) observed: i64,
    /// What its status says of the workload.
    pub(super) ready: bool,
    pub(super) children: [Option<Object>; KINDS],
}

/// A worker that has an owner.
pub(super) struct Worker {
    pub(super) key: ObjectKey,
    pub(super) state: OwnerState,
    /// How its work ended, once it is done.
    pub(super) outcome: Option<Outcome>,
}

pub(super) struct Model {
    pub(super) queue: Queue,
    pub(super) owners: Vec<Owner>,
    /// What the watch of each kind has still to show: the owner, and its or its child's state.
    pub(super) logs: [VecDeque<(usize, Option<Object>, u64)>; KINDS + 1],
    pub(super) workers: Vec<Worker>,
    pub(super) version: u64,
    pub(super) now_ms: u64,
    /// A relist was requested.
    pub(super) requested: bool,
}

/// Whether the spec of this generation asks for the child.
pub(super) fn is_planned(child: usize, generation: i64) -> bool {
    child == 0 || generation % 2 == 1
}

pub(super) fn kind(child: usize) -> KindId {
    KindId::child(child).expect("a kind of child")
}

pub(super) fn key(owner: usize) -> ObjectKey {
    ObjectKey::new("a", &owner.to_string())
}

impl Model {
    /// All owners are idle and as planned.
    pub(super) fn new() -> Self {
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

    pub(super) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Changes a child on the server; `None` deletes it.
    pub(super) fn set_child(&mut self, owner: usize, child: usize, object: Option<Object>) {
        let version = self.next_version();
        let object = object.map(|object| Object { version, ..object });
        self.owners[owner].children[child] = object;
        self.logs[child + 1].push_back((owner, object, version));
    }

    pub(super) fn change_child(
        &mut self,
        owner: usize,
        child: usize,
        change: impl FnOnce(&mut Object),
    ) {
        if let Some(mut object) = self.owners[owner].children[child] {
            change(&mut object);
            self.set_child(owner, child, Some(object));
        }
    }

    /// A new child, as planned but for `edit`.
    pub(super) fn make(&mut self, owner: usize, child: usize, edit: u8) {
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

    pub(super) fn write_owner(&mut self, owner: usize, change: impl FnOnce(&mut Owner)) -> u64 {
        let version = self.next_version();
        self.owners[owner].version = version;
        change(&mut self.owners[owner]);
        self.logs[0].push_back((owner, None, version));
        version
    }

    pub(super) fn owner_state(&self, owner: usize) -> OwnerState {
        let shown = &self.owners[owner];
        let mut state = owner_at(shown.generation, shown.version);
        state.object.status.observed_generation = Some(shown.observed);
        state.object.status.ready = shown.ready;
        state.object.status.digest = 1 + u64::from(shown.ready) + 2 * shown.observed.unsigned_abs();
        state
    }

    pub(super) fn seen(&self, child: usize, object: &Object, content: Content) -> SeenChild {
        SeenChild {
            kind: kind(child),
            place_hash: 1,
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

    pub(super) fn observe(&mut self, owner: usize, observation: Observation<'_>) {
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
    pub(super) fn show(&mut self, kind_index: usize) -> bool {
        let Some((owner, object, version)) = self.logs[kind_index].pop_front() else {
            return false;
        };
        if kind_index == 0 {
            self.queue.versions().advance(KindId::OWNER, 0, version);
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
        self.queue.versions().advance(kind(child), 0, version);
        let content = match (&object, child) {
            (None, _) => Content::Gone,
            (_, 0) => Content::ByGeneration,
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
        let idle = OwnerState::unread(uid(1), Triggers::REFRESH.with(Triggers::CHILD));
        let idle = self.queue.is_idle(&key(owner)).then_some(idle);
        let json = format!("{} {} {}", shown.version, shown.edit, u8::from(shown.ready));
        let hold = || Content::Held(json.as_str().into());
        let hold = &hold;
        self.observe(owner, Observation::Child { event, idle, hold });
        true
    }

    /// A relist: the watch of a kind of child that has lost its place opens there, and what differs is found.
    pub(super) fn relist(&mut self, lost: Option<usize>) {
        self.requested = false;
        if let Some(child) = lost {
            self.logs[child + 1].clear();
            self.queue.versions().advance(kind(child), 0, self.version);
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
                shown.object.body = None;
                let beyond = Triggers::CHECK.with(Triggers::REFRESH);
                self.observe(owner, Observation::Page { shown, beyond });
            }
        }
    }

    /// Whether a child is not as the newest spec asks for it.
    pub(super) fn differs(&self, owner: usize, child: usize) -> bool {
        let owner = &self.owners[owner];
        match owner.children[child] {
            Some(object) => !is_planned(child, owner.generation) || object.edit != 0,
            None => is_planned(child, owner.generation),
        }
    }

    pub(super) fn past_page(&mut self, owner: usize) {
        let mut shown = self.owner_state(owner);
        shown.object.resource_version -= 1;
        let rows = self.owners[owner].children.iter().enumerate();
        shown.children = rows
            .filter_map(|(child, object)| {
                let object = object.as_ref()?;
                Some(self.seen(child, object, Content::Recorded(None)))
            })
            .collect();
        shown.children.complete = true;
        let revisions = &[self.version; KINDS + 1][..];
        self.observe(owner, Observation::PastPage { shown, revisions });
    }

    /// Everything is shown, taken, and written.
    pub(super) fn drain(&mut self) -> Result<(), String> {
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

    pub(super) fn judge(&self) -> Result<(), String> {
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
