//! Whether a backlog keeps growing while objects are offered.
//!
//! Guarantees: pure. Leaves to others: the times, and what else keeping up means (`metric::at_rate`).

use crate::metric::statistics::line_fit;

/// Whether the backlog (due and not yet observed) kept growing while objects were sent: by more
/// than a tenth of the offered rate over the last four fifths of the sending, and by more than
/// ten objects. Both slices are offsets in ns, in any order: when objects were due (in a burst: sent), and when they were
/// observed; what was never observed is left out of `observed_ns` and so stays in the backlog.
pub fn saturated(due_ns: &[u64], observed_ns: &[u64]) -> bool {
    let (Some(&first), Some(&last)) = (due_ns.iter().min(), due_ns.iter().max()) else {
        return false;
    };
    let span_ns = last - first;
    if span_ns == 0 {
        return false;
    }
    let mut due = due_ns.to_vec();
    let mut observed = observed_ns.to_vec();
    due.sort_unstable();
    observed.sort_unstable();
    let backlog_at = |at: u64| {
        let due = due.partition_point(|&t| t <= at) as f64;
        due - observed.partition_point(|&t| t <= at) as f64
    };
    // 40 samples: enough for a slope, and cheap at 100,000 objects.
    let samples: Vec<(f64, f64)> = (0..=40)
        .map(|i| first + span_ns / 5 + (span_ns - span_ns / 5) / 40 * i)
        .map(|at| ((at - first) as f64 / 1e9, backlog_at(at)))
        .collect();
    let Some(line) = line_fit(&samples) else {
        return false;
    };
    let offered_per_s = due.len() as f64 / (span_ns as f64 / 1e9);
    let grown = line.slope * (span_ns as f64 / 1e9);
    line.slope > offered_per_s / 10.0 && grown > 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

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
