//! A summary against its limits.
//!
//! Guarantees: pure; what is judged is the median over the valid runs of the cell, which is what
//! the report prints; an absent, null or invalid figure is never taken for a good one. Leaves to
//! others: the files.

use crate::metric;
use crate::metric::limits::{Bound, Limit, Limits};
use crate::metric::statistics::median;
use crate::record::summary::{Run, Subject, Summary};

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub limit: Limit,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Holds { measured: f64 },
    Above { measured: f64 },
    Below { measured: f64 },
    NotMeasured { why: String },
}

#[derive(Debug, thiserror::Error)]
#[error("{place}: unknown subject {subject:?}; the summary has: {known}")]
pub struct UnknownSubject {
    place: String,
    subject: String,
    known: String,
}

/// Every limit, in the order of the file.
///
/// # Errors
/// A limit on a subject that was not part of the experiment.
pub fn judge(limits: &Limits, summary: &Summary) -> Result<Vec<Judgement>, UnknownSubject> {
    let judged = limits.all.iter().map(|limit| {
        let mut subjects = summary.subjects.iter();
        let subject = subjects.find(|subject| subject.id() == limit.subject);
        let subject = subject.ok_or_else(|| {
            let known: Vec<String> = summary.subjects.iter().map(Subject::id).collect();
            UnknownSubject {
                place: limit.place.clone(),
                subject: limit.subject.clone(),
                known: known.join(", "),
            }
        })?;
        Ok(Judgement {
            limit: limit.clone(),
            outcome: outcome(limit, subject),
        })
    });
    judged.collect()
}

fn outcome(limit: &Limit, subject: &Subject) -> Outcome {
    let measured = match measured(limit, subject) {
        Ok(measured) => measured,
        Err(why) => return Outcome::NotMeasured { why },
    };
    match limit.bound {
        Bound::AtMost(max) if measured > max => Outcome::Above { measured },
        Bound::AtLeast(min) if measured < min => Outcome::Below { measured },
        _ => Outcome::Holds { measured },
    }
}

/// The figure, or why there is none.
fn measured(limit: &Limit, subject: &Subject) -> Result<f64, String> {
    let null = || "null in the summary".to_owned();
    let Some(cell) = &limit.cell else {
        return metric::of_subject(subject, &limit.metric).ok_or_else(null);
    };
    let of_cell: Vec<&Run> = subject.runs_of(cell.kind, cell.objects).collect();
    let Some(first) = of_cell.first() else {
        return Err("no such run in the summary".into());
    };
    let valid = || of_cell.iter().filter(|run| run.valid);
    if valid().next().is_none() {
        let why = first.invalid_because.join("; ");
        return Err(format!("no valid run: {why}"));
    }
    let figures: Vec<f64> = valid().filter_map(|run| run.value(&limit.metric)).collect();
    median(&figures).ok_or_else(null)
}

