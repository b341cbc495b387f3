//! When the next relist runs: at the start, periodically, and when one is requested.
//!
//! Guarantees: pure, time comes in as milliseconds. Relists that are requested again and again, or fail, run
//! at growing intervals. A relist that is requested for dropped events waits no longer than the last one
//! took. Leaves to others: running them (`controller`).

use std::time::Duration;

use crate::relist::Coverage;

/// Between the end of a relist of owners and the next one that is requested, ms.
const OWNERS_GAP_MS: u64 = 200;
/// The same while most entries fail, ms: it doubles from the first to the second.
const FAILING_GAP_MS: (u64, u64) = (1_000, 60_000);
/// The first and the longest delay of a full relist that is requested again or failed, ms.
const AGAIN_MS: (u64, u64) = (500, 60_000);
/// A full relist that is requested this long after the last one starts again with the first delay, ms.
const CALM_MS: u64 = 120_000;

/// The period of the full relist where none is configured, ms.
const PERIOD_MS: u64 = 600_000;
/// The least share of that period for each object that a relist reads, ms. A kube-apiserver spends 0.2 to
/// 0.5 ms of CPU on an object (`loadgen bench --restarts`, 5,000 and 100,000 objects), so that relists take 2 to
/// 5 % of one core, however many objects there are.
const EACH_MS: u64 = 10;

/// The schedule of relists.
#[derive(Debug)]
pub struct RelistSchedule {
    period_ms: u64,
    /// The period is not configured: it follows from the number of objects.
    by_size: bool,
    periodic_ms: u64,
    requested: Option<(Coverage, u64)>,
    /// Full relists requested or failed in a row.
    again: u32,
    /// Relists in a row that ended while most entries were failing.
    failing: u32,
    began_ms: u64,
    last_end_ms: u64,
    /// How long the last full relist took, until all that it found was queued.
    took_ms: u64,
    random: u64,
}

impl RelistSchedule {
    /// A first full relist at once, then one every `period`, give or take a tenth. Without `period`, it follows
    /// from the number of objects.
    pub fn new(period: Option<Duration>, seed: u64) -> Self {
        Self {
            period_ms: period.map_or(PERIOD_MS, in_ms),
            by_size: period.is_none(),
            periodic_ms: u64::MAX,
            requested: Some((Coverage::All, 0)),
            again: 0,
            failing: 0,
            began_ms: 0,
            last_end_ms: 0,
            took_ms: u64::MAX,
            random: seed | 1,
        }
    }

    /// When the next relist is due, ms, and what it covers.
    pub fn next(&self) -> (Coverage, u64) {
        match self.requested {
            Some((coverage, at_ms)) if at_ms <= self.periodic_ms => (coverage, at_ms),
            _ => (Coverage::All, self.periodic_ms),
        }
    }

    /// Requests a relist because events were dropped. True when none was requested. The relist that finds them
    /// in bulk costs the server less than the requests that follow from it, so up to half of the time may go
    /// to such relists.
    pub fn request_for_dropped(&mut self, coverage: Coverage, now_ms: u64) -> bool {
        let is_new = self.request(coverage, now_ms);
        if is_new && let Some((Coverage::All, at_ms)) = &mut self.requested {
            *at_ms = (*at_ms).min(now_ms + self.took_ms.clamp(AGAIN_MS.0, AGAIN_MS.1));
        }
        is_new
    }

    /// Requests a relist because something was missed. True when none was requested.
    pub fn request(&mut self, coverage: Coverage, now_ms: u64) -> bool {
        let known = match self.requested {
            Some((Coverage::All, _)) => true,
            Some((Coverage::Owners, _)) => coverage == Coverage::Owners,
            None => false,
        };
        if known {
            return false;
        }
        let at_ms = match coverage {
            Coverage::Owners => (self.last_end_ms + self.gap_ms()).max(now_ms),
            Coverage::All => {
                if now_ms.saturating_sub(self.last_end_ms) > CALM_MS {
                    self.again = 0;
                }
                let delay_ms = self.delay_ms();
                self.again += 1;
                now_ms + delay_ms
            }
        };
        self.requested = Some((coverage, at_ms));
        true
    }

    /// A relist begins: it answers what was requested so far.
    pub fn began(&mut self, coverage: Coverage, now_ms: u64) {
        self.began_ms = now_ms;
        if coverage == Coverage::All || matches!(self.requested, Some((Coverage::Owners, _))) {
            self.requested = None;
        }
        if coverage == Coverage::All {
            self.periodic_ms = u64::MAX;
        }
    }

    /// A relist has read all lists, `objects` in total. The new period, where it changes notably.
    pub fn listed(&mut self, coverage: Coverage, objects: usize) -> Option<Duration> {
        if coverage == Coverage::Owners || !self.by_size {
            return None;
        }
        let period_ms = PERIOD_MS.max(EACH_MS * objects as u64);
        let before_ms = std::mem::replace(&mut self.period_ms, period_ms);
        let is_new = period_ms.abs_diff(before_ms) > before_ms / 2;
        is_new.then(|| Duration::from_millis(period_ms))
    }

