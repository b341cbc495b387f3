//! What a watch or a relist says about an owner that has an entry is remembered in the entry.

use crate::queue::tests::*;

/// A change of a child of a kind without a generation, such as a Service.
fn service(resource_version: u64) -> ChildEvent {
    ChildEvent {
        child: SeenChild {
            content: Content::Unread,
            ..service_record(resource_version)
        },
        ..child(resource_version, 0)
    }
}

fn service_record(resource_version: u64) -> SeenChild {
    SeenChild {
        state: ChildState::default(),
        ..record(resource_version)
    }
}

/// An owner that was written and whose watch has not shown that yet; its child was written at 8.
fn written(queue: &mut Queue, key: &str) {
    queue.admit_owner(&key.into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(queue);
    owner.object.own_version = 9;
    owner.object.resource_version = 9;
    owner.children.complete = true;
    owner.children.record(service_record(8));
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
    assert_eq!(owner.children[0].content, held(19), "the newest");

    // And while it is with a worker, which has read it at 19.
    for version in 19..=20 {
        on_child_event(&mut queue, &key, service(version), 1_200);
    }
    owner.children.record(service_record(19));
    queue.finish(&key, observed(owner, true), WRITTEN, 1_300);
    assert_eq!(take(&mut queue).1.children[0].content, Content::Unread);
}

#[test]
fn a_change_that_was_compared_as_it_came_in_needs_no_other_comparison() {
    let mut queue = queue(Limits::default());
    written(&mut queue, "a/x");
    let mut as_planned = service(10);
    as_planned.child.content = Content::Recorded(None);
    on_child_event(&mut queue, &"a/x".into(), as_planned, 100);
    queue.wake(10_000);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn a_child_deleted_and_created_again_in_flight_is_another_object() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    on_child_event(&mut queue, &key, gone(9), 0);
    on_child_event(&mut queue, &key, child(10, 0), 0);
    owner.children.record(record(8));
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    assert_eq!(take(&mut queue).1.children[0].content, Content::Unread);
}

/// What a relist finds where a child differs.
fn found() -> Triggers {
    Triggers::CHECK.with(Triggers::REFRESH)
}

/// An owner as an old page shows it: converged.
fn page(resource_version: u64) -> OwnerState {
    observed(owner_at(1, resource_version), true)
}

#[test]
fn a_finding_on_an_older_page_than_the_entry_is_done() {
    let mut queue = queue(Limits::default());
    written(&mut queue, "a/x");
    let admission = queue.admit_owner(&"a/x".into(), page(7), found());
    assert_eq!(admission, Admission::Accepted);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::CHECK));
}

#[test]
fn a_page_that_is_only_older_is_no_finding() {
    let mut queue = queue(Limits::default());
    written(&mut queue, "a/x");
    let admission = queue.admit_owner(&"a/x".into(), owner_at(1, 7), Triggers::REFRESH);
    assert_eq!(admission, Admission::Idle);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn work_in_flight_that_is_doubted_is_done_again() {
    for version in [5, 7] {
        let mut queue = queue(Limits::default());
        queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
        let (key, mut owner) = take(&mut queue);
        queue.admit_owner(&key, page(version), found());
        // A newer state of the owner does not take the finding away.
        queue.admit_owner(&key, page(8), Triggers::default());
        owner.object.own_version = 9;
        queue.finish(&key, observed(owner, true), WRITTEN, 0);
        let (_, again) = take(&mut queue);
        assert!(
            again.work.triggers.has(Triggers::CHECK),
            "page at {version}"
        );
        assert!(again.work.triggers.has(Triggers::READ), "page at {version}");
    }
}

#[test]
fn a_finding_does_not_cut_a_back_off_short() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    let due_ms = queue.next_due_ms();
    queue.admit_owner(&key, page(5), found());
    assert_eq!((queue.depth(), queue.next_due_ms()), (0, due_ms));
    queue.wake(1_000);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::CHECK));
}

/// The owner as it was before it was deleted and created again.
fn earlier() -> OwnerState {
    let mut state = page(4);
    state.object.uid = uid(2);
    state
}