impl Judgement {
    pub fn falls_short(&self) -> bool {
        match self.outcome {
            Outcome::Holds { .. } => false,
            Outcome::Above { .. } | Outcome::Below { .. } => true,
            Outcome::NotMeasured { .. } => !self.limit.optional,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::metric::limits::tests::LEAST;
    use crate::plan::cell::Kind;
    use crate::record::summary::{Knee, LimitedBy, RateSweep, sample};

    /// A summary of one subject with these runs: valid, and settled anonymous bytes.
    fn summary(runs: &[(bool, Option<u64>)]) -> Summary {
        let runs = runs.iter().map(|(valid, anon_bytes)| {
            let late = || "the generator was late".to_owned();
            let because = (!valid).then(late).into_iter().collect();
            let run = Run::without_figures(Kind::Memory, 300, 1, because);
            match anon_bytes {
                Some(bytes) => run.with("memory.settled.anon_bytes", *bytes as f64),
                None => run,
            }
        });
        sample(runs.collect())
    }

    pub fn judged(text: &str, summary: &Summary) -> Judgement {
        let limits = Limits::parse("l.toml", text).expect("valid limits");
        let judgements = judge(&limits, summary).expect("known subjects");
        judgements.into_iter().next().expect("one limit")
    }

    pub fn breach() -> Judgement {
        judged(LEAST, &summary(&[(true, Some(2_000))]))
    }

    #[test]
    fn a_limit_is_judged_by_the_median_of_valid_runs() {
        struct Case {
            name: &'static str,
            limit: String,
            runs: Vec<(bool, Option<u64>)>,
            want: Outcome,
            short: bool,
        }
        let not_measured = |why: &str| Outcome::NotMeasured { why: why.into() };
        let least = || LEAST.to_owned();
        let cases = [
            Case {
                name: "at the bound",
                limit: least(),
                runs: vec![(true, Some(130))],
                want: Outcome::Holds { measured: 130.0 },
                short: false,
            },
            Case {
                name: "above it",
                limit: least(),
                runs: vec![(true, Some(131))],
                want: Outcome::Above { measured: 131.0 },
                short: true,
            },
            Case {
                name: "the median counts",
                limit: least(),
                runs: vec![(true, Some(900)), (true, Some(100)), (true, Some(110))],
                want: Outcome::Holds { measured: 110.0 },
                short: false,
            },
            Case {
                name: "an invalid run does not count",
                limit: least(),
                runs: vec![(false, Some(100)), (true, Some(900))],
                want: Outcome::Above { measured: 900.0 },
                short: true,
            },
            Case {
                name: "below a minimum",
                limit: LEAST.replace("max = 130", "min = 70"),
                runs: vec![(true, Some(69))],
                want: Outcome::Below { measured: 69.0 },
                short: true,
            },
            Case {
                name: "only invalid runs",
                limit: least(),
                runs: vec![(false, Some(100))],
                want: not_measured("no valid run: the generator was late"),
                short: true,
            },
            Case {
                name: "null",
                limit: least(),
                runs: vec![(true, None)],
                want: not_measured("null in the summary"),
                short: true,
            },
            Case {
                name: "no run of that size",
                limit: LEAST.replace("objects = 300", "objects = 400"),
                runs: vec![(true, Some(100))],
                want: not_measured("no such run in the summary"),
                short: true,
            },
            Case {
                name: "not measured, and need not be",
                limit: format!("{LEAST}optional = true\n"),
                runs: vec![],
                want: not_measured("no such run in the summary"),
                short: false,
            },
            Case {
                name: "optional is not lenient",
                limit: format!("{LEAST}optional = true\n"),
                runs: vec![(true, Some(131))],
                want: Outcome::Above { measured: 131.0 },
                short: true,
            },
        ];
        for case in cases {
            let judgement = judged(&case.limit, &summary(&case.runs));
            assert_eq!(judgement.outcome, case.want, "{}", case.name);
            assert_eq!(judgement.falls_short(), case.short, "{}", case.name);
        }
    }

    #[test]
    fn a_figure_of_the_subject_is_judged_without_runs() {
        let limit = LEAST
            .replace("memory.settled.anon_bytes", "binary_bytes")
            .replace("cell = \"memory\"\nobjects = 300\n", "");
        let mut summary = summary(&[]);
        assert!(judged(&limit, &summary).falls_short());
        summary.subjects[0].binary_bytes = Some(120);
        assert_eq!(
            judged(&limit, &summary).outcome,
            Outcome::Holds { measured: 120.0 }
        );
    }

    #[test]
    fn a_knee_has_a_minimum() {
        let limit = LEAST
            .replace("memory.settled.anon_bytes", "rate_sweep.knee.per_s")
            .replace("cell = \"memory\"\nobjects = 300\n", "")
            .replace("max = 130", "min = 70");
        let mut summary = summary(&[]);
        for (per_s, want) in [
            (Some(80), Outcome::Holds { measured: 80.0 }),
            (Some(40), Outcome::Below { measured: 40.0 }),
            (
                None,
                Outcome::NotMeasured {
                    why: "null in the summary".into(),
                },
            ),
        ] {
            summary.subjects[0].rate_sweep = Some(RateSweep {
                points: vec![],
                knee: Knee {
                    per_s,
                    limited_by: LimitedBy::Subject,
                    because: "its core is full".into(),
                },
            });
            assert_eq!(judged(&limit, &summary).outcome, want, "{per_s:?}");
        }
    }

    #[test]
    fn an_unknown_subject_is_refused_with_the_place() {
        let limits = Limits::parse("l.toml", &LEAST.replace("tare/none", "tare/nome"));
        let error = judge(&limits.expect("valid limits"), &summary(&[])).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "l.toml:4: unknown subject \"tare/nome\"; the summary has: tare/none"
        );
    }
}
