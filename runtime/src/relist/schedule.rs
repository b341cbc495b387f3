//! When the next join runs: at the start, periodically, and when something is owed to one.
//!
//! Guarantees: pure, time comes in as milliseconds; joins that are owed again and again, or fail,
//! run ever more rarely; one that is owed for events without room waits no longer than the last one
//! took. Leaves to others: running them.

use std::time::Duration;

use crate::relist::Extent;

/// Between the end of a join of owners and the next one that is owed, ms.
const OWNERS_GAP_MS: u64 = 200;
/// The same while most entries fail, ms: it doubles from one to the other.
const CROWDED_GAP_MS: (u64, u64) = (1_000, 60_000);
/// The first and the longest delay of a full join that is owed or failed again, ms.
const AGAIN_MS: (u64, u64) = (500, 60_000);
/// A full join that is owed this long after the last one is the first of a new series, ms.
const CALM_MS: u64 = 120_000;

/// The period of the full join where none is asked for, ms.
const PERIOD_MS: u64 = 600_000;
/// And at least so much for each object that one reads, ms: a kube-apiserver spends 0.2 to 0.5 ms of
/// CPU on it (`loadgen restarts`, 5,000 and 100,000 EdgeApps), so that joins take 2 to 5 % of one core,
/// however many objects there are.
const EACH_MS: u64 = 10;

/// The schedule of joins.
#[derive(Debug)]
pub struct Resync {
    period_ms: u64,
    /// Nobody asked for that period.
    by_size: bool,
    periodic_ms: u64,
    owed: Option<(Extent, u64)>,
    /// Full joins owed or failed in a row.
    again: u32,
    /// Joins in a row that ended while most entries were failing.
    crowded: u32,
    began_ms: u64,
    last_end_ms: u64,
    /// How long the last full join took, until all that it found was queued.
    took_ms: u64,
    random: u64,
}

impl Resync {
    /// A first full join at once, then one every `period`, give or take a tenth; without one, a period that
    /// follows from what a join reads.
    pub fn new(period: Option<Duration>, seed: u64) -> Self {
        Self {
            period_ms: period.map_or(PERIOD_MS, in_ms),
            by_size: period.is_none(),
            periodic_ms: u64::MAX,
            owed: Some((Extent::All, 0)),
            again: 0,
            crowded: 0,
            began_ms: 0,
            last_end_ms: 0,
            took_ms: u64::MAX,
            random: seed | 1,
        }
    }

    /// When the next join is due, ms, and how much it looks at.
    pub fn next(&self) -> (Extent, u64) {
        match self.owed {
            Some((extent, at_ms)) if at_ms <= self.periodic_ms => (extent, at_ms),
            _ => (Extent::All, self.periodic_ms),
        }
    }

    /// Events found no room. True when this is news. The join that finds them in bulk costs the server less
    /// than the requests that follow from it, so half of the time may go to such joins, no more.
    pub fn owe_events(&mut self, extent: Extent, now_ms: u64) -> bool {
        let news = self.owe(extent, now_ms);
        if news && let Some((Extent::All, at_ms)) = &mut self.owed {
            *at_ms = (*at_ms).min(now_ms + self.took_ms.clamp(AGAIN_MS.0, AGAIN_MS.1));
        }
        news
    }

    /// Something was missed. True when this is news.
    pub fn owe(&mut self, extent: Extent, now_ms: u64) -> bool {
        let known = match self.owed {
            Some((Extent::All, _)) => true,
            Some((Extent::Owners, _)) => extent == Extent::Owners,
            None => false,
        };
        if known {
            return false;
        }
        let at_ms = match extent {
            Extent::Owners => (self.last_end_ms + self.gap_ms()).max(now_ms),
            Extent::All => {
                if now_ms.saturating_sub(self.last_end_ms) > CALM_MS {
                    self.again = 0;
                }
                let delay_ms = self.delay_ms();
                self.again += 1;
                now_ms + delay_ms
            }
        };
        self.owed = Some((extent, at_ms));
        true
    }

    /// A join begins: what was owed to it is settled, what comes from now on is owed again.
    pub fn began(&mut self, extent: Extent, now_ms: u64) {
        self.began_ms = now_ms;
        if extent == Extent::All || matches!(self.owed, Some((Extent::Owners, _))) {
            self.owed = None;
        }
        if extent == Extent::All {
            self.periodic_ms = u64::MAX;
        }
    }

    /// A join has read all it had to, `objects` of them. The period where this changes it.
    pub fn read(&mut self, extent: Extent, objects: usize) -> Option<Duration> {
        if extent == Extent::Owners || !self.by_size {
            return None;
        }
        let period_ms = PERIOD_MS.max(EACH_MS * objects as u64);
        let before_ms = std::mem::replace(&mut self.period_ms, period_ms);
        // A few more or fewer are no news.
        let news = period_ms.abs_diff(before_ms) > before_ms / 2;
        news.then(|| Duration::from_millis(period_ms))
    }