#[test]
fn an_old_page_does_not_bring_an_earlier_owner_of_the_name_back() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    queue.admit_owner(&"a/x".into(), earlier(), found());
    let (key, owner) = take(&mut queue);
    assert_eq!(owner.object.uid, uid(1), "while it waits");
    queue.admit_owner(&key, earlier(), found());
    queue.finish(&key, observed(owner, false), WAITING, 0);
    assert_eq!(queue.depth(), 0, "while it is with a worker");
    let entry = queue.entries.get(&key).expect("it is waited for");
    assert_eq!(entry.owner.object.uid, uid(1));
}

#[test]
fn an_old_page_does_not_bring_a_deleted_owner_back() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.owner_gone(&key, uid(1), 8);
    queue.admit_owner(&key, page(7), found());
    queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    assert!(queue.is_empty());
}

#[test]
fn an_owner_created_again_in_flight_is_rejected_where_there_is_no_capacity() {
    let mut queue = queue(Limits {
        entries: 4,
        ..Limits::default()
    });
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    let mut again = owner_at(1, 9);
    again.object.uid = uid(2);
    queue.owner_gone(&key, uid(1), 8);
    queue.admit_owner(&key, again, Triggers::default());
    for name in ["a/b", "a/c"] {
        queue.admit_owner(&name.into(), owner_at(1, 6), Triggers::default());
    }
    let admission = queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
    assert_eq!(admission, Admission::Rejected);
}

#[test]
fn an_evicted_owner_that_failed_needs_a_relist() {
    let limits = Limits {
        entries: 1,
        ..Limits::default()
    };
    let check = Triggers::CHECK.with(Triggers::REFRESH);
    let nothing = Evicted::default();
    let owners = Evicted {
        failing_owners: true,
        ..nothing
    };
    let children = Evicted {
        failing_children: true,
        ..nothing
    };
    for (name, owner, found, want) in [
        ("a new spec", owner_at(1, 5), Triggers::default(), owners),
        ("a child that differs", page(5), check, children),
        ("both", owner_at(1, 5), check, children),
    ] {
        let mut queue = queue(limits);
        queue.admit_owner(&"a/x".into(), owner, found);
        let (key, owner) = take(&mut queue);
        queue.finish(&key, owner, Outcome::Failed { base_ms: None }, 0);
        assert_eq!(queue.take_evicted(), nothing, "{name}");
        queue.admit_owner(&"a/y".into(), owner_at(1, 6), Triggers::default());
        assert_eq!(queue.take_evicted(), want, "{name}");
        assert_eq!(queue.take_evicted(), nothing, "{name}: told once");
    }
}

#[test]
fn a_child_of_an_owner_that_was_created_again_in_flight_is_its_child() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    // The worker meets the new owner and makes its child, which becomes ready.
    owner.object.uid = uid(2);
    owner.children.record(record(8));
    let ready = ChildEvent {
        owner_uid: Some(uid(2)),
        ..child(9, 1)
    };
    on_child_event(&mut queue, &key, ready, 0);
    queue.finish(&key, observed(owner, false), WAITING, 0);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::STATUS));
}

#[test]
fn a_child_of_an_earlier_owner_says_nothing_in_flight() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.children.record(record(8));
    let of_another = ChildEvent {
        owner_uid: Some(uid(2)),
        ..child(9, 1)
    };
    on_child_event(&mut queue, &key, of_another, 0);
    queue.finish(&key, observed(owner, false), WAITING, 0);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn a_finding_about_an_owner_that_the_worker_meets_first_is_done() {
    for versions in [[9, 11], [11, 9]] {
        let mut queue = queue(Limits::default());
        queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
        let (key, owner) = take(&mut queue);
        for version in versions {
            let mut successor = page(version);
            successor.object.uid = uid(2);
            let found = match version {
                9 => found(),
                _ => Triggers::default(),
            };
            queue.admit_owner(&key, successor, found);
        }
        // It is returned as it was read and written by then.
        let mut owner = observed(owner, true);
        owner.object.uid = uid(2);
        (owner.object.resource_version, owner.object.own_version) = (9, 11);
        queue.finish(&key, owner, WRITTEN, 0);
        let (_, again) = take(&mut queue);
        assert!(again.work.triggers.has(Triggers::CHECK), "{versions:?}");
    }
}

