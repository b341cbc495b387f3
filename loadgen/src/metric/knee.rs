//! Up to which rate a subject keeps up, and what limits it.
//!
//! The knee is the *usable capacity* of Jain, "The Art of Computer Systems Performance Analysis" (1991),
//! section 3.3: the highest throughput at which the response time stays below a limit that is set
//! beforehand.
//!
//! Guarantees: pure; a rate above one that was not kept up does not count, and nothing is said of one that was not
//! measured. Leaves to others: when a rate
//! is kept up (`metric::at_rate`), and the points (`report::rates`).

use crate::record::summary::{Knee, LimitedBy, RateOutcome, RatePoint};

/// A machine, or a core, of which so much is in use has no room for more: what is left are waits and
/// the parts of the kernel that nobody is charged for.
const IN_USE: f64 = 0.85;

/// The knee of points by ascending rate. `cores` are those of the machine. A rate that was not measured is no limit where a
/// higher one was kept up.
pub fn knee(points: &[RatePoint], cores: Option<usize>) -> Knee {
    let is_limit = |point: &RatePoint| {
        matches!(
            point.outcome,
            RateOutcome::NotKeptUp | RateOutcome::BrokeOff
        )
    };
    let limit = points.iter().position(is_limit).unwrap_or(points.len());
    let (below, above) = points.split_at(limit);
    let highest = below
        .iter()
        .rposition(|point| point.outcome == RateOutcome::KeptUp);
    let per_s = highest.map(|n| below[n].per_s);
    let unknown = below.get(highest.map_or(0, |n| n + 1));
    let (limited_by, because) = match (unknown, above.first()) {
        (Some(point), _) => {
            let because = point.because.as_deref().unwrap_or("not known");
            let because = format!("at {}/s no run is valid: {because}", point.per_s);
            (LimitedBy::NotMeasured, because)
        }
        (None, Some(point)) => limited(point, cores),
        (None, None) => match per_s {
            Some(highest) => (
                LimitedBy::NotReached,
                format!("it kept up at {highest}/s, the highest rate that was offered"),
            ),
            None => (LimitedBy::NotMeasured, "no rate was offered".to_owned()),
        },
    };
    Knee {
        per_s,
        limited_by,
        because,
    }
}

/// What limited the first rate that was not kept up.
fn limited(point: &RatePoint, cores: Option<usize>) -> (LimitedBy, String) {
    if point.outcome == RateOutcome::BrokeOff {
        let because = point.because.as_deref().unwrap_or("the run broke off");
        return (
            LimitedBy::BrokeOff,
            format!("at {}/s: {because}", point.per_s),
        );
    }
    let (Some(server), Some(subject), Some(cores)) =
        (point.server_cpu_share, point.subject_cpu_share, cores)
    else {
        let because = format!(
            "{}/s was not kept up; CPU of the server or the subject is not known",
            point.per_s
        );
        return (LimitedBy::NotMeasured, because);
    };
    let because = format!(
        "at {}/s, which was not kept up, server and generator used {:.0} % of the machine and the subject {:.0} %",
        point.per_s,
        server * 100.0,
        subject * 100.0
    );
    // A subject may be bound by one core, by its own queue, or by the machine.
    let subject_is_full = subject * cores as f64 >= IN_USE;
    match server + subject >= IN_USE && server > subject && !subject_is_full {
        true => (LimitedBy::Server, because),
        false => (LimitedBy::Subject, because),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(per_s: u32, kept_up: bool, shares: Option<[f64; 2]>) -> RatePoint {
        RatePoint {
            per_s,
            objects: 500,
            runs: 3,
            achieved_per_s: Some(f64::from(per_s)),
            p50_ms: Some(20.0),
            p99_ms: Some(80.0),
            max_ms: Some(90.0),
            censored: 0,
            outcome: match kept_up {
                true => RateOutcome::KeptUp,
                false => RateOutcome::NotKeptUp,
            },
            because: None,
            server_cpu_share: shares.map(|[server, _]| server),
            subject_cpu_share: shares.map(|[_, subject]| subject),
        }
    }

    #[test]
    fn the_knee_is_below_the_first_rate_that_was_not_kept_up() {
        struct Case {
            name: &'static str,
            points: Vec<RatePoint>,
            want: (Option<u32>, LimitedBy),
        }
        let ok = |per_s| point(per_s, true, Some([0.3, 0.1]));
        let of = |per_s, outcome| RatePoint {
            outcome,
            ..ok(per_s)
        };
        let cases = [
            Case {
                name: "nothing",
                points: vec![],
                want: (None, LimitedBy::NotMeasured),
            },
            Case {
                name: "all kept up",
                points: vec![ok(5), ok(80)],
                want: (Some(80), LimitedBy::NotReached),
            },
            Case {
                name: "a rate between them was not measured",
                points: vec![ok(5), of(10, RateOutcome::NotMeasured), ok(20)],
                want: (Some(20), LimitedBy::NotReached),
            },
            Case {
                name: "the highest was not measured",
                points: vec![ok(40), of(80, RateOutcome::NotMeasured)],
                want: (Some(40), LimitedBy::NotMeasured),
            },
            Case {
                name: "one was not measured, and the next one was too high",
                points: vec![
                    ok(20),
                    of(40, RateOutcome::NotMeasured),
                    of(80, RateOutcome::NotKeptUp),
                ],
                want: (Some(20), LimitedBy::NotMeasured),
            },
            Case {
                name: "the operator crashed",
                points: vec![ok(40), of(80, RateOutcome::BrokeOff)],
                want: (Some(40), LimitedBy::BrokeOff),
            },
            Case {
                name: "the server is full",
                points: vec![ok(5), ok(10), point(20, false, Some([0.80, 0.12]))],
                want: (Some(10), LimitedBy::Server),
            },
            Case {
                name: "the subject fills its core",
                points: vec![ok(5), point(10, false, Some([0.50, 0.45]))],
                want: (Some(5), LimitedBy::Subject),
            },
            Case {
                name: "the subject waits for itself",
                points: vec![ok(5), point(10, false, Some([0.30, 0.05]))],
                want: (Some(5), LimitedBy::Subject),
            },
            Case {
                name: "shares are not known",
                points: vec![ok(5), point(10, false, None)],
                want: (Some(5), LimitedBy::NotMeasured),
            },
            Case {
                name: "the lowest is too high",
                points: vec![point(5, false, Some([0.2, 0.1])), ok(10)],
                want: (None, LimitedBy::Subject),
            },
            Case {
                name: "a rate above one that was not kept up",
                points: vec![ok(5), point(10, false, Some([0.9, 0.05])), ok(20)],
                want: (Some(5), LimitedBy::Server),
            },
        ];
        for case in cases {
            let knee = knee(&case.points, Some(2));
            assert_eq!((knee.per_s, knee.limited_by), case.want, "{}", case.name);
            assert!(!knee.because.is_empty(), "{}", case.name);
        }
    }
}
