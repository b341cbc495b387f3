//! Owners that fail, beside others that never did, and owners that leave the queue before their time.

use super::*;

const FAILED: Outcome = Outcome::Failed { base_ms: None };
/// Longer than the first back-off.
const DUE_MS: u64 = 1_000;

/// Many owners that failed once and are due again.
fn due_again(count: u64) -> Queue {
    let mut queue = queue(Limits {
        entries: 16,
        ..Limits::default()
    });
    for n in 1..=count {
        let key = format!("a/failing-{n}").as_str().into();
        queue.admit_owner(&key, owner_at(1, n), Triggers::default());
        let (key, owner) = take(&mut queue);
        queue.finish(&key, owner, FAILED, 0);
    }
    queue.wake(DUE_MS);
    assert_eq!(queue.depth(), count as usize);
    queue
}

#[test]
fn owners_that_are_tried_again_do_not_keep_new_ones_out() {
    let mut queue = due_again(12);
    assert!(queue.has_capacity());
    let admission = queue.admit_owner(&"a/new".into(), owner_at(1, 99), Triggers::default());
    assert_eq!(admission, Admission::Accepted);
}

#[test]
fn new_owners_come_first_and_those_that_are_tried_again_have_turns() {
    let mut queue = due_again(8);
    for n in 0..4 {
        let key = format!("a/new-{n}").as_str().into();
        queue.admit_owner(&key, owner_at(1, 100 + n), Triggers::default());
    }
    let taken: Vec<String> = (0..12)
        .map(|_| take(&mut queue).0.as_str().into())
        .collect();
    let place = |name: &str| taken.iter().position(|key| key.contains(name));
    let last_new = taken.iter().rposition(|key| key.contains("new"));
    assert!(last_new.is_some_and(|last| last < 6), "{taken:?}");
    assert!(place("failing").is_some_and(|first| first < 4), "{taken:?}");
}

#[test]
fn owners_that_failed_do_not_wait_when_the_cause_is_gone() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/failing".into(), owner_at(1, 1), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.finish(&key, owner, FAILED, 0);
    on_child_event(&mut queue, &"a/merging".into(), child(2, 0), 0);
    queue.retry_failing();
    assert_eq!(queue.depth(), 1);
    assert_eq!(take(&mut queue).0.as_str(), "a/failing");
}

#[test]
fn an_owner_that_no_longer_waits_for_its_children_is_told() {
    let limits = Limits {
        entries: 1,
        ..Limits::default()
    };
    let waiting = Evicted {
        waiting: true,
        ..Evicted::default()
    };
    for (name, is_evicted) in [("evicted", true), ("waited long enough", false)] {
        let mut queue = queue(limits);
        queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
        let (key, owner) = take(&mut queue);
        queue.finish(&key, observed(owner, false), WAITING, 0);
        assert_eq!(queue.take_evicted(), Evicted::default(), "{name}");
        match is_evicted {
            true => drop(queue.admit_owner(&"a/y".into(), owner_at(1, 6), Triggers::default())),
            false => queue.wake(10_000_000),
        }
        assert!(queue.entries.get(&key).is_none(), "{name}");
        assert_eq!(queue.take_evicted(), waiting, "{name}");
    }
}