/// A worker took the owner with uid 1 and returns its successor, read at 20, whose status it wrote at 23.
fn successor_met(owner: OwnerState) -> OwnerState {
    let mut successor = observed(owner, false);
    successor.object.uid = uid(2);
    successor.object.resource_version = 23;
    successor.object.own_version = 23;
    successor.children.record(record(21));
    successor
}

#[test]
fn the_end_of_an_earlier_owner_is_not_the_end_of_the_one_that_the_worker_met() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.owner_gone(&key, uid(1), 19);
    let ready = ChildEvent {
        owner_uid: Some(uid(2)),
        ..child(22, 1)
    };
    on_child_event(&mut queue, &key, ready, 0);
    queue.finish(&key, successor_met(owner), WAITING, 0);
    let (_, again) = take(&mut queue);
    assert_eq!(again.object.uid, uid(2));
    assert!(
        again.work.triggers.has(Triggers::STATUS),
        "its child is ready"
    );
}

#[test]
fn the_end_of_the_owner_that_the_worker_met_is_its_end() {
    for gone in [2, 3] {
        let mut queue = queue(Limits::default());
        queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
        let (key, owner) = take(&mut queue);
        queue.owner_gone(&key, uid(1), 19);
        queue.owner_gone(&key, uid(gone), 30);
        queue.finish(&key, successor_met(owner), WAITING, 0);
        assert!(queue.is_empty(), "uid {gone}");
    }
}

/// A child of the second owner of the name, which became ready.
fn of_the_next(resource_version: u64) -> ChildEvent {
    ChildEvent {
        owner_uid: Some(uid(2)),
        ..child(resource_version, 1)
    }
}

/// The watch of the owners is behind: it shows the status that the first one had, and then its end.
fn show_the_end_of_the_first(queue: &mut Queue, key: &ObjectKey) {
    let late = observed(owner_at(1, 18), false);
    queue.admit_owner(key, late, Triggers::default());
    queue.owner_gone(key, uid(1), 19);
}

/// The owner is read again with its children, whichever of the two is there.
fn assert_is_read(queue: &mut Queue) {
    queue.wake(600_000);
    let (_, again) = take(queue);
    for trigger in [Triggers::REFRESH, Triggers::CHECK] {
        assert!(
            again.work.triggers.has(trigger),
            "{:?}",
            again.work.triggers
        );
    }
    queue.entries.assert_consistent();
}

#[test]
fn a_change_of_a_child_outlives_the_end_of_an_earlier_owner_that_is_shown_late() {
    let key = "a/x".into();
    for first_too in [false, true] {
        let mut queue = queue(Limits::default());
        if first_too {
            on_child_event(&mut queue, &key, child(17, 0), 0);
            queue.admit_owner(&key, observed(owner_at(1, 16), false), Triggers::default());
        }
        on_child_event(&mut queue, &key, of_the_next(22), 0);
        show_the_end_of_the_first(&mut queue, &key);
        assert_is_read(&mut queue);
    }
}

#[test]
fn a_change_of_a_child_of_the_next_owner_is_work_for_an_entry_of_the_first() {
    let key = "a/x".into();
    let mut queue = queue(Limits::default());
    queue.admit_owner(&key, owner_at(1, 16), Triggers::default());
    on_child_event(&mut queue, &key, of_the_next(22), 0);
    show_the_end_of_the_first(&mut queue, &key);
    assert_is_read(&mut queue);
}

#[test]
fn a_change_of_a_child_outlives_an_earlier_owner_whose_reading_failed() {
    let key = "a/x".into();
    let mut queue = queue(Limits::default());
    on_child_event(&mut queue, &key, of_the_next(22), 0);
    queue.wake(1_000);
    let (_, unread) = take(&mut queue);
    show_the_end_of_the_first(&mut queue, &key);
    queue.finish(&key, unread, Outcome::Failed { base_ms: None }, 1_000);
    queue.wake(600_000);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::REFRESH));
}