    /// A relist is complete. `failing`: most entries are of failing owners, so that what it found is probably
    /// retried before it is due.
    pub fn ended(&mut self, coverage: Coverage, failing: bool, now_ms: u64) {
        self.last_end_ms = now_ms;
        self.failing = if failing { self.failing + 1 } else { 0 };
        if coverage == Coverage::All {
            self.took_ms = now_ms - self.began_ms;
            self.schedule(now_ms);
        }
    }

    /// A relist could not read on; it is retried later.
    pub fn failed(&mut self, coverage: Coverage, now_ms: u64) {
        self.last_end_ms = now_ms;
        let delay_ms = self.delay_ms().max(AGAIN_MS.0);
        self.again += 1;
        let coverage = match self.requested {
            Some((Coverage::All, _)) => Coverage::All,
            _ => coverage,
        };
        self.requested = Some((coverage, now_ms + delay_ms));
    }

    /// A plan wants to be computed again after `after` at the latest: the shortest such time is the period.
    pub fn limit_period(&mut self, after: Duration, now_ms: u64) {
        let after_ms = in_ms(after);
        if after_ms < self.period_ms {
            (self.period_ms, self.by_size) = (after_ms, false);
            if self.periodic_ms != u64::MAX {
                self.schedule(now_ms);
            }
        }
    }

    /// Between relists of owners.
    fn gap_ms(&mut self) -> u64 {
        match self.failing {
            0 => OWNERS_GAP_MS,
            times => self.grown_ms(FAILING_GAP_MS, times),
        }
    }

    fn schedule(&mut self, now_ms: u64) {
        let tenth = self.period_ms / 10;
        self.periodic_ms = now_ms.saturating_add(self.period_ms - tenth + self.random(2 * tenth));
    }

    /// Until a full relist that is requested again or failed.
    fn delay_ms(&mut self) -> u64 {
        match self.again {
            0 => 0,
            times => self.grown_ms(AGAIN_MS, times),
        }
    }

    /// `first`, then doubling up to `longest`. Half of it is jitter, so that replicas do not list at the same
    /// time.
    fn grown_ms(&mut self, (first, longest): (u64, u64), times: u32) -> u64 {
        let step = (first << (times - 1).min(10)).min(longest);
        step / 2 + self.random(step / 2)
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % (below + 1)
    }
}

/// In milliseconds, at least a second.
fn in_ms(period: Duration) -> u64 {
    u64::try_from(period.as_millis())
        .unwrap_or(u64::MAX)
        .max(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten minutes, configured.
    const PERIOD: Option<Duration> = Some(Duration::from_secs(600));

    #[test]
    fn without_a_configured_period_it_follows_from_the_number_of_objects() {
        let mut schedule = RelistSchedule::new(None, 1);
        let mut due_s = |objects| {
            schedule.began(Coverage::All, 0);
            let is_new = schedule.listed(Coverage::All, objects).map(|p| p.as_secs());
            schedule.ended(Coverage::All, false, 0);
            (is_new, schedule.next().1 / 60_000)
        };
        let minutes = |period: u64| period * 9 / 10..=period * 11 / 10;
        for (objects, is_new, period_min) in [
            (0, None, 10),
            (15_000, None, 10),
            (60_000, None, 10),
            (80_000, None, 13),
            (300_000, Some(3_000), 50),
            (310_000, None, 51),
            (15_000, Some(600), 10),
        ] {
            let (told, due_min) = due_s(objects);
            assert_eq!(told, is_new, "{objects}");
            assert!(
                minutes(period_min).contains(&due_min),
                "{objects}: {due_min} min"
            );
        }
    }

    #[test]
    fn a_configured_period_stays_whatever_a_relist_reads() {
        for mut schedule in [RelistSchedule::new(PERIOD, 1), RelistSchedule::new(None, 1)] {
            schedule.limit_period(Duration::from_secs(60), 0);
            schedule.began(Coverage::All, 0);
            assert_eq!(schedule.listed(Coverage::All, 300_000), None);
            schedule.ended(Coverage::All, false, 0);
            assert!(schedule.next().1 <= 66_000);
        }
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
    fn the_shortest_requeue_sets_the_period() {
        let mut schedule = RelistSchedule::new(PERIOD, 1);
        schedule.began(Coverage::All, 0);
        schedule.ended(Coverage::All, false, 0);
        schedule.limit_period(Duration::from_secs(300), 0);
        schedule.limit_period(Duration::from_secs(900), 0);
        assert!(schedule.next().1 <= 330_000);
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
        LimitPeriod {
            seconds: u64,
        },
        Pass {
            ms: u64,
        },
    }

    fn step() -> impl Strategy<Value = Step> {
        let coverage = prop_oneof![Just(Coverage::Owners), Just(Coverage::All)];
        prop_oneof![
            coverage.prop_map(Step::Request),
            (0..5_000u64, any::<bool>(), any::<bool>()).prop_map(
                |(ends_after_ms, fails, failing)| {
                    Step::Run {
                        ends_after_ms,
                        fails,
                        failing,
                    }
                }
            ),
            (1..2_000u64).prop_map(|seconds| Step::LimitPeriod { seconds }),
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
                    Step::LimitPeriod { seconds } => schedule.limit_period(Duration::from_secs(seconds), now_ms),
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
}
