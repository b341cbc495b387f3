//! When relists run, as scenarios, and what holds whatever happens.

use super::*;

/// Ten minutes, configured.
const PERIOD: Option<Duration> = Some(Duration::from_secs(600));

#[test]
fn the_default_period_is_ten_hours_however_many_objects_there_are() {
    for objects in [0, 5_000, 300_000] {
        let mut schedule = RelistSchedule::new(None, 1);
        schedule.began(Coverage::All, 0);
        schedule.listed(Coverage::All, objects);
        schedule.ended(Coverage::All, false, 0);
        let (coverage, at_ms) = schedule.next();
        assert_eq!(coverage, Coverage::All);
        let hours = at_ms as f64 / 3_600_000.0;
        assert!((9.0..=11.0).contains(&hours), "{objects}: {hours} h");
    }
}

#[test]
fn a_list_without_owners_is_repeated_within_a_minute_until_it_shows_one() {
    let mut schedule = RelistSchedule::new(None, 1);
    let mut now_ms = 0;
    for coverage in [Coverage::All, Coverage::Owners, Coverage::Owners] {
        schedule.began(coverage, now_ms);
        schedule.await_first(now_ms);
        schedule.ended(coverage, false, now_ms);
        let (next, at_ms) = schedule.next();
        assert_eq!(next, Coverage::Owners);
        assert!((40_000..=50_000).contains(&(at_ms - now_ms)), "{at_ms}");
        now_ms = at_ms;
    }
    schedule.began(Coverage::Owners, now_ms);
    schedule.ended(Coverage::Owners, false, now_ms);
    assert_eq!(schedule.next().0, Coverage::All);
}

#[test]
fn the_first_relist_is_at_once_and_the_next_one_period_later() {
    let mut schedule = RelistSchedule::new(PERIOD, 1);
    assert_eq!(schedule.next(), (Coverage::All, 0));
    schedule.began(Coverage::All, 0);
    schedule.ended(Coverage::All, false, 1_000);
    let (coverage, at_ms) = schedule.next();
    assert_eq!(coverage, Coverage::All);
    assert!((541_000..=661_000).contains(&at_ms), "{at_ms}");
}

#[test]
fn full_relists_requested_repeatedly_run_at_growing_intervals() {
    let mut schedule = RelistSchedule::new(PERIOD, 1);
    let (mut now_ms, mut gaps) = (0, Vec::new());
    for _ in 0..12 {
        schedule.began(Coverage::All, now_ms);
        schedule.ended(Coverage::All, false, now_ms);
        assert!(schedule.request(Coverage::All, now_ms));
        let (_, at_ms) = schedule.next();
        gaps.push(at_ms - now_ms);
        now_ms = at_ms;
    }
    assert_eq!(gaps[0], 0, "the first 410 is answered at once");
    assert!(gaps[11] >= AGAIN_MS.1 / 2, "{gaps:?}");
}

#[test]
fn a_relist_requested_for_dropped_events_waits_no_longer_than_the_last_one_took() {
    for (took_ms, least_ms, most_ms) in
        [(100, 0, 500), (3_000, 500, 3_000), (200_000, 3_000, 60_000)]
    {
        let mut schedule = RelistSchedule::new(PERIOD, 1);
        let (mut now_ms, mut gaps) = (0, Vec::new());
        for _ in 0..12 {
            schedule.began(Coverage::All, now_ms);
            now_ms += took_ms;
            schedule.ended(Coverage::All, false, now_ms);
            assert!(schedule.request_for_dropped(Coverage::All, now_ms));
            gaps.push(schedule.next().1 - now_ms);
            now_ms = schedule.next().1;
        }
        let longest = gaps.iter().copied().max().unwrap_or(0);
        assert_eq!(gaps[0], 0, "the first is at once");
        assert!(
            (least_ms..=most_ms).contains(&longest),
            "{took_ms}: {gaps:?}"
        );
    }
}

#[test]
fn a_request_counts_once_and_a_full_relist_covers_one_of_owners() {
    let mut schedule = RelistSchedule::new(PERIOD, 1);
    schedule.began(Coverage::All, 0);
    schedule.ended(Coverage::All, false, 0);
    assert!(schedule.request(Coverage::Owners, 10));
    assert!(!schedule.request(Coverage::Owners, 11));
    assert!(schedule.request(Coverage::All, 12));
    assert!(!schedule.request(Coverage::Owners, 13));
    schedule.began(Coverage::Owners, 0);
    assert_eq!(
        schedule.next().0,
        Coverage::All,
        "a relist of owners does not answer a request for a full one"
    );
}

#[test]
fn while_most_entries_fail_owners_are_relisted_at_growing_intervals() {
    let mut schedule = RelistSchedule::new(PERIOD, 1);
    schedule.began(Coverage::All, 0);
    schedule.ended(Coverage::All, false, 0);
    let mut now_ms = 0;
    let mut gaps = Vec::new();
    for failing in std::iter::repeat_n(true, 10).chain([false]) {
        assert!(schedule.request(Coverage::Owners, now_ms));
        let (coverage, at_ms) = schedule.next();
        gaps.push(at_ms - now_ms);
        now_ms = at_ms;
        schedule.began(coverage, now_ms);
        schedule.ended(coverage, failing, now_ms);
    }
    assert_eq!(gaps[0], OWNERS_GAP_MS);
    assert!(gaps[10] >= FAILING_GAP_MS.1 / 2, "{gaps:?}");
    assert!(schedule.request(Coverage::Owners, now_ms));
    assert_eq!(
        schedule.next().1 - now_ms,
        OWNERS_GAP_MS,
        "most entries no longer fail"
    );
}

