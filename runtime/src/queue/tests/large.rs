//! Large owners: as many at once as the bound allows.

use crate::queue::tests::*;

fn large(bytes: u32) -> OwnerState {
    let mut state = owner_at(1, 5);
    state.object.large_bytes = bytes;
    state
}

fn queue_with_room_for(large_bytes: usize) -> Queue {
    queue(Limits {
        large_bytes,
        ..Limits::default()
    })
}

fn admit(queue: &mut Queue, key: &str, owner: OwnerState) {
    let admission = queue.admit_owner(&key.into(), owner, Triggers::default());
    assert_eq!(admission, Admission::Accepted);
}

fn taken(queue: &mut Queue) -> Vec<String> {
    let taken = std::iter::from_fn(|| queue.take());
    taken.map(|(key, _)| key.to_string()).collect()
}

#[test]
fn small_owners_pass_large_ones_that_wait() {
    let mut queue = queue_with_room_for(100);
    for (key, bytes) in [("a/1", 60), ("a/2", 60), ("a/3", 40), ("a/4", 0)] {
        admit(&mut queue, key, large(bytes));
    }
    // The third would fit, but it came after the second.
    assert_eq!(taken(&mut queue), ["a/1", "a/4"]);
    assert_eq!(queue.depth(), 2);
    queue.finish(&"a/1".into(), observed(large(60), true), WRITTEN, 0);
    assert_eq!(taken(&mut queue), ["a/2", "a/3"]);
    assert_eq!(queue.depth(), 0);
}

#[test]
fn one_that_exceeds_the_bound_goes_alone() {
    let mut queue = queue_with_room_for(100);
    admit(&mut queue, "a/1", large(u32::MAX));
    admit(&mut queue, "a/2", large(1));
    assert_eq!(taken(&mut queue), ["a/1"]);
    queue.finish(&"a/1".into(), observed(large(70), true), WRITTEN, 0);
    assert_eq!(taken(&mut queue), ["a/2"]);
}

#[test]
fn one_that_turns_out_to_be_large_waits_for_the_others() {
    let mut queue = queue_with_room_for(100);
    admit(&mut queue, "a/1", large(80));
    admit(&mut queue, "a/2", large(0));
    assert_eq!(taken(&mut queue), ["a/1", "a/2"]);
    let mut unread = large(u32::MAX);
    unread.work.triggers = Triggers::SPEC;
    queue.finish(&"a/2".into(), unread, Outcome::Again, 0);
    assert_eq!(taken(&mut queue), Vec::<String>::new());
    queue.finish(&"a/1".into(), observed(large(80), true), WRITTEN, 0);
    assert_eq!(taken(&mut queue), ["a/2"]);
}

#[test]
fn a_large_owner_that_is_deleted_while_it_waits_leaves_its_place() {
    let mut queue = queue_with_room_for(100);
    for key in ["a/1", "a/2", "a/3"] {
        admit(&mut queue, key, large(80));
    }
    assert_eq!(taken(&mut queue), ["a/1"]);
    queue.owner_gone(&"a/2".into(), uid(1), 6);
    queue.finish(&"a/1".into(), observed(large(80), true), WRITTEN, 0);
    assert_eq!(taken(&mut queue), ["a/3"]);
    assert_eq!(queue.depth(), 0);
}
