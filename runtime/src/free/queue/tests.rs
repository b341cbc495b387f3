//! The queue as its table says, and against a model: nothing that is asked for is lost, and nobody has two workers.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SMALL: Limits = Limits {
    entries: 3,
    held_bytes: 100,
};

fn queue(debounce_ms: u64, limits: Limits) -> Queue {
    Queue::new(Duration::from_millis(debounce_ms), limits, 7)
}

fn key(n: usize) -> ObjectKey {
    ObjectKey::new("shop", &format!("app-{n}"))
}

fn content(text: &str) -> Option<Content> {
    Some(Content::Object(text.as_bytes().to_vec()))
}

fn taken(queue: &mut Queue, now_ms: u64) -> Option<(ObjectKey, Option<Content>)> {
    queue.wake(now_ms);
    queue.take().map(|taken| (taken.key, taken.content))
}

#[test]
fn a_waiting_object_is_asked_for_once_with_its_newest_content() {
    let mut queue = queue(0, Limits::default());
    queue.request(&key(1), content("old"), 0);
    queue.request(&key(1), None, 0);
    queue.request(&key(1), content("new"), 0);
    assert_eq!(taken(&mut queue, 0), Some((key(1), content("new"))));
    assert_eq!(taken(&mut queue, 0), None);
}

#[test]
fn a_change_while_a_worker_has_the_object_means_another_reconcile() {
    let mut queue = queue(0, Limits::default());
    queue.request(&key(1), content("first"), 0);
    assert!(taken(&mut queue, 0).is_some());
    queue.request(&key(1), content("second"), 1);
    assert_eq!(taken(&mut queue, 1), None, "it has a worker");
    queue.finish(&key(1), Next::After(Duration::from_secs(60)), 2);
    assert_eq!(taken(&mut queue, 2), Some((key(1), content("second"))));
    queue.finish(&key(1), Next::Never, 3);
    assert_eq!((queue.next_due_ms(), queue.in_flight()), (None, 0));
}

#[test]
fn changes_within_the_debounce_are_one() {
    let mut queue = queue(100, Limits::default());
    queue.request(&key(1), None, 0);
    queue.request(&key(1), None, 90);
    assert_eq!(taken(&mut queue, 100), None);
    assert!(taken(&mut queue, 190).is_some());
}

#[test]
fn of_a_change_and_a_requeue_the_sooner_one_counts() {
    let mut queue = queue(100, Limits::default());
    for (requeue_ms, due_ms) in [(50, 50), (5_000, 100)] {
        queue.request(&key(1), None, 0);
        assert!(taken(&mut queue, 100).is_some());
        queue.finish(&key(1), Next::After(Duration::from_millis(requeue_ms)), 0);
        queue.request(&key(1), None, 0);
        assert_eq!(queue.next_due_ms(), Some(due_ms));
        assert!(taken(&mut queue, due_ms).is_some());
        queue.finish(&key(1), Next::Never, 0);
    }
}

#[test]
fn pauses_double_and_end_with_a_success() {
    let mut queue = queue(0, Limits::default());
    queue.request(&key(1), None, 0);
    let mut pauses = Vec::new();
    for _ in 0..12 {
        assert!(taken(&mut queue, 0).is_some());
        queue.finish(&key(1), Next::BackOff, 0);
        let pause_ms = queue.next_due_ms().expect("it is tried again");
        pauses.push(pause_ms);
        queue.wake(pause_ms);
    }
    for (nth, pause_ms) in pauses.iter().enumerate() {
        let longest = (1_000u64 << nth).min(300_000);
        assert!((longest * 3 / 4..=longest).contains(pause_ms), "{pauses:?}");
    }
    assert!(taken(&mut queue, 0).is_some());
    queue.finish(&key(1), Next::After(Duration::ZERO), 0);
    assert!(taken(&mut queue, 0).is_some());
    queue.finish(&key(1), Next::BackOff, 0);
    assert!(queue.next_due_ms().is_some_and(|due_ms| due_ms <= 1_000));
}

