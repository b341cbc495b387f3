//! A histogram of durations for `/metrics`. The kube-rs rivals include this file by path, so that the
//! same code measures both; it depends on `std` alone.
//!
//! Guarantees: log-linear buckets, four per power of two from 2^-16 s (15 µs) to 64 s, so a bound
//! is at most 1.25 times the bound below it; fixed size (about 730 bytes); recording takes two
//! atomic additions and no lock. A scrape during recording is off by what is being recorded, but
//! its `+Inf` bucket always equals its `_count`.
//! Leaves to others: labels; quantiles, which follow from the bounds.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Powers of two between 2^-16 s and 2^6 s.
const OCTAVES: usize = 22;
const PER_OCTAVE: usize = 4;
/// The first bucket holds all up to 2^-16 s, the last all above 64 s.
const BUCKETS: usize = 1 + OCTAVES * PER_OCTAVE + 1;
/// Bounds are whole multiples of 2^-18 s: a quarter of the first bound.
const UNITS_PER_S: u128 = 1 << 18;

/// Counts of durations by bucket.
#[derive(Debug)]
pub struct Histogram {
    counts: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Histogram {
    pub const fn new() -> Self {
        Histogram {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            sum_ns: AtomicU64::new(0),
        }
    }

    /// Counts one duration.
    pub fn record(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(duration)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Appends it in Prometheus' text format, in seconds: cumulative buckets where the count
    /// changes, `+Inf`, `_sum` and `_count`.
    pub fn render(&self, name: &str, help: &str, out: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} histogram\n");
        let mut count = 0;
        for (index, counter) in self.counts.iter().enumerate() {
            let here = counter.load(Ordering::Relaxed);
            count += here;
            if let (1.., Some(bound)) = (here, upper_bound_s(index)) {
                let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {count}");
            }
        }
        let sum_s = Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = write!(out, "{name}_sum {sum_s}\n{name}_count {count}\n");
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// The bucket whose bounds hold the duration: above the lower, at most the upper.
fn bucket(duration: Duration) -> usize {
    let units = (duration.as_nanos().min(u64::MAX.into()) * UNITS_PER_S).div_ceil(1_000_000_000);
    // Upper bounds are inclusive: one less makes them exclusive, as shifting wants them.
    let below = units.saturating_sub(1);
    if below < PER_OCTAVE as u128 {
        return 0;
    }
    let octave = below.ilog2() as usize - 2;
    let quarter = (below >> octave) as usize - PER_OCTAVE;
    (1 + octave * PER_OCTAVE + quarter).min(BUCKETS - 1)
}

/// `None` for the last bucket, which has no bound.
fn upper_bound_s(index: usize) -> Option<f64> {
    let units = match index {
        0 => PER_OCTAVE,
        index if index < BUCKETS - 1 => {
            let (octave, quarter) = ((index - 1) / PER_OCTAVE, (index - 1) % PER_OCTAVE);
            (PER_OCTAVE + quarter + 1) << octave
        }
        _ => return None,
    };
    Some(units as f64 / UNITS_PER_S as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_is_inclusive_and_a_nanosecond_more_is_the_next_bucket() {
        for index in 0..BUCKETS - 1 {
            let bound_s = upper_bound_s(index).unwrap_or(f64::NAN);
            let at_ns = (bound_s * 1e9).floor() as u64;
            assert_eq!(bucket(Duration::from_nanos(at_ns)), index, "{bound_s} s");
            let above = Duration::from_nanos(at_ns + 1);
            assert_eq!(bucket(above), index + 1, "above {bound_s} s");
        }
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
        assert_eq!(upper_bound_s(BUCKETS - 2), Some(64.0));
    }

    #[test]
    fn a_scrape_shows_the_buckets_that_hold_something() {
        let histogram = Histogram::new();
        for ms in [1, 1, 250, 70_000] {
            histogram.record(Duration::from_millis(ms));
        }
        let mut out = String::new();
        histogram.render("reconcile_duration_seconds", "One reconcile.", &mut out);
        let want = "\
# HELP reconcile_duration_seconds One reconcile.
# TYPE reconcile_duration_seconds histogram
reconcile_duration_seconds_bucket{le=\"0.001220703125\"} 2
reconcile_duration_seconds_bucket{le=\"0.25\"} 3
reconcile_duration_seconds_bucket{le=\"+Inf\"} 4
reconcile_duration_seconds_sum 70.252
reconcile_duration_seconds_count 4
";
        assert_eq!(out, want);
    }
}
