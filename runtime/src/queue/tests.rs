//! The rules of the queue, as scenarios.

mod bounds;

use crate::model::object::ChildState;
use crate::queue::*;

const KINDS: usize = 2;

fn queue(limits: Limits) -> Queue {
    Queue::new(limits, KINDS, true, 7)
}

fn uid(n: u8) -> Uid {
    Uid::parse(&format!("00000000-0000-0000-0000-0000000000{n:02x}")).unwrap_or_default()
}

/// An owner with our finalizer whose newest generation is not observed yet.
fn sight(generation: i64, resource_version: u64) -> Work {
    Work {
        uid: uid(1),
        generation,
        resource_version,
        finalizers: Finalizers {
            ours: Some(0),
            count: 1,
            orphan: false,
        },
        spec: Some(format!("{{\"generation\":{generation}}}").into()),
        ..Work::default()
    }
}

fn observed(mut work: Work, ready: bool) -> Work {
    work.status.observed_generation = Some(work.generation);
    work.status.ready = ready;
    work
}

fn child(resource_version: u64, ready: i32) -> ChildNews {
    ChildNews {
        kind: 0,
        name_hash: 1,
        owner_uid: Some(uid(1)),
        resource_version,
        deleted: false,
        state: ChildState {
            ready_replicas: ready,
            available_replicas: ready,
            ..ChildState::default()
        },
        differs: false,
    }
}

/// A child's event as the loop passes it on in mode `none`.
fn hear(queue: &mut Queue, key: &str, news: ChildNews, now_ms: u64) -> Offer {
    if !queue.is_at_rest(key) {
        return queue.offer_child(key, news);
    }
    let sight = match news.deleted {
        true => Sight::Gone,
        false => Sight::Object("{\"child\":1}".into()),
    };
    let work = Work {
        reasons: Reasons::REFRESH.with(Reasons::CHILD),
        shown: vec![Shown {
            kind: news.kind,
            name_hash: news.name_hash,
            sight,
        }],
        ..Work::default()
    };
    queue.offer_at_rest(key, work, now_ms)
}

fn slot(resource_version: u64) -> Slot {
    Slot {
        kind: 0,
        name_hash: 1,
        resource_version,
        state: ChildState::default(),
        proof: None,
    }
}

fn take(queue: &mut Queue) -> (Arc<str>, Work) {
    queue.take().expect("nothing is queued")
}

const WRITTEN: Verdict = Verdict::Written {
    ready: true,
    within: None,
};
const WAITING: Verdict = Verdict::Written {
    ready: false,
    within: None,
};

#[test]
fn a_converged_owner_needs_no_entry() {
    let mut queue = queue(Limits::default());
    assert_eq!(
        queue.offer_owner("a/x", observed(sight(1, 5), true), Reasons::default()),
        Offer::Idle
    );
    assert!(queue.is_empty());
}

#[test]
fn an_entry_lives_until_every_watch_has_shown_the_last_write() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, mut work) = take(&mut queue);
    work.own_version = 9;
    work.see(slot(8));
    queue.finish(&key, observed(work, true), WRITTEN, 0);
    assert_eq!(queue.len(), 1, "no watch has shown anything");
    queue.shown(0, 9);
    queue.offer_owner("a/x", observed(sight(1, 9), true), Reasons::default());
    assert_eq!(queue.len(), 1, "the child's watch has not shown our write");
    queue.shown(1, 8);
    hear(&mut queue, "a/x", child(8, 0), 0);
    assert!(queue.is_empty());
}

#[test]
fn our_own_writes_are_no_news() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, mut work) = take(&mut queue);
    queue.offer_owner("a/x", sight(1, 6), Reasons::default());
    hear(&mut queue, "a/x", child(8, 0), 0);
    work.own_version = 9;
    work.see(slot(8));
    queue.finish(&key, observed(work, false), WAITING, 0);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn a_newer_spec_that_arrives_in_flight_wins() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, mut work) = take(&mut queue);
    queue.offer_owner("a/x", sight(3, 12), Reasons::default());
    queue.offer_owner("a/x", sight(2, 11), Reasons::default());
    work.own_version = 10;
    queue.finish(&key, observed(work, true), WRITTEN, 0);
    let (_, again) = take(&mut queue);
    assert_eq!(
        (again.generation, again.spec.as_deref()),
        (3, Some("{\"generation\":3}"))
    );
}

#[test]
fn a_child_that_becomes_ready_in_flight_is_looked_at_again() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, mut work) = take(&mut queue);
    hear(&mut queue, "a/x", child(9, 1), 0);
    work.see(slot(8));
    work.own_version = 10;
    queue.finish(&key, observed(work, false), WAITING, 0);
    let (_, again) = take(&mut queue);
    assert!(again.reasons.has(Reasons::STATUS));
    assert_eq!(again.slots[0].state.ready_replicas, 1);
}

