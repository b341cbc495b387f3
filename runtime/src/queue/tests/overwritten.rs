//! The watch of the owners shows what we have not written.

use crate::queue::tests::*;

/// `a/x`, ready, as a client left it at this resourceVersion.
fn shown(resource_version: u64, digest: u64) -> OwnerState {
    let mut owner = observed(owner_at(1, resource_version), true);
    owner.object.status.digest = digest;
    owner
}

/// A worker returns `a/x`, which it wrote at this resourceVersion.
fn return_written(queue: &mut Queue, resource_version: u64, digest: u64, now_ms: u64) {
    let (key, mut owner) = take(queue);
    owner.object.own_version = resource_version;
    owner.refresh(shown(resource_version, digest).object);
    queue.finish(&key, owner, WRITTEN, now_ms);
}

#[test]
fn a_status_that_is_not_known_is_compared_a_second_later() {
    let key = "a/x".into();
    for (what, is_known, generation, want_ms) in [
        ("nothing is retained", false, 1, Some(1_000)),
        ("it is the one that is retained", true, 1, None),
        ("its spec is new", false, 2, Some(0)),
    ] {
        let mut queue = queue(Limits::default());
        let mut owner = shown(5, 1);
        owner.object.generation = generation;
        queue.admit_watched(&key, owner, is_known, 0);
        let due_ms = match queue.depth() {
            0 => queue.next_due_ms(),
            _ => Some(0),
        };
        assert_eq!(due_ms, want_ms, "{what}");
    }
}

#[test]
fn pauses_double_as_long_as_another_client_writes_again() {
    let key = "a/x".into();
    let mut queue = queue(Limits::default());
    queue.admit_watched(&key, shown(1, 1), false, 0);
    let (mut version, mut now_ms) = (1, 1_000);
    for pause_ms in [
        2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 256_000,
    ] {
        queue.wake(now_ms);
        return_written(&mut queue, version + 1, 7, now_ms);
        // Our own write is shown, and then the other client's.
        queue.admit_watched(&key, shown(version + 1, 7), false, now_ms);
        queue.admit_watched(&key, shown(version + 2, 1), false, now_ms);
        assert_eq!(queue.next_due_ms(), Some(now_ms + pause_ms));
        version += 2;
        now_ms += pause_ms;
    }
}

#[test]
fn what_arrives_while_a_worker_has_the_owner_is_compared_after_a_pause() {
    let key = "a/x".into();
    let mut queue = queue(Limits::default());
    queue.admit_watched(&key, shown(1, 1), false, 0);
    queue.wake(1_000);
    let (_, mut owner) = take(&mut queue);
    queue.admit_watched(&key, shown(3, 1), false, 1_000);
    owner.object.own_version = 2;
    owner.refresh(shown(2, 7).object);
    queue.finish(&key, owner, WRITTEN, 1_000);
    assert_eq!((queue.depth(), queue.next_due_ms()), (0, Some(3_000)));
    // What a relist finds does not wait.
    queue.admit_owner(&key, shown(3, 1), Triggers::CHECK);
    assert_eq!(queue.depth(), 1);
}

#[test]
fn our_own_write_is_known_after_its_entry_was_evicted() {
    let limits = Limits {
        entries: 1,
        ..Limits::default()
    };
    let mut queue = queue(limits);
    queue.admit_owner(&"a/x".into(), owner_at(1, 1), Triggers::default());
    let (key, mut owner) = take(&mut queue);
    owner.object.own_version = 5;
    queue.finish(&key, observed(owner, false), WRITTEN, 0);
    let mut other = owner_at(1, 2);
    other.object.uid = uid(2);
    queue.admit_watched(&"a/y".into(), other, false, 0);
    assert_eq!(queue.depth(), 1);
    let own = queue.admit_watched(&key, shown(5, 1), false, 0);
    assert_eq!(own, Admission::Idle);
    let (other, _) = take(&mut queue);
    queue.finish(&other, owner_at(1, 2), Outcome::Gone, 0);
    let foreign = queue.admit_watched(&key, shown(6, 1), false, 0);
    assert_eq!(
        (foreign, queue.next_due_ms()),
        (Admission::Accepted, Some(1_000))
    );
}
