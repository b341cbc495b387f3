//! A status that yields to the work of others.

use super::*;

/// One owner whose status has yielded at 0 ms.
fn with_one_yielded() -> Queue {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.children.record(record(8));
    owner.work.status_yielded = true;
    queue.finish(&key, owner, Outcome::Yielded, 0);
    queue
}

#[test]
fn it_is_due_after_a_second_and_then_waits_in_line() {
    let mut queue = with_one_yielded();
    for name in ["a/b", "a/c"] {
        queue.admit_owner(&name.into(), owner_at(1, 6), Triggers::default());
    }
    assert_eq!(queue.next_due_ms(), Some(1_000));
    queue.wake(999);
    assert_eq!(take(&mut queue).0, "a/b".into());
    queue.wake(1_000);
    queue.admit_owner(&"a/d".into(), owner_at(1, 6), Triggers::default());
    assert_eq!(take(&mut queue).0, "a/c".into());
    let (key, owner) = take(&mut queue);
    assert_eq!(key, "a/x".into());
    assert!(owner.work.status_yielded && owner.work.triggers.has(Triggers::STATUS));
    assert_eq!(take(&mut queue).0, "a/d".into());
}

#[test]
fn what_becomes_ready_meanwhile_does_not_make_it_due_sooner() {
    let mut queue = with_one_yielded();
    on_child_event(&mut queue, &"a/x".into(), child(9, 1), 10);
    assert!(queue.take().is_none());
    assert_eq!(queue.next_due_ms(), Some(1_000));
    queue.wake(1_000);
    let (_, owner) = take(&mut queue);
    let record = owner.children.first().expect("recorded");
    assert_eq!(record.state.ready_replicas, 1);
}

#[test]
fn a_changed_spec_does_not_wait() {
    let mut queue = with_one_yielded();
    queue.admit_owner(&"a/b".into(), owner_at(1, 6), Triggers::default());
    queue.admit_owner(&"a/x".into(), owner_at(2, 9), Triggers::default());
    let next = [take(&mut queue).0, take(&mut queue).0];
    assert!(next.contains(&"a/x".into()), "{next:?}");
}

#[test]
fn a_failure_after_it_backs_off_like_any_other() {
    for outcome in [
        Outcome::Failed { base_ms: None },
        Outcome::Waits { base_ms: 1_000 },
        Outcome::Stuck,
    ] {
        let mut queue = with_one_yielded();
        queue.wake(1_000);
        let (key, owner) = take(&mut queue);
        assert!(owner.work.status_yielded);
        queue.finish(&key, owner, outcome, 1_000);
        assert!(queue.take().is_none(), "{outcome:?}");
        assert!(queue.next_due_ms() > Some(1_000), "{outcome:?}");
    }
}