#[test]
fn re_created_under_the_same_name_is_another_owner() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, mut work) = take(&mut queue);
    work.see(slot(6));
    queue.owner_gone("a/x", uid(1));
    queue.offer_owner(
        "a/x",
        Work {
            uid: uid(2),
            ..sight(1, 20)
        },
        Reasons::default(),
    );
    queue.finish(&key, work, Verdict::Gone, 0);
    let (_, again) = take(&mut queue);
    assert_eq!((again.uid, again.slots.len()), (uid(2), 0));
}

#[test]
fn an_owner_that_vanished_in_flight_leaves_nothing() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, work) = take(&mut queue);
    queue.owner_gone("a/x", uid(1));
    queue.finish(&key, work, Verdict::Failed { base_ms: None }, 0);
    assert!(queue.is_empty());
    assert_eq!((queue.in_flight(), queue.spec_bytes()), (0, 0));
}

#[test]
fn child_events_without_an_entry_are_merged_for_a_second() {
    let mut queue = queue(Limits::default());
    for version in 1..100 {
        hear(&mut queue, "a/x", child(version, 0), 10);
    }
    assert_eq!((queue.len(), queue.depth()), (1, 0));
    queue.wake(1_009);
    assert_eq!(queue.depth(), 0);
    queue.wake(1_010);
    let (_, work) = take(&mut queue);
    assert!(work.reasons.has(Reasons::REFRESH) && work.reasons.has(Reasons::CHILD));
}

#[test]
fn back_off_grows_is_jittered_and_is_reset_by_success() {
    let limits = Limits::default();
    let mut queue = queue(limits);
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (mut now_ms, mut delays) = (0, Vec::new());
    for _ in 0..12 {
        let (key, work) = take(&mut queue);
        queue.finish(&key, work, Verdict::Failed { base_ms: None }, now_ms);
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
    let (key, work) = take(&mut queue);
    queue.finish(&key, observed(work, false), WAITING, now_ms);
    queue.offer_owner("a/x", sight(2, 50), Reasons::default());
    let (_, work) = take(&mut queue);
    assert_eq!(work.attempts, 0);
}

#[test]
fn an_event_that_changes_nothing_does_not_cut_a_back_off_short() {
    let mut queue = queue(Limits::default());
    queue.offer_owner("a/x", sight(1, 5), Reasons::default());
    let (key, work) = take(&mut queue);
    queue.finish(&key, work, Verdict::Failed { base_ms: None }, 0);
    queue.offer_owner("a/x", sight(1, 6), Reasons::default());
    assert_eq!(queue.depth(), 0, "a label or a status of somebody else");
    queue.offer_owner("a/x", sight(2, 7), Reasons::default());
    assert_eq!(queue.depth(), 1, "the user mended the spec");
}

#[test]
fn failing_owners_make_room_for_others() {
    let mut queue = queue(Limits {
        entries: 4,
        ..Limits::default()
    });
    for n in 0..4 {
        queue.offer_owner(&format!("a/bad{n}"), sight(1, n + 1), Reasons::default());
        let (key, work) = take(&mut queue);
        queue.finish(&key, work, Verdict::Failed { base_ms: None }, 0);
    }
    assert_eq!(
        queue.offer_owner("a/good", sight(1, 99), Reasons::default()),
        Offer::Accepted
    );
    assert_eq!(&*take(&mut queue).0, "a/good");
    assert_eq!(queue.len(), 4);
}

#[test]
fn beyond_half_of_the_entries_new_owners_are_owed_to_a_join() {
    let mut queue = queue(Limits {
        entries: 8,
        ..Limits::default()
    });
    let mut offer = |n: u64| queue.offer_owner(&format!("a/{n}"), sight(1, n), Reasons::default());
    for n in 1..=4 {
        assert_eq!(offer(n), Offer::Accepted, "owner {n}");
    }
    assert_eq!(offer(5), Offer::Owed);
}

#[test]
fn a_kind_listed_anew_casts_doubt_on_what_changed_since_the_owners_were_listed() {
    let mut queue = queue(Limits::default());
    for (key, version) in [("ns/before", 5), ("ns/since", 9), ("ns/at-work", 3)] {
        queue.offer_owner(key, sight(1, version), Reasons::default());
    }
    let mut taken: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
    let (at_work, busy) = taken.pop().expect("the third");
    for (key, work) in taken {
        let written = Verdict::Written {
            ready: false,
            within: None,
        };
        queue.finish(&key, observed(work, false), written, 0);
    }
    queue.listed_anew(5);
    let (key, work) = queue.take().expect("one is in doubt");
    assert_eq!(&*key, "ns/since");
    assert!(work.reasons.has(Reasons::CHECK) && work.reasons.has(Reasons::READ));
    assert!(queue.take().is_none(), "the join compares the other one");

    let written = Verdict::Written {
        ready: true,
        within: None,
    };
    queue.finish(&at_work, observed(busy, true), written, 0);
    let (key, work) = queue.take().expect("looked at again");
    assert_eq!(&*key, "ns/at-work");
    assert!(work.reasons.has(Reasons::READ));
}
