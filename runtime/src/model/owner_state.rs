//! What the runtime knows of one owner while it has work: the object itself, its children as they were seen, and what is
//! to be done.
//!
//! Guarantees: pure data; an older event never undoes a newer one.
//! Leaves to others: how long it is kept (`queue`), what the work is (`reconcile`).

use crate::model::{Body, Change, Content, Corrections, SeenChild, SeenChildren, Triggers, Uid};

/// From this size on an object is large, bytes: a reconcile holds up to seven times as much, and only as many
/// large owners are reconciled at once as the bounds of the queue allow.
pub(crate) const LARGE_BYTES: usize = 32 << 10;

/// `bytes` where an object of that size is large, else 0.
pub(crate) fn large_bytes(bytes: usize) -> u32 {
    match bytes > LARGE_BYTES {
        true => u32::try_from(bytes).unwrap_or(u32::MAX),
        false => 0,
    }
}

/// The finalizers of an owner, as far as the runtime needs them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finalizers {
    /// Index of ours in the list; `None` where it is missing.
    pub ours: Option<u8>,
    /// Index of the first one that the operator no longer uses.
    pub retired: Option<u8>,
    /// How many there are, ours and others'.
    pub count: u8,
    /// Whether the children must stay (`kubectl delete --cascade=orphan`).
    pub orphan: bool,
}

/// When a condition got its present status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Hash of the condition's type.
    pub type_hash: u32,
    /// First letter of its status.
    pub status: u8,
    /// Seconds since 1970 (until 2106, which is later than any status written today).
    pub since_s: u32,
}

/// Boxed twice: most owners have none, and those that are retained take eight bytes then.
pub type ForeignConditions = Box<Box<str>>;

/// What is remembered of the status last written: enough to tell whether a new one differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusRecord {
    /// Hash of the status without its transition times; 0 when there is none.
    pub digest: u64,
    /// The generation that it speaks of.
    pub observed_generation: Option<i64>,
    /// Whether it says ready.
    pub ready: bool,
    /// Transition times of its conditions.
    pub transitions: Box<[Transition]>,
    /// Conditions of other clients, a JSON array; `None` where there are none.
    pub foreign: Option<ForeignConditions>,
}

/// What is known of an owner. A worker takes it and gives it back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerState {
    /// The owner itself.
    pub object: OwnerObject,
    /// What is known of its children.
    pub children: SeenChildren,
    /// What is to be done for it.
    pub work: OwnerWork,
}

/// An owner as the server showed it last, or answered our last write of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerObject {
    /// Its identity; zero while it is not known. Where only its children were shown, as they name it.
    pub uid: Uid,
    /// Its newest known resourceVersion; 0 when it must be read first.
    pub resource_version: u64,
    /// resourceVersion of our own last write to it.
    pub own_version: u64,
    /// Generation of its spec.
    pub generation: i64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its finalizers.
    pub finalizers: Finalizers,
    /// When it was created, seconds since 1970; 0 while that is not known.
    pub created_s: u32,
    /// Digest of its labels and annotations.
    pub marks: u32,
    /// Its spec, labels and annotations, while they are kept.
    pub body: Option<Body>,
    /// Bytes of the object where it is known to be large, else 0; stays known where the spec is dropped.
    pub large_bytes: u32,
    /// Its status, while that is known.
    pub status: StatusRecord,
    /// Whether a write of its status had no clear answer since it was read: another status may be there.
    pub status_in_doubt: bool,
    /// Whether only its metadata were seen: its spec and status are not known.
    pub metadata_only: bool,
}

/// What is to be done for an owner, beside a look at its children, and how it went before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerWork {
    /// Why it is reconciled.
    pub triggers: Triggers,
    /// Failures in a row.
    pub attempts: u8,
    /// Its children that were set back to their plan lately, since the spec last changed.
    pub corrections: Option<Box<Corrections>>,
    /// Whether its status has yielded to the work of others and is to be written now.
    pub status_yielded: bool,
    /// How often in a row its status was set back because another client had written it.
    pub overwritten: u8,
    /// After how many seconds its plan wants to be computed again, as a relist has found it; 0 where it does not.
    pub requeue_after_s: u32,
}

/// Nothing is known of its children, and nothing is to be done.
impl From<OwnerObject> for OwnerState {
    fn from(object: OwnerObject) -> Self {
        Self {
            object,
            ..Self::default()
        }
    }
}

impl OwnerWork {
    /// This is to be done, too.
    pub fn request(&mut self, triggers: Triggers) {
        self.triggers = self.triggers.with(triggers);
    }
}

impl OwnerObject {
    /// Whether it is the owner with this uid, as far as is known.
    pub fn may_be(&self, uid: Uid) -> bool {
        self.uid == uid || self.uid == Uid::default()
    }

    /// The newest resourceVersion that is known; 0 where only its children were shown.
    pub fn newest_version(&self) -> u64 {
        self.own_version.max(self.resource_version)
    }

    /// Whether the finalizer is still to be added, where the operator has one.
    pub fn lacks_finalizer(&self, finalizer: bool) -> bool {
        finalizer && self.finalizers.ours.is_none()
    }

    /// What its own generation, finalizer and deletion ask for.
    pub fn own_triggers(&self, finalizer: bool) -> Triggers {
        if self.deleting {
            let ours = self.finalizers.ours.or(self.finalizers.retired);
            return ours.map_or(Triggers::default(), |_| Triggers::DELETE);
        }
        let retired = self.finalizers.retired;
        let retired = retired.map_or(Triggers::default(), |_| Triggers::RETIRED);
        if self.lacks_finalizer(finalizer)
            || self.status.observed_generation != Some(self.generation)
        {
            return retired.with(Triggers::SPEC);
        }
        retired
    }

