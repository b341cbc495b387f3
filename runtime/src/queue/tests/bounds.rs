//! The rules of the queue, as properties.

use proptest::prelude::*;

use crate::queue::tests::*;

#[derive(Debug, Clone)]
enum Step {
    Owner {
        key: u8,
        uid: u8,
        generation: i64,
        deleting: bool,
    },
    Gone {
        key: u8,
        uid: u8,
    },
    Child {
        key: u8,
        ready: i32,
        deleted: bool,
    },
    Take,
    Finish {
        which: usize,
        outcome: u8,
    },
    Wake {
        after_ms: u64,
    },
    Bookmark,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..6u8, 1..3u8, 1..5i64, any::<bool>()).prop_map(|(key, uid, generation, deleting)| {
            Step::Owner {
                key,
                uid,
                generation,
                deleting,
            }
        }),
        (0..6u8, 1..3u8).prop_map(|(key, uid)| Step::Gone { key, uid }),
        (0..6u8, 0..3i32, any::<bool>()).prop_map(|(key, ready, deleted)| Step::Child {
            key,
            ready,
            deleted
        }),
        Just(Step::Take),
        (0..8usize, 0..5u8).prop_map(|(which, outcome)| Step::Finish { which, outcome }),
        (0..5_000u64).prop_map(|after_ms| Step::Wake { after_ms }),
        Just(Step::Bookmark),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever comes in whatever order: a key is with one worker at most, the bounds hold, the
    /// counts are true, and when all is worked off nothing is left that wants work.
    #[test]
    fn bounds_and_counts_hold(steps in proptest::collection::vec(step(), 1..120)) {
        let limits = Limits { entries: 4, spec_bytes: 64, waiting_spec_bytes: 32, large_bytes: 100, ..Limits::default() };
        let mut queue = queue(limits);
        let (mut version, mut now_ms) = (0u64, 0u64);
        let mut flying: Vec<(ObjectKey, OwnerState)> = Vec::new();
        for step in steps {
            version += 1;
            let had_work = queue.entries.with_work();
            let mut ended = None;
            match step {
                Step::Owner { key, uid: id, generation, deleting } => {
                    let large_bytes = if key < 3 { 40 } else { 0 };
                    let mut owner = owner_at(generation, version); owner.object.uid = uid(id); owner.object.deleting = deleting; owner.object.large_bytes = large_bytes;
                    queue.versions().advance(KindId::OWNER, 0, version);
                    let key = format!("n/{key}").as_str().into();
                    // Rejected or idle as another owner, it has no entry any more, and the caller knows that.
                    queue.admit_owner(&key, owner, Triggers::default());
                    ended = Some(key);
                }
                Step::Gone { key, uid: id } => {
                    let key = format!("n/{key}").as_str().into();
                    queue.owner_gone(&key, uid(id), version);
                    ended = Some(key);
                }
                Step::Child { key, ready, deleted } => {
                    queue.versions().advance(child_kind(), 0, version);
                    let event = if deleted { gone(version) } else { child(version, ready) };
                    let event = ChildEvent { owner_uid: None, ..event };
                    on_child_event(&mut queue, &format!("n/{key}").as_str().into(), event, now_ms);
                }
                Step::Take => {
                    if let Some((key, owner)) = queue.take() {
                        prop_assert!(flying.iter().all(|(k, _)| k != &key), "{key} is with two workers");
                        flying.push((key, owner));
                    }
                }
                Step::Finish { which, outcome } => {
                    if flying.is_empty() { continue; }
                    let (key, mut owner) = flying.swap_remove(which % flying.len());
                    owner.object.own_version = version;
                    owner.object.resource_version = version;
                    let outcome = match outcome {
                        0 => WRITTEN,
                        1 => WAITING,
                        2 => Outcome::Gone,
                        3 => Outcome::Failed { base_ms: None },
                        _ => Outcome::Stuck,
                    };
                    if outcome == WRITTEN { owner = looked_at(observed(owner, true)); }
                    if outcome == WAITING { owner = looked_at(owner); }
                    let admission = queue.finish(&key, owner, outcome, now_ms);
                    let rejected = admission == Admission::Rejected;
                    prop_assert!(!rejected || queue.entries.get(&key).is_none(), "{key} is both");
                    ended = Some(key);
                }
                Step::Wake { after_ms } => { now_ms += after_ms; queue.wake(now_ms); }
                Step::Bookmark => {
                    for kind in KindId::all(KINDS) { queue.versions().advance(kind, 0, version); }
                    queue.settle_all();
                }
            }
            prop_assert_eq!(queue.in_flight(), flying.len());
            let large = flying.iter().filter(|(_, owner)| owner.object.large_bytes > 0).count();
            prop_assert!(large <= 2, "{large} of 40 bytes in a bound of 100");
            queue.entries.assert_consistent();
            // Work is in an entry or needs a relist, never neither.
            let evicted = queue.take_evicted();
            for key in had_work.into_iter().filter(|key| Some(key) != ended.as_ref()) {
                let is_there = queue.entries.get(&key).is_some();
                let only_waited = Evicted { waiting: evicted.waiting, ..Evicted::default() };
                prop_assert!(is_there || evicted != only_waited, "{key} is lost");
            }
        }
        // Work off what is left: it ends.
        for (key, owner) in flying.drain(..) {
            queue.finish(&key, looked_at(observed(owner, true)), WRITTEN, now_ms);
        }
        for _ in 0..64 {
            now_ms += 700_000;
            queue.wake(now_ms);
            while let Some((key, mut owner)) = queue.take() {
                owner.object.own_version = version;
                owner.object.resource_version = version;
                queue.finish(&key, looked_at(observed(owner, true)), WRITTEN, now_ms);
            }
        }
        prop_assert!(queue.is_empty(), "{:?}", queue.entries);
        prop_assert_eq!(queue.spec_bytes(), 0);
    }
}