#[test]
fn content_beyond_the_bound_is_read() {
    let mut queue = queue(0, SMALL);
    queue.request(&key(1), content(&"x".repeat(60)), 0);
    queue.request(&key(2), content(&"y".repeat(60)), 0);
    assert!(taken(&mut queue, 0).is_some_and(|(_, content)| content.is_some()));
    assert_eq!(taken(&mut queue, 0), Some((key(2), None)));
}

#[test]
fn newer_content_without_room_is_not_replaced_by_older() {
    let mut queue = queue(0, SMALL);
    queue.request(&key(1), content("old"), 0);
    queue.request(&key(1), content(&"x".repeat(200)), 0);
    assert_eq!(taken(&mut queue, 0), Some((key(1), None)));
}

#[test]
fn a_list_does_not_replace_what_a_watch_has_shown() {
    let mut queue = queue(0, Limits::default());
    queue.request(&key(1), content("newer"), 0);
    queue.offer(&key(1), b"older".to_vec(), 0);
    assert_eq!(taken(&mut queue, 0), Some((key(1), content("newer"))));
    queue.offer(&key(2), b"listed".to_vec(), 0);
    assert_eq!(taken(&mut queue, 0), Some((key(2), content("listed"))));
}

#[test]
fn what_finds_no_room_is_found_by_a_list() {
    let mut queue = queue(0, SMALL);
    for n in 0..5 {
        queue.request(&key(n), None, 0);
    }
    assert_eq!((queue.ready(), queue.marked()), (3, 2));
    assert_eq!(queue.marks_due_ms(), Some(0));
    while let Some((key, _)) = taken(&mut queue, 10) {
        queue.finish(&key, Next::Never, 10);
    }
    let until_ms = queue.resolve_until_ms(10);
    for n in 0..5 {
        queue.resolve(&key(n), until_ms, 10);
    }
    queue.listed(10, until_ms);
    assert_eq!((queue.ready(), queue.marked()), (2, 0));
}

/// Objects that changed early come before those that changed late, whatever their names.
#[test]
fn of_more_than_can_be_done_what_is_due_first_has_its_turn_first() {
    const ALL: usize = 60;
    let mut queue = queue(0, SMALL);
    for n in (0..ALL).rev() {
        queue.request(&key(n), None, (ALL - n) as u64);
    }
    let mut turns = Vec::new();
    let now_ms = ALL as u64;
    while turns.len() < ALL {
        let until_ms = queue.resolve_until_ms(now_ms);
        for n in 0..ALL {
            queue.resolve(&key(n), until_ms, now_ms);
            // The list reads on as room comes.
            while let Some((key, _)) = taken(&mut queue, now_ms) {
                queue.finish(&key, Next::Never, now_ms);
                turns.push(key);
            }
        }
        queue.listed(now_ms, until_ms);
    }
    let lot = LOT * SMALL.entries;
    let early = turns.iter().take(SMALL.entries + lot).cloned();
    let early = std::collections::BTreeSet::from_iter(early);
    let first = (ALL - SMALL.entries - lot..ALL).map(key);
    assert_eq!(early, first.collect());
}

#[test]
fn a_requeue_gives_way_to_what_is_due_sooner() {
    let mut queue = queue(0, SMALL);
    for n in 0..3 {
        queue.request(&key(n), None, 0);
        assert!(taken(&mut queue, 0).is_some());
        let after = Duration::from_secs(10 + n as u64);
        queue.finish(&key(n), Next::After(after), 0);
    }
    queue.request(&key(9), None, 0);
    assert_eq!(taken(&mut queue, 0).map(|(key, _)| key), Some(key(9)));
    // The latest one has a mark now.
    assert_eq!((queue.marked(), queue.marks_due_ms()), (1, Some(12_000)));
}

#[test]
fn a_deleted_object_has_no_work() {
    let mut queue = queue(0, Limits::default());
    queue.request(&key(1), content("x"), 0);
    queue.forget(&key(1));
    assert_eq!(taken(&mut queue, 0), None);
    queue.request(&key(1), None, 0);
    assert!(taken(&mut queue, 0).is_some());
    queue.request(&key(1), None, 0);
    queue.forget(&key(1));
    queue.finish(&key(1), Next::Never, 0);
    assert_eq!(taken(&mut queue, 0), None);
}

