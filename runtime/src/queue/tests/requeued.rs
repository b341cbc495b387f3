//! Plans that are computed again because they asked for it.

use super::*;

#[test]
fn an_idle_owner_that_is_due_is_read_and_compared() {
    let mut queue = queue(Limits::default());
    assert_eq!(
        queue.admit_due(&"a/x".into(), uid(1), Triggers::default()),
        Admission::Accepted
    );
    let (_, owner) = take(&mut queue);
    assert_eq!(
        (owner.object.uid, owner.object.resource_version),
        (uid(1), 0)
    );
    assert!(owner.work.triggers.has(Triggers::CHECK));
}

#[test]
fn one_that_has_work_when_it_is_due_is_compared_with_it() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    queue.admit_due(&"a/x".into(), uid(1), Triggers::default());
    let (key, owner) = take(&mut queue);
    assert!(owner.work.triggers.has(Triggers::CHECK) && owner.work.triggers.has(Triggers::SPEC));

    queue.admit_due(&key, uid(1), Triggers::default());
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    let (key, owner) = take(&mut queue);
    assert!(owner.work.triggers.has(Triggers::CHECK), "a worker had it");

    queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    queue.admit_due(&key, uid(1), Triggers::default());
    assert_eq!(queue.depth(), 0, "it backs off");
}

#[test]
fn without_capacity_it_is_rejected() {
    let mut queue = queue(Limits {
        entries: 2,
        ..Limits::default()
    });
    queue.admit_owner(&"a/y".into(), owner_at(1, 6), Triggers::default());
    assert_eq!(
        queue.admit_due(&"a/x".into(), uid(1), Triggers::default()),
        Admission::Rejected
    );
}

/// The cache may know the owner for the first time from the worker, and the child with it.
#[test]
fn a_child_that_was_deleted_in_flight_is_gone() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.children.record(record(8));
    on_child_event(&mut queue, &key, gone(9), 0);
    queue.finish(&key, observed(owner, false), WAITING, 0);
    let (_, owner) = take(&mut queue);
    assert_eq!(owner.children[0].content, Content::Gone);
    assert!(
        owner.work.triggers.has(Triggers::REFRESH),
        "the owner may be gone"
    );
}
