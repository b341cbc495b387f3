//! What a watch or a relist says about an owner that has an entry is remembered in the entry.

use crate::queue::tests::*;

/// A change of a child of a kind without a generation, such as a Service.
fn service(resource_version: u64) -> ChildEvent {
    ChildEvent {
        state: ChildState::default(),
        ..child(resource_version, 0)
    }
}

fn service_record(resource_version: u64) -> ChildRecord {
    ChildRecord {
        state: ChildState::default(),
        ..record(resource_version)
    }
}

/// An owner that was written and whose watch has not shown that yet; its child was written at 8.
fn written(queue: &mut Queue, key: &str) {
    queue.admit_owner(&key.into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(queue);
    owner.own_version = 9;
    owner.resource_version = 9;
    owner.children_complete = true;
    owner.record_child(service_record(8));
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
}

#[test]
fn a_change_of_a_child_without_a_generation_may_be_drift() {
    let mut queue = queue(Limits::default());
    written(&mut queue, "a/x");
    on_child_event(&mut queue, &"a/x".into(), service(8), 100);
    assert_eq!(queue.next_due_ms(), Some(60_000), "our own write");
    for version in 10..20 {
        on_child_event(&mut queue, &"a/x".into(), service(version), 100);
    }
    assert_eq!(queue.depth(), 0, "merged for a second");
    queue.wake(1_100);
    let (key, mut owner) = take(&mut queue);
    assert!(owner.triggers.has(Triggers::CHECK));

    // And while it is with a worker, which has read it at 19.
    for version in 19..=20 {
        on_child_event(&mut queue, &key, service(version), 1_200);
    }
    owner.record_child(service_record(19));
    queue.finish(&key, observed(owner, true), WRITTEN, 1_300);
    assert!(take(&mut queue).1.triggers.has(Triggers::CHECK));
}

#[test]
fn a_change_that_was_compared_as_it_came_in_needs_no_other_comparison() {
    let mut queue = queue(Limits::default());
    written(&mut queue, "a/x");
    let as_planned = ChildEvent {
        compared: Compared::AsPlanned,
        ..service(10)
    };
    on_child_event(&mut queue, &"a/x".into(), as_planned, 100);
    queue.wake(10_000);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn a_child_deleted_and_created_again_in_flight_is_another_object() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    let deleted = ChildEvent {
        deleted: true,
        ..child(9, 0)
    };
    on_child_event(&mut queue, &key, deleted, 0);
    on_child_event(&mut queue, &key, child(10, 0), 0);
    owner.record_child(record(8));
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    assert!(take(&mut queue).1.triggers.has(Triggers::CHECK));
}