    /// Takes over a newer state of the same owner.
    pub fn refresh(&mut self, newer: Self) {
        if !newer.metadata_only {
            let own_version = self.own_version;
            *self = Self {
                own_version,
                status_in_doubt: false,
                ..newer
            };
            return;
        }
        if self.generation != newer.generation || self.marks != newer.marks {
            self.body = None;
        }
        self.marks = newer.marks;
        self.uid = newer.uid;
        self.generation = newer.generation;
        self.resource_version = newer.resource_version;
        self.deleting = newer.deleting;
        self.finalizers = newer.finalizers;
    }

    /// Whether this shows another spec, other labels or annotations, or that it is being deleted.
    pub fn is_changed(&self, newer: &Self) -> bool {
        let shown = |object: &Self| (object.generation, object.deleting, object.marks);
        shown(self) != shown(newer)
    }

    /// Whether another client has written since and its status may be another now. Metadata do not tell.
    pub fn may_be_overwritten(&self, newer: &Self) -> bool {
        newer.resource_version > self.newest_version()
            && (newer.metadata_only || newer.status.digest != self.status.digest)
    }

    /// Whether somebody has changed labels or annotations since, which a plan may look at.
    pub fn is_marked_anew(&self, newer: &Self) -> bool {
        let known = self.newest_version();
        known > 0 && newer.resource_version > known && newer.marks != self.marks
    }

    /// What compares the status that this shows with the plan. Metadata do not show it: it is read before.
    pub fn comparison(&self) -> Triggers {
        match self.metadata_only {
            true => Triggers::CHECK.with(Triggers::REFRESH),
            false => Triggers::CHECK,
        }
    }
}

impl OwnerState {
    /// An owner of which no more is known than its identity, if that, and this to be done.
    pub fn unread(uid: Uid, triggers: Triggers) -> Self {
        let mut state = Self::default();
        state.object.uid = uid;
        state.work.triggers = triggers;
        state
    }

    /// Bytes of the body and of what is held of the children.
    pub fn spec_bytes(&self) -> usize {
        self.object.body.as_ref().map_or(0, Body::len) + self.children.bytes()
    }

    /// Drops the bodies that can be read again.
    pub fn drop_bodies(&mut self) {
        self.object.body = None;
        self.children.release();
    }

    /// A child may have changed without an event: each is read and compared.
    pub fn recheck(&mut self) {
        self.work.request(Triggers::CHILDREN);
        for child in &mut *self.children {
            child.content = Content::Unread;
        }
    }

    /// Whether something is to be done: a trigger says so, or a child is to be looked at.
    pub fn has_work(&self) -> bool {
        !self.work.triggers.is_empty() || self.children.are_pending()
    }

    /// Children of two owners of this name were shown, and no order of the watches tells which of the two is there
    /// now: it is read, with its children.
    pub fn doubt(&mut self) {
        self.forget_revisions();
        self.object.uid = Uid::default();
        self.work.corrections = None;
        self.work
            .request(Triggers::REFRESH.with(Triggers::CHILDREN));
    }

    /// resourceVersions start over because the server was restored: everything is to be read again. Where something
    /// is to be done, the status follows from children that are read, and not from none.
    pub fn forget_revisions(&mut self) {
        if self.has_work() {
            self.work.request(Triggers::CHILDREN);
        }
        self.object.own_version = 0;
        self.object.resource_version = 0;
        self.children = SeenChildren::default();
    }

    /// Takes over a newer state of the same owner; what is known of its children stays.
    pub fn refresh(&mut self, newer: OwnerObject) {
        if self.object.generation != newer.generation {
            self.work.corrections = None;
        }
        self.object.refresh(newer);
    }

    /// Takes over what an event or a page says of a child, whatever the state of the owner's entry is, with what has to
    /// be done beside a look at it. `hold`: what becomes of its content where it is to be looked at.
    pub fn observe(&mut self, seen: SeenChild, hold: &dyn Fn() -> Content) -> Change {
        let (change, triggers) = self.children.observe(seen, hold);
        self.work.request(triggers);
        // The owner may be gone too, and no child is made for one that is gone.
        if change == Change::Gone && !self.object.deleting && !mutant!(VanishedOwnerIgnored) {
            self.work.request(Triggers::REFRESH);
        }
        change
    }

    /// The same for all rows of the pages of a relist, each page as of its kind's of `revisions`. A child that is not
    /// newer than its page and not there is gone.
    pub fn observe_pages(&mut self, rows: &[SeenChild], revisions: &[u64]) {
        let is_gone = |known: &&SeenChild| {
            let page = revisions.get(known.kind.index()).copied();
            page.is_some_and(|page| known.resource_version <= page)
                && !rows.iter().any(|row| row.id() == known.id())
        };
        let gone = self.children.iter().filter(is_gone);
        let gone = gone.map(|known| SeenChild {
            // The page would show it as it is known.
            resource_version: known.resource_version + 1,
            content: Content::Gone,
            ..known.clone()
        });
        let rows = rows.iter().map(|row| SeenChild {
            // It was compared with the owner as it was, which has been written since.
            content: match row.state.generation {
                0 => Content::Unread,
                _ => Content::ByGeneration,
            },
            ..row.clone()
        });
        for seen in gone.chain(rows).collect::<Vec<_>>() {
            self.observe(seen, &|| Content::Unread);
        }
    }
}