    /// A join is through. `crowded`: most entries are of owners that fail, so that what it found is
    /// probably tried again before its time.
    pub fn ended(&mut self, extent: Extent, crowded: bool, now_ms: u64) {
        self.last_end_ms = now_ms;
        self.crowded = if crowded { self.crowded + 1 } else { 0 };
        if extent == Extent::All {
            self.took_ms = now_ms - self.began_ms;
            self.schedule(now_ms);
        }
    }

    /// A join could not read on; it is tried again later.
    pub fn failed(&mut self, extent: Extent, now_ms: u64) {
        self.last_end_ms = now_ms;
        let delay_ms = self.delay_ms().max(AGAIN_MS.0);
        self.again += 1;
        let extent = match self.owed {
            Some((Extent::All, _)) => Extent::All,
            _ => extent,
        };
        self.owed = Some((extent, now_ms + delay_ms));
    }

    /// An owner wants to be looked at after `after` at the latest: the shortest wish sets the period.
    pub fn within(&mut self, after: Duration, now_ms: u64) {
        let after_ms = in_ms(after);
        if after_ms < self.period_ms {
            (self.period_ms, self.by_size) = (after_ms, false);
            if self.periodic_ms != u64::MAX {
                self.schedule(now_ms);
            }
        }
    }

    /// Between joins of owners.
    fn gap_ms(&mut self) -> u64 {
        match self.crowded {
            0 => OWNERS_GAP_MS,
            times => self.grown_ms(CROWDED_GAP_MS, times),
        }
    }

    fn schedule(&mut self, now_ms: u64) {
        let tenth = self.period_ms / 10;
        self.periodic_ms = now_ms.saturating_add(self.period_ms - tenth + self.random(2 * tenth));
    }

    /// Until a full join that is owed or failed again.
    fn delay_ms(&mut self) -> u64 {
        match self.again {
            0 => 0,
            times => self.grown_ms(AGAIN_MS, times),
        }
    }