#[test]
fn a_change_of_a_child_outlives_a_worker_that_had_the_earlier_owner() {
    let key = "a/x".into();
    let mut queue = queue(Limits::default());
    queue.admit_owner(&key, owner_at(1, 16), Triggers::default());
    let (_, first) = take(&mut queue);
    on_child_event(&mut queue, &key, of_the_next(22), 0);
    queue.owner_gone(&key, uid(1), 19);
    // Only its children are still to be looked at.
    let mut next = observed(owner_at(1, 20), false);
    next.object.uid = uid(2);
    queue.admit_owner(&key, next, Triggers::default());
    queue.finish(&key, first, Outcome::Gone, 0);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::CHECK));
}

#[test]
fn the_end_of_an_owner_of_which_only_children_were_shown_costs_no_read() {
    let key = "a/x".into();
    let mut queue = queue(Limits::default());
    on_child_event(&mut queue, &key, child(17, 0), 0);
    queue.owner_gone(&key, uid(1), 19);
    assert!(queue.is_empty());
}

/// Two owners with a change of a child: of an idle one, and of one that awaits its children.
fn with_changed_children(queue: &mut Queue) {
    on_child_event(queue, &"a/idle".into(), child(9, 0), 0);
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(queue);
    owner.object.own_version = 9;
    owner.object.resource_version = 9;
    owner.children.record(record(8));
    queue.finish(&key, observed(owner, false), WAITING, 0);
    on_child_event(queue, &key, child(10, 1), 0);
}

/// Both are due, and none relies on what the events have shown.
fn assert_children_are_read(queue: &mut Queue) {
    queue.entries.assert_consistent();
    queue.wake(1_000);
    for _ in 0..2 {
        let (key, owner) = take(queue);
        assert!(owner.work.triggers.has(Triggers::CHECK), "{}", key.as_str());
        assert!(owner.work.triggers.has(Triggers::READ), "{}", key.as_str());
        let unread = |child: &SeenChild| child.content == Content::Unread;
        assert!(owner.children.iter().all(unread), "{}", key.as_str());
    }
}

#[test]
fn what_events_showed_of_children_before_a_restore_is_read_again() {
    let mut queue = queue(Limits::default());
    with_changed_children(&mut queue);
    queue.forget_revisions();
    assert_children_are_read(&mut queue);
}

#[test]
fn what_events_showed_of_children_before_their_watch_was_lost_is_read_again() {
    let mut queue = queue(Limits::default());
    with_changed_children(&mut queue);
    queue.relisted(20);
    assert_children_are_read(&mut queue);
}

#[test]
fn a_child_that_went_in_flight_before_its_watch_was_lost_is_read_again() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.children.record(record(8));
    on_child_event(&mut queue, &key, gone(9), 0);
    // Somebody makes it again, and nobody watches.
    queue.relisted(20);
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    assert_eq!(take(&mut queue).1.children[0].content, Content::Unread);
}

#[test]
fn an_owner_that_awaits_its_children_is_compared_by_the_relist_alone() {
    let mut queue = queue(Limits::default());
    written(&mut queue, "a/x");
    queue.relisted(20);
    assert_eq!(queue.depth(), 0);
}

/// An owner that waits for its children with its spec, and is not ready.
fn awaiting(queue: &mut Queue) {
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(queue);
    owner.object.body = Some(r#"{"image":"web:1"}"#.into());
    owner.children.record(record(8));
    queue.finish(&key, observed(owner, false), WAITING, 0);
}

#[test]
fn a_spec_that_is_held_when_the_owners_are_listed_anew_is_read_again() {
    let mut queue = queue(Limits::default());
    awaiting(&mut queue);
    // The spec changed while nobody watched, and its children are as the new one has them: another replica was faster.
    queue.owners_relisted();
    assert_eq!(queue.depth(), 0, "it is work only when something happens");
    on_child_event(&mut queue, &"a/x".into(), child(9, 1), 0);
    let (_, owner) = take(&mut queue);
    assert!(owner.object.body.is_none(), "the worker reads the owner");
}

#[test]
fn an_owner_in_flight_when_the_owners_are_listed_anew_is_read_again() {
    let mut queue = queue(Limits::default());
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, owner) = take(&mut queue);
    queue.owners_relisted();
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::REFRESH));
}
