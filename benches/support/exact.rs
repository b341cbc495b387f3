//! Criterion measurements of bytes and requests.
//!
//! Guarantees: median and mean of an even number of samples are those of the counts themselves; each
//! sample is off by less than a hundred-thousandth, up and down in turn. That is on purpose: a count is
//! often the same in every sample, and criterion 0.8.2 cannot compare two samples without any spread
//! (Welch's t is 0/0, nothing is left of its distribution, and its plot panics). Nor can it plot a t
//! that is beyond all measure: with n samples t is at most the root of n over the spread.
//! Leaves to others: taking the count.

use std::cell::Cell;

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};

use super::figure::Unit;

/// How far the samples are put apart at most, as a fraction of the value: below every digit that is
/// printed, and t stays near a million where an `i32` has to hold its place in a plot.
const SPREAD: f64 = 5e-6;
/// The golden ratio's fraction: its multiples fill the unit interval evenly (Weyl 1916).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Counts something exactly.
pub struct Exact {
    formatter: Formatter,
    /// What `Bencher::iter` reads before and after.
    counter: fn() -> u64,
    /// Values converted so far.
    nth: Cell<u32>,
}

impl Exact {
    /// Bytes that the bench hands over (`iter_custom`).
    pub fn bytes() -> Self {
        Self::new(Unit::Bytes, || 0)
    }

    /// Requests that the bench hands over (`iter_custom`).
    pub fn requests() -> Self {
        Self::new(Unit::Requests, || 0)
    }

    /// Bytes by which `counter` grows.
    pub fn bytes_of(counter: fn() -> u64) -> Self {
        Self::new(Unit::Bytes, counter)
    }

    fn new(unit: Unit, counter: fn() -> u64) -> Self {
        Self {
            formatter: Formatter(unit),
            counter,
            nth: Cell::new(0),
        }
    }
}

impl Measurement for Exact {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        (self.counter)()
    }
    fn end(&self, before: u64) -> u64 {
        (self.counter)().saturating_sub(before)
    }
    fn add(&self, one: &u64, other: &u64) -> u64 {
        one + other
    }
    fn zero(&self) -> u64 {
        0
    }
    fn to_f64(&self, count: &u64) -> f64 {
        let nth = self.nth.replace(self.nth.get().wrapping_add(1));
        let distance = SPREAD * (0.5 + 0.5 * (f64::from(nth / 2) * GOLDEN).fract());
        let aside = if nth.is_multiple_of(2) {
            distance
        } else {
            -distance
        };
        *count as f64 * (1.0 + aside)
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        &self.formatter
    }
}

struct Formatter(Unit);

impl ValueFormatter for Formatter {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (divisor, unit) = match (self.0, typical) {
            (Unit::Bytes, bytes) if bytes >= 1e6 => (1e6, "MB"),
            (Unit::Bytes, bytes) if bytes >= 1e3 => (1e3, "KB"),
            _ => return self.scale_for_machines(values),
        };
        for value in values {
            *value /= divisor;
        }
        unit
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, values: &mut [f64]) -> &'static str {
        self.scale_for_machines(values)
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        match self.0 {
            Unit::Bytes => "B",
            Unit::Requests => "requests",
            Unit::Nanoseconds => "ns",
            Unit::Milliseconds => "ms",
        }
    }
}
