//! When each object is due, and whether the subject kept up with the offer.
//!
//! Guarantees: due times are absolute, so a late send never moves the next one (open loop).
//! Leaves to others: the sending (`generate`) and the clock; times here are offsets from the
//! start of the offer.

use std::time::Duration;

/// How objects are offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Everything is due at once and sent as fast as the server takes it. A slow server or
    /// subject then makes latencies longer, instead of making the offer quietly smaller.
    Burst,
    /// A fixed rate on an absolute timetable.
    Steady { per_s: f64 },
}

impl Pace {
    /// When object `index` is due.
    pub fn due(self, index: usize) -> Duration {
        match self {
            Pace::Steady { per_s } if per_s > 0.0 => Duration::from_secs_f64(index as f64 / per_s),
            Pace::Steady { .. } | Pace::Burst => Duration::ZERO,
        }
    }
}

/// Whether the backlog (sent and not yet observed) kept growing while objects were sent: by more
/// than a tenth of the offered rate over the last four fifths of the sending, and by more than
/// ten objects. Both slices are offsets in ns, in any order; what was never observed is left out
/// of `observed_ns` and so stays in the backlog.
pub fn saturated(sent_ns: &[u64], observed_ns: &[u64]) -> bool {
    let (Some(&first), Some(&last)) = (sent_ns.iter().min(), sent_ns.iter().max()) else {
        return false;
    };
    let span_ns = last - first;
    if span_ns == 0 {
        return false;
    }
    let mut sent = sent_ns.to_vec();
    let mut observed = observed_ns.to_vec();
    sent.sort_unstable();
    observed.sort_unstable();
    let backlog_at = |at: u64| {
        let sent = sent.partition_point(|&t| t <= at) as f64;
        sent - observed.partition_point(|&t| t <= at) as f64
    };
    // 40 looks: enough for a slope, and cheap at 100,000 objects.
    let looks: Vec<(f64, f64)> = (0..=40)
        .map(|i| first + span_ns / 5 + (span_ns - span_ns / 5) / 40 * i)
        .map(|at| ((at - first) as f64 / 1e9, backlog_at(at)))
        .collect();
    let Some(line) = crate::analyse::statistics::line_fit(&looks) else {
        return false;
    };
    let offered_per_s = sent.len() as f64 / (span_ns as f64 / 1e9);
    let grown = line.slope * (span_ns as f64 / 1e9);
    line.slope > offered_per_s / 10.0 && grown > 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    proptest! {
        #[test]
        fn due_times_are_evenly_spaced_however_late_a_send_was(per_s in 0.1f64..10_000.0, index in 0usize..100_000) {
            let pace = Pace::Steady { per_s };
            let due = pace.due(index).as_secs_f64();
            prop_assert!((due - index as f64 / per_s).abs() < 1e-6);
        }
    }

    #[test]
    fn a_burst_is_due_at_once() {
        assert_eq!(Pace::Burst.due(17), Duration::ZERO);
    }

    #[test]
    fn saturation_is_a_backlog_that_grows() {
        struct Case {
            name: &'static str,
            lag_ms: fn(u64) -> Option<u64>,
            want: bool,
        }
        let cases = [
            Case {
                name: "constant lag",
                lag_ms: |_| Some(50),
                want: false,
            },
            Case {
                name: "half as fast as offered",
                lag_ms: |i| Some(i * 10),
                want: true,
            },
            Case {
                name: "never observed",
                lag_ms: |_| None,
                want: true,
            },
            Case {
                name: "slow start, then caught up",
                lag_ms: |i| Some(if i < 50 { 300 } else { 5 }),
                want: false,
            },
        ];
        for case in cases {
            let sent: Vec<u64> = (0..500).map(|i| i * 10 * MS).collect();
            let observed: Vec<u64> = (0..500)
                .filter_map(|i| Some((i * 10 + (case.lag_ms)(i)?) * MS))
                .collect();
            assert_eq!(saturated(&sent, &observed), case.want, "{}", case.name);
        }
    }

    #[test]
    fn nothing_sent_is_not_saturated() {
        assert!(!saturated(&[], &[]));
        assert!(!saturated(&[5], &[]));
    }
}
