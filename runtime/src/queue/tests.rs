//! The rules of the queue, as scenarios.

mod bounds;
mod findings;
mod large;
mod newest;
mod overwritten;
mod past;
mod requeued;
mod retries;
mod yielded;

use crate::model::{ChildEvent, ChildState, Content, Finalizers, KindId, SeenChild, Uid};
use crate::queue::*;

const KINDS: usize = 2;

fn child_kind() -> KindId {
    KindId::child(0).expect("the first kind of child")
}

fn queue(limits: Limits) -> Queue {
    Queue::new(limits, Versions::new(KINDS + 1), true, 7)
}

fn uid(n: u8) -> Uid {
    Uid::parse(&format!("00000000-0000-0000-0000-0000000000{n:02x}")).unwrap_or_default()
}

/// An owner with our finalizer whose newest generation is not observed yet.
fn owner_at(generation: i64, resource_version: u64) -> OwnerState {
    let mut state = OwnerState::default();
    state.object.uid = uid(1);
    state.object.generation = generation;
    state.object.resource_version = resource_version;
    state.object.finalizers = Finalizers {
        ours: Some(0),
        retired: None,
        count: 1,
        orphan: false,
    };
    state.object.body = Some(format!("{{\"generation\":{generation}}}").into());
    state
}

fn observed(mut owner: OwnerState, ready: bool) -> OwnerState {
    owner.object.status.observed_generation = Some(owner.object.generation);
    owner.object.status.ready = ready;
    owner
}

fn child(resource_version: u64, ready: i32) -> ChildEvent {
    ChildEvent {
        owner_uid: Some(uid(1)),
        child: SeenChild {
            content: Content::ByGeneration,
            state: ChildState {
                ready_replicas: ready,
                available_replicas: ready,
                ..record(resource_version).state
            },
            ..record(resource_version)
        },
    }
}

/// The same child, deleted.
fn gone(resource_version: u64) -> ChildEvent {
    let mut event = child(resource_version, 0);
    event.child.content = Content::Gone;
    event
}

/// What is held of the child as it was at this resourceVersion.
fn held(resource_version: u64) -> Content {
    Content::Held(format!("{{\"child\":{resource_version}}}").into())
}

/// A child's event as the loop passes it on in mode `none`.
fn on_child_event(queue: &mut Queue, key: &ObjectKey, event: ChildEvent, now_ms: u64) -> Admission {
    let idle = OwnerState::unread(
        event.owner_uid.unwrap_or_default(),
        Triggers::REFRESH.with(Triggers::CHILD),
    );
    let resource_version = event.child.resource_version;
    let child = Observation::Child {
        idle: queue.is_idle(key).then_some(idle),
        event,
        hold: &|| held(resource_version),
    };
    queue.observe(key, child, now_ms)
}

/// The child as a worker has recorded it.
fn record(resource_version: u64) -> SeenChild {
    SeenChild {
        kind: child_kind(),
        place_hash: 1,
        uid_hash: 1,
        resource_version,
        state: ChildState {
            generation: 1,
            ..ChildState::default()
        },
        marks: 1,
        content: Content::Recorded(None),
    }
}

/// A worker has looked at all children as they are held, or read them now.
fn looked_at(mut owner: OwnerState) -> OwnerState {
    owner
        .children
        .retain(|child| child.content != Content::Gone);
    for child in &mut *owner.children {
        child.content = Content::Recorded(None);
    }
    owner
}

fn take(queue: &mut Queue) -> (ObjectKey, OwnerState) {
    queue.take().expect("nothing is queued")
}

const WRITTEN: Outcome = Outcome::Written {
    ready: true,
    requeue_after: None,
};
const WAITING: Outcome = Outcome::Written {
    ready: false,
    requeue_after: None,
};