#[test]
fn failing_owners_that_were_evicted_are_found_again_within_ten_minutes() {
    let mut schedule = RelistSchedule::new(Some(Duration::from_secs(86_400)), 1);
    let (mut now_ms, mut gaps_s) = (0, Vec::new());
    for _ in 0..6 {
        let (coverage, _) = schedule.next();
        schedule.began(coverage, now_ms);
        assert!(schedule.request_late(Coverage::Owners, now_ms));
        assert!(!schedule.request_late(Coverage::Owners, now_ms + 5));
        schedule.listed(coverage, 300);
        schedule.ended(coverage, true, now_ms);
        let (coverage, at_ms) = schedule.next();
        assert_eq!(coverage, Coverage::Owners);
        gaps_s.push((at_ms - now_ms) / 1_000);
        now_ms = at_ms;
    }
    assert_eq!(gaps_s, [60, 120, 240, 480, 600, 600]);
    assert!(!schedule.request_late(Coverage::All, now_ms));
    assert_eq!(schedule.next().0, Coverage::All);

    // Any relist that begins finds them, and a request that is due sooner begins sooner.
    assert!(schedule.request(Coverage::Owners, now_ms));
    let (coverage, _) = schedule.next();
    assert_eq!(coverage, Coverage::Owners);
    schedule.began(coverage, now_ms);
    schedule.ended(coverage, false, now_ms);
    assert_eq!(schedule.next().0, Coverage::All, "owners are not enough");
}

#[test]
fn many_objects_make_the_wait_of_a_late_relist_longer() {
    let mut schedule = RelistSchedule::new(PERIOD, 1);
    schedule.began(Coverage::All, 0);
    schedule.request_late(Coverage::Owners, 0);
    schedule.listed(Coverage::All, 30_000);
    schedule.ended(Coverage::All, false, 0);
    assert_eq!(schedule.next(), (Coverage::Owners, 300_000));
}

use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Request(Coverage),
    Run {
        ends_after_ms: u64,
        fails: bool,
        failing: bool,
    },
    Pass {
        ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let coverage = prop_oneof![Just(Coverage::Owners), Just(Coverage::All)];
    prop_oneof![
        coverage.prop_map(Step::Request),
        (0..5_000u64, any::<bool>(), any::<bool>()).prop_map(|(ends_after_ms, fails, failing)| {
            Step::Run {
                ends_after_ms,
                fails,
                failing,
            }
        }),
        (0..200_000u64).prop_map(|ms| Step::Pass { ms }),
    ]
}

proptest! {
    /// Whatever happens: a relist is always due within the period or the longest delay, and a request is
    /// not lost until a relist of that coverage has begun.
    #[test]
    fn what_is_requested_is_run(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut schedule, mut now_ms, mut requested) = (RelistSchedule::new(PERIOD, 3), 0u64, Some(Coverage::All));
        for step in steps {
            match step {
                Step::Request(coverage) => {
                    schedule.request(coverage, now_ms);
                    if requested != Some(Coverage::All) { requested = Some(coverage); }
                }
                Step::Run { ends_after_ms, fails, failing } => {
                    let (coverage, at_ms) = schedule.next();
                    now_ms = now_ms.max(at_ms);
                    schedule.began(coverage, now_ms);
                    if coverage == Coverage::All || requested == Some(Coverage::Owners) { requested = None; }
                    now_ms += ends_after_ms;
                    if fails {
                        schedule.failed(coverage, now_ms);
                        requested = Some(if requested == Some(Coverage::All) { Coverage::All } else { coverage });
                    } else {
                        schedule.ended(coverage, failing, now_ms);
                    }
                }
                Step::Pass { ms } => now_ms += ms,
            }
            let (coverage, at_ms) = schedule.next();
            prop_assert!(at_ms <= now_ms + 660_000, "nothing is due for {} ms", at_ms - now_ms);
            if requested == Some(Coverage::All) {
                prop_assert_eq!(coverage, Coverage::All);
            }
        }
    }
}

#[test]
fn after_an_outage_no_relist_waits_for_its_back_off() {
    let mut schedule = RelistSchedule::new(PERIOD, 1);
    for now_ms in [0, 1_000, 60_000, 200_000] {
        schedule.began(Coverage::All, now_ms);
        schedule.failed(Coverage::All, now_ms);
    }
    assert!(schedule.next().1 > 200_000);
    schedule.hurry(200_000);
    assert_eq!(schedule.next(), (Coverage::All, 200_000));

    // Failing owners that were evicted.
    schedule.began(Coverage::All, 200_000);
    schedule.ended(Coverage::All, false, 201_000);
    schedule.request_late(Coverage::Owners, 201_000);
    assert!(schedule.next().1 > 250_000);
    schedule.hurry(202_000);
    assert_eq!(schedule.next(), (Coverage::Owners, 202_000));
}