/// More than a list looks for at once.
const OBJECTS: usize = 20;

/// What happens to the queue.
#[derive(Debug, Clone)]
enum Step {
    Request(usize),
    Take,
    /// The longest at work ends, with this.
    Finish(Next),
    Wait(u64),
    List,
}

fn step() -> impl Strategy<Value = Step> {
    let next = prop_oneof![
        Just(Next::Never),
        Just(Next::BackOff),
        (0..20_000u64).prop_map(|ms| Next::After(Duration::from_millis(ms))),
    ];
    prop_oneof![
        3 => (0..OBJECTS).prop_map(Step::Request),
        3 => Just(Step::Take),
        3 => next.prop_map(Step::Finish),
        1 => (0..3_000u64).prop_map(Step::Wait),
        1 => Just(Step::List),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Versions stand for objects: each request makes a newer one, and a worker gets the newest or reads it.
    #[test]
    fn every_change_is_followed_by_a_reconcile_that_sees_it(
        steps in proptest::collection::vec(step(), 0..60),
        debounce_ms in prop_oneof![Just(0u64), 1..500u64],
    ) {
        let mut queue = queue(debounce_ms, SMALL);
        let mut now_ms = 0;
        let mut newest = BTreeMap::<usize, u64>::new();
        let mut reconciled = BTreeMap::<usize, u64>::new();
        let mut working: Vec<usize> = Vec::new();
        let index = |key: &ObjectKey| key.name().trim_start_matches("app-").parse::<usize>();
        let work = |queue: &mut Queue, newest: &BTreeMap<usize, u64>, reconciled: &mut BTreeMap<usize, u64>| {
            let taken = queue.take()?;
            let n = index(&taken.key).expect("a key of the test");
            let newest = newest.get(&n).copied().unwrap_or(0);
            let version = match taken.content {
                Some(Content::Object(json)) => String::from_utf8_lossy(&json).parse().unwrap_or(0),
                _ => newest,
            };
            assert_eq!(version, newest, "an object is reconciled as it was before");
            reconciled.insert(n, version);
            Some(n)
        };
        let list = |queue: &mut Queue, now_ms: u64| {
            let until_ms = queue.resolve_until_ms(now_ms);
            for n in 0..OBJECTS {
                queue.resolve(&key(n), until_ms, now_ms);
            }
            queue.listed(now_ms, until_ms);
        };
        for step in steps {
            match step {
                Step::Request(n) => {
                    let version = newest.entry(n).or_default();
                    *version += 1;
                    queue.request(&key(n), content(&version.to_string()), now_ms);
                }
                Step::Take => {
                    queue.wake(now_ms);
                    if let Some(n) = work(&mut queue, &newest, &mut reconciled) {
                        prop_assert!(!working.contains(&n), "two workers");
                        working.push(n);
                    }
                }
                Step::Finish(next) if !working.is_empty() => {
                    queue.finish(&key(working.remove(0)), next, now_ms);
                }
                Step::Finish(_) => {}
                Step::Wait(ms) => now_ms += ms,
                Step::List => list(&mut queue, now_ms),
            }
            prop_assert_eq!(queue.in_flight(), working.len());
            prop_assert!(queue.held_bytes <= SMALL.held_bytes);
            prop_assert!(queue.entries.len() <= SMALL.entries);
        }
        // All ends, and all that is asked for is done.
        for _ in 0..40 {
            for n in working.drain(..) {
                queue.finish(&key(n), Next::Never, now_ms);
            }
            list(&mut queue, now_ms);
            now_ms += 60_000;
            queue.wake(now_ms);
            while let Some(n) = work(&mut queue, &newest, &mut reconciled) {
                queue.finish(&key(n), Next::Never, now_ms);
            }
        }
        let late: BTreeSet<_> = newest.iter().filter(|(n, version)| reconciled.get(*n) != Some(*version)).collect();
        prop_assert!(late.is_empty(), "{late:?}");
        prop_assert_eq!((queue.ready(), queue.marked(), queue.held_bytes), (0, 0, 0));
        prop_assert!(queue.next_due_ms().is_none());
    }
}