#[test]
fn a_converged_owner_needs_no_entry() {
    let mut queue = queue(Limits::default());
    assert_eq!(
        queue.admit_owner(
            &"a/x".into(),
            observed(owner_at(1, 5), true),
            Triggers::default()
        ),
        Admission::Idle
    );
    assert!(queue.is_empty());
}

#[test]
fn an_entry_lives_until_every_watch_has_shown_the_last_write() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.object.own_version = 9;
    owner.children.record(record(8));
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    assert_eq!(queue.len(), 1, "no watch has shown anything");
    queue.versions().advance(KindId::OWNER, 0, 9);
    queue.admit_owner(
        &"a/x".into(),
        observed(owner_at(1, 9), true),
        Triggers::default(),
    );
    assert_eq!(queue.len(), 1, "the child's watch has not shown our write");
    queue.versions().advance(child_kind(), 0, 8);
    on_child_event(&mut queue, &"a/x".into(), child(8, 0), 0);
    assert!(queue.is_empty());
}

#[test]
fn our_own_writes_are_no_news() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    queue.admit_owner(&"a/x".into(), owner_at(1, 6), Triggers::default());
    on_child_event(&mut queue, &"a/x".into(), child(8, 0), 0);
    owner.object.own_version = 9;
    owner.children.record(record(8));
    queue.finish(&key, observed(owner, false), WAITING, 0);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn a_newer_spec_that_arrives_in_flight_wins() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    queue.admit_owner(&"a/x".into(), owner_at(3, 12), Triggers::default());
    queue.admit_owner(&"a/x".into(), owner_at(2, 11), Triggers::default());
    owner.object.own_version = 10;
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    let (_, again) = take(&mut queue);
    assert_eq!(
        (
            again.object.generation,
            again.object.body.as_ref().map(|body| &*body.spec)
        ),
        (3, Some("{\"generation\":3}"))
    );
}

#[test]
fn a_child_that_becomes_ready_in_flight_is_looked_at_again() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    on_child_event(&mut queue, &"a/x".into(), child(9, 1), 0);
    owner.children.record(record(8));
    owner.object.own_version = 10;
    queue.finish(&key, observed(owner, false), WAITING, 0);
    let (_, again) = take(&mut queue);
    assert!(again.work.triggers.has(Triggers::STATUS));
    assert_eq!(again.children[0].state.ready_replicas, 1);
}

#[test]
fn re_created_under_the_same_name_is_another_owner() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.children.record(record(6));
    queue.owner_gone(&"a/x".into(), uid(1), 19);
    queue.admit_owner(
        &"a/x".into(),
        {
            let mut state = owner_at(1, 20);
            state.object.uid = uid(2);
            state
        },
        Triggers::default(),
    );
    queue.finish(&key, owner, Outcome::Gone, 0);
    let (_, again) = take(&mut queue);
    assert_eq!((again.object.uid, again.children.len()), (uid(2), 0));
}

#[test]
fn an_owner_that_vanished_in_flight_leaves_nothing() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.owner_gone(&"a/x".into(), uid(1), 19);
    queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    assert!(queue.is_empty());
    assert_eq!((queue.in_flight(), queue.spec_bytes()), (0, 0));
}

#[test]
fn child_events_without_an_entry_are_merged_for_a_second() {
    let mut queue = queue(Limits::default());
    for version in 1..100 {
        on_child_event(&mut queue, &"a/x".into(), child(version, 0), 10);
    }
    assert_eq!((queue.len(), queue.depth()), (1, 0));
    queue.wake(1_009);
    assert_eq!(queue.depth(), 0);
    queue.wake(1_010);
    let (_, owner) = take(&mut queue);
    assert!(owner.work.triggers.has(Triggers::REFRESH) && owner.work.triggers.has(Triggers::CHILD));
}