    /// The first of two at the first time, then doubling up to the second: half of it is jitter, so that
    /// replicas do not list in step.
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

/// At least a second.
fn in_ms(period: Duration) -> u64 {
    u64::try_from(period.as_millis())
        .unwrap_or(u64::MAX)
        .max(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten minutes, asked for.
    const PERIOD: Option<Duration> = Some(Duration::from_secs(600));

    #[test]
    fn without_a_wish_the_period_follows_from_what_a_join_reads() {
        let mut resync = Resync::new(None, 1);
        let mut due_s = |objects| {
            resync.began(Extent::All, 0);
            let news = resync.read(Extent::All, objects).map(|p| p.as_secs());
            resync.ended(Extent::All, false, 0);
            (news, resync.next().1 / 60_000)
        };
        let minutes = |period: u64| period * 9 / 10..=period * 11 / 10;
        for (objects, news, period_min) in [
            (0, None, 10),
            (15_000, None, 10),
            (60_000, None, 10),
            (80_000, None, 13),
            (300_000, Some(3_000), 50),
            (310_000, None, 51),
            (15_000, Some(600), 10),
        ] {
            let (told, due_min) = due_s(objects);
            assert_eq!(told, news, "{objects}");
            assert!(
                minutes(period_min).contains(&due_min),
                "{objects}: {due_min} min"
            );
        }
    }

    #[test]
    fn a_period_that_was_asked_for_stands_whatever_a_join_reads() {
        for mut resync in [Resync::new(PERIOD, 1), Resync::new(None, 1)] {
            resync.within(Duration::from_secs(60), 0);
            resync.began(Extent::All, 0);
            assert_eq!(resync.read(Extent::All, 300_000), None);
            resync.ended(Extent::All, false, 0);
            assert!(resync.next().1 <= 66_000);
        }
    }

    #[test]
    fn the_first_join_is_at_once_and_the_next_one_period_later() {
        let mut resync = Resync::new(PERIOD, 1);
        assert_eq!(resync.next(), (Extent::All, 0));
        resync.began(Extent::All, 0);
        resync.ended(Extent::All, false, 1_000);
        let (extent, at_ms) = resync.next();
        assert_eq!(extent, Extent::All);
        assert!((541_000..=661_000).contains(&at_ms), "{at_ms}");
    }

    #[test]
    fn full_relists_requested_again_and_again_run_ever_more_rarely() {
        let mut resync = Resync::new(PERIOD, 1);
        let (mut now_ms, mut gaps) = (0, Vec::new());
        for _ in 0..12 {
            resync.began(Extent::All, now_ms);
            resync.ended(Extent::All, false, now_ms);
            assert!(resync.owe(Extent::All, now_ms));
            let (_, at_ms) = resync.next();
            gaps.push(at_ms - now_ms);
            now_ms = at_ms;
        }
        assert_eq!(gaps[0], 0, "the first 410 is answered at once");
        assert!(gaps[11] >= AGAIN_MS.1 / 2, "{gaps:?}");
    }

    #[test]
    fn a_join_owed_for_events_waits_no_longer_than_the_last_one_took() {
        for (took_ms, least_ms, most_ms) in
            [(100, 0, 500), (3_000, 500, 3_000), (200_000, 3_000, 60_000)]
        {
            let mut resync = Resync::new(PERIOD, 1);
            let (mut now_ms, mut gaps) = (0, Vec::new());
            for _ in 0..12 {
                resync.began(Extent::All, now_ms);
                now_ms += took_ms;
                resync.ended(Extent::All, false, now_ms);
                assert!(resync.owe_events(Extent::All, now_ms));
                gaps.push(resync.next().1 - now_ms);
                now_ms = resync.next().1;
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
    fn what_is_owed_is_owed_once_and_the_whole_covers_the_part() {
        let mut resync = Resync::new(PERIOD, 1);
        resync.began(Extent::All, 0);
        resync.ended(Extent::All, false, 0);
        assert!(resync.owe(Extent::Owners, 10));
        assert!(!resync.owe(Extent::Owners, 11));
        assert!(resync.owe(Extent::All, 12));
        assert!(!resync.owe(Extent::Owners, 13));
        resync.began(Extent::Owners, 0);
        assert_eq!(
            resync.next().0,
            Extent::All,
            "a join of owners does not settle a full one"
        );
    }

    #[test]
    fn while_most_entries_fail_owners_are_joined_ever_more_rarely() {
        let mut resync = Resync::new(PERIOD, 1);
        resync.began(Extent::All, 0);
        resync.ended(Extent::All, false, 0);
        let mut now_ms = 0;
        let mut gaps = Vec::new();
        for crowded in std::iter::repeat_n(true, 10).chain([false]) {
            assert!(resync.owe(Extent::Owners, now_ms));
            let (extent, at_ms) = resync.next();
            gaps.push(at_ms - now_ms);
            now_ms = at_ms;
            resync.began(extent, now_ms);
            resync.ended(extent, crowded, now_ms);
        }
        assert_eq!(gaps[0], OWNERS_GAP_MS);
        assert!(gaps[10] >= CROWDED_GAP_MS.1 / 2, "{gaps:?}");
        assert!(resync.owe(Extent::Owners, now_ms));
        assert_eq!(resync.next().1 - now_ms, OWNERS_GAP_MS, "the crowd is gone");
    }

    #[test]
    fn the_shortest_wish_sets_the_period() {
        let mut resync = Resync::new(PERIOD, 1);
        resync.began(Extent::All, 0);
        resync.ended(Extent::All, false, 0);
        resync.within(Duration::from_secs(300), 0);
        resync.within(Duration::from_secs(900), 0);
        assert!(resync.next().1 <= 330_000);
    }

    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Owe(Extent),
        Run {
            ends_after_ms: u64,
            fails: bool,
            crowded: bool,
        },
        Within {
            seconds: u64,
        },
        Pass {
            ms: u64,
        },
    }

    fn step() -> impl Strategy<Value = Step> {
        let extent = prop_oneof![Just(Extent::Owners), Just(Extent::All)];
        prop_oneof![
            extent.prop_map(Step::Owe),
            (0..5_000u64, any::<bool>(), any::<bool>()).prop_map(
                |(ends_after_ms, fails, crowded)| {
                    Step::Run {
                        ends_after_ms,
                        fails,
                        crowded,
                    }
                }
            ),
            (1..2_000u64).prop_map(|seconds| Step::Within { seconds }),
            (0..200_000u64).prop_map(|ms| Step::Pass { ms }),
        ]
    }

    proptest! {
        /// Whatever happens: a join is always due within the period or the longest delay, and what is
        /// owed is not lost until a join of that extent has begun.
        #[test]
        fn what_is_owed_is_run(steps in proptest::collection::vec(step(), 0..60)) {
            let (mut resync, mut now_ms, mut owed) = (Resync::new(PERIOD, 3), 0u64, Some(Extent::All));
            for step in steps {
                match step {
                    Step::Owe(extent) => {
                        resync.owe(extent, now_ms);
                        if owed != Some(Extent::All) { owed = Some(extent); }
                    }
                    Step::Run { ends_after_ms, fails, crowded } => {
                        let (extent, at_ms) = resync.next();
                        now_ms = now_ms.max(at_ms);
                        resync.began(extent, now_ms);
                        if extent == Extent::All || owed == Some(Extent::Owners) { owed = None; }
                        now_ms += ends_after_ms;
                        if fails {
                            resync.failed(extent, now_ms);
                            owed = Some(if owed == Some(Extent::All) { Extent::All } else { extent });
                        } else {
                            resync.ended(extent, crowded, now_ms);
                        }
                    }
                    Step::Within { seconds } => resync.within(Duration::from_secs(seconds), now_ms),
                    Step::Pass { ms } => now_ms += ms,
                }
                let (extent, at_ms) = resync.next();
                prop_assert!(at_ms <= now_ms + 660_000, "nothing is due for {} ms", at_ms - now_ms);
                if owed == Some(Extent::All) {
                    prop_assert_eq!(extent, Extent::All);
                }
            }
        }
    }
}
