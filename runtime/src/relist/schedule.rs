//! When the next relist runs: at the start, periodically, and when one is requested.
//!
//! Guarantees: pure, time comes in as milliseconds. Relists that are requested again and again, or fail, run
//! at growing intervals. A relist that is requested for dropped events waits no longer than the last one
//! took. What a late relist is requested for, such as failing owners that were evicted, is found again within ten
//! minutes, and the first owner of all within a minute, whatever the period is. Leaves to others: running them (`controller`).

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

/// The first and the longest wait of a late relist, ms. Failing owners that were evicted would back off for minutes as
/// well.
const LATE_MS: (u64, u64) = (60_000, 600_000);
/// The least share of that wait for each object that a relist reads, ms. A kube-apiserver spends 0.2 to
/// 0.5 ms of CPU on an object (`loadgen bench --restarts`, 5,000 and 100,000 objects), so that late relists of up to
/// 60,000 objects take 2 to 5 % of one core.
const EACH_MS: u64 = 10;

/// The period of the full relist where none is configured, ms: ten hours, as in controller-runtime (`SyncPeriod` in
/// pkg/cache/cache.go). It is a safety net: no mechanism relies on it.
const PERIOD_MS: u64 = 36_000_000;

/// From a list without owners to the next one, ms: the shortest time and what is random in it. A datastore may
/// not show the first object of a new CRD to a watch (kine); a list of no objects costs the server next to nothing.
const EMPTY_MS: (u64, u64) = (40_000, 10_000);

/// The schedule of relists.
#[derive(Debug)]
pub struct RelistSchedule {
    period_ms: u64,
    periodic_ms: u64,
    requested: Option<(Coverage, u64)>,
    /// A relist that waits longer than any other, and since when it is requested.
    late: Option<(Coverage, u64)>,
    /// How often in a row a late relist was requested.
    late_again: u32,
    /// The last list showed no owner: when the owners are listed again.
    empty_ms: Option<u64>,
    /// Objects that the last full relist read.
    objects: u64,
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
    /// A first full relist at once, then one every `period`, give or take a tenth. Without `period`, every ten hours.
    pub fn new(period: Option<Duration>, seed: u64) -> Self {
        Self {
            period_ms: period.map_or(PERIOD_MS, in_ms),
            periodic_ms: u64::MAX,
            requested: Some((Coverage::All, 0)),
            late: None,
            late_again: 0,
            empty_ms: None,
            objects: 0,
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
        let periodic = (Coverage::All, self.periodic_ms);
        let late = self.late.map(|(coverage, since_ms)| {
            let after_ms = (EACH_MS * self.objects).max(self.late_ms());
            (coverage, since_ms + after_ms.min(LATE_MS.1))
        });
        let empty = self.empty_ms.map(|at_ms| (Coverage::Owners, at_ms));
        let all = [self.requested, late, empty, Some(periodic)]
            .into_iter()
            .flatten();
        // The first of those that are due at the same time.
        all.min_by_key(|(_, at_ms)| *at_ms).unwrap_or(periodic)
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

    /// Something is to be found again that waits for minutes or may never change: failing owners that were evicted,
    /// what could not be decoded, requeues that did not fit. True when no such relist was requested. As often as the
    /// number of objects allows, and at least every ten minutes.
    pub fn request_late(&mut self, coverage: Coverage, now_ms: u64) -> bool {
        let Some((known, _)) = &mut self.late else {
            self.late = Some((coverage, now_ms));
            return true;
        };
        if coverage == Coverage::All {
            *known = Coverage::All;
        }
        false
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
        if coverage == Coverage::All || matches!(self.late, Some((Coverage::Owners, _))) {
            self.late_again += u32::from(self.late.take().is_some());
        }
        self.empty_ms = None;
        if coverage == Coverage::All {
            self.periodic_ms = u64::MAX;
        }
    }

    /// A relist has read all lists, `objects` in total.
    pub fn listed(&mut self, coverage: Coverage, objects: usize) {
        if coverage == Coverage::All {
            self.objects = objects as u64;
        }
    }

    /// There is no owner: they are listed again within a minute.
    pub fn await_first(&mut self, now_ms: u64) {
        if !mutant!(FirstOwnerAwaited) {
            self.empty_ms = Some(now_ms + EMPTY_MS.0 + self.random(EMPTY_MS.1));
        }
    }

    /// A relist is complete. `failing`: most entries are of failing owners, so that what it found is probably
    /// retried before it is due.
    pub fn ended(&mut self, coverage: Coverage, failing: bool, now_ms: u64) {
        self.last_end_ms = now_ms;
        self.failing = if failing { self.failing + 1 } else { 0 };
        if self.late.is_none() {
            self.late_again = 0;
        }
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
        if !mutant!(FailedRelistForgotten) {
            self.requested = Some((coverage, now_ms + delay_ms));
        }
    }

    /// An outage of the server has ended: a relist that waits because it failed, or for failing owners, begins.
    pub fn hurry(&mut self, now_ms: u64) {
        (self.again, self.failing) = (0, 0);
        if let Some((coverage, _)) = self.late.take() {
            self.request(coverage, now_ms);
        }
        if let Some((_, at_ms)) = &mut self.requested {
            *at_ms = (*at_ms).min(now_ms);
        }
    }

    /// How long a late relist waits, where the objects are few.
    fn late_ms(&self) -> u64 {
        LATE_MS.0 << self.late_again.min(4)
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
mod tests;