#[test]
fn back_off_grows_is_jittered_and_is_reset_by_success() {
    let limits = Limits::default();
    let mut queue = queue(limits);
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (mut now_ms, mut delays) = (0, Vec::new());
    for _ in 0..12 {
        let (key, owner) = take(&mut queue);
        queue.finish(&key, owner, Outcome::Failed { base_ms: None }, now_ms);
        let due_ms = queue.next_due_ms().expect("a failure has a due time");
        delays.push(due_ms - now_ms);
        now_ms = due_ms;
        queue.wake(now_ms);
    }
    for (attempt, delay) in delays.iter().enumerate() {
        let step = (limits.backoff_base_ms << attempt).min(limits.backoff_max_ms);
        assert!(
            (step / 2..=step).contains(delay),
            "attempt {attempt}: {delays:?}"
        );
    }
    let (key, owner) = take(&mut queue);
    queue.finish(&key, observed(owner, false), WAITING, now_ms);
    queue.admit_owner(&"a/x".into(), owner_at(2, 50), Triggers::default());
    let (_, owner) = take(&mut queue);
    assert_eq!(owner.work.attempts, 0);
}

#[test]
fn an_event_that_changes_nothing_does_not_cut_a_back_off_short() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    queue.admit_owner(&"a/x".into(), owner_at(1, 6), Triggers::default());
    assert_eq!(queue.depth(), 0, "a label or a status of somebody else");
    queue.admit_owner(&"a/x".into(), owner_at(2, 7), Triggers::default());
    assert_eq!(queue.depth(), 1, "the user corrected the spec");
}

#[test]
fn failing_owners_make_room_for_others() {
    let mut queue = queue(Limits {
        entries: 4,
        ..Limits::default()
    });
    for n in 0..4 {
        queue.admit_owner(
            &format!("a/bad{n}").as_str().into(),
            owner_at(1, n + 1),
            Triggers::default(),
        );
        let (key, owner) = take(&mut queue);
        queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    }
    assert_eq!(
        queue.admit_owner(&"a/good".into(), owner_at(1, 99), Triggers::default()),
        Admission::Accepted
    );
    assert_eq!(take(&mut queue).0.as_str(), "a/good");
    assert_eq!(queue.len(), 4);
}

#[test]
fn beyond_half_of_the_entries_new_owners_request_a_relist() {
    let mut queue = queue(Limits {
        entries: 8,
        ..Limits::default()
    });
    let mut admission = |n: u64| {
        queue.admit_owner(
            &format!("a/{n}").as_str().into(),
            owner_at(1, n),
            Triggers::default(),
        )
    };
    for n in 1..=4 {
        assert_eq!(admission(n), Admission::Accepted, "owner {n}");
    }
    assert_eq!(admission(5), Admission::Rejected);
}

#[test]
fn a_kind_listed_anew_casts_doubt_on_what_changed_since_the_owners_were_listed() {
    let mut queue = queue(Limits::default());
    for (key, version) in [("ns/before", 5), ("ns/since", 9), ("ns/at-work", 3)] {
        queue.admit_owner(&key.into(), owner_at(1, version), Triggers::default());
    }
    let mut taken: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
    let (at_work, busy) = taken.pop().expect("the third");
    for (key, owner) in taken {
        let written = Outcome::Written {
            ready: false,
            requeue_after: None,
        };
        queue.finish(&key, observed(owner, false), written, 0);
    }
    queue.relisted(5);
    let (key, owner) = queue.take().expect("one is in doubt");
    assert_eq!(key.as_str(), "ns/since");
    assert!(owner.work.triggers.has(Triggers::CHECK) && owner.work.triggers.has(Triggers::READ));
    assert!(queue.take().is_none(), "the join compares the other one");

    let written = Outcome::Written {
        ready: true,
        requeue_after: None,
    };
    queue.finish(&at_work, observed(busy, true), written, 0);
    let (key, owner) = queue.take().expect("looked at again");
    assert_eq!(key.as_str(), "ns/at-work");
    assert!(owner.work.triggers.has(Triggers::READ));
}
