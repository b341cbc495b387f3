//! A summary against its limits.
//!
//! Guarantees: pure; what is judged is the median over the valid runs of the cell, which is what
//! the report prints; an absent, null or invalid figure is never taken for a good one. Leaves to
//! others: the files.

use serde_json::Value;

use crate::analyse::limits::{Basis, Bound, Limit, Limits};
use crate::analyse::statistics::median;
use crate::report::table::{Table, figure, grouped};

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub limit: Limit,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
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
pub fn judge(limits: &Limits, summary: &Value) -> Result<Vec<Judgement>, UnknownSubject> {
    let subjects = summary["subjects"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let judged = limits.all.iter().map(|limit| {
        let subject = subjects.iter().find(|subject| id(subject) == limit.subject);
        let subject = subject.ok_or_else(|| UnknownSubject {
            place: limit.place.clone(),
            subject: limit.subject.clone(),
            known: subjects.iter().map(id).collect::<Vec<_>>().join(", "),
        })?;
        Ok(Judgement {
            limit: limit.clone(),
            verdict: verdict(limit, subject),
        })
    });
    judged.collect()
}

fn id(subject: &Value) -> String {
    let text = |key: &str| subject[key].as_str().unwrap_or_default();
    format!("{}/{}", text("name"), text("variant"))
}

fn verdict(limit: &Limit, subject: &Value) -> Verdict {
    let measured = match measured(limit, subject) {
        Ok(measured) => measured,
        Err(why) => return Verdict::NotMeasured { why },
    };
    match limit.bound {
        Bound::AtMost(max) if measured > max => Verdict::Above { measured },
        Bound::AtLeast(min) if measured < min => Verdict::Below { measured },
        _ => Verdict::Holds { measured },
    }
}

/// The figure, or why there is none.
fn measured(limit: &Limit, subject: &Value) -> Result<f64, String> {
    let Some(cell) = &limit.cell else {
        return number(subject, &limit.metric).ok_or_else(|| "null in the summary".into());
    };
    let runs = subject["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let of_cell = runs
        .iter()
        .filter(|run| run["cell"] == cell.kind.as_str() && run["objects"] == cell.objects);
    let of_cell: Vec<&Value> = of_cell.collect();
    if of_cell.is_empty() {
        return Err("no such run in the summary".into());
    }
    let valid: Vec<&&Value> = of_cell.iter().filter(|run| run["valid"] == true).collect();
    if valid.is_empty() {
        let why = of_cell[0]["invalid_reason"]
            .as_str()
            .unwrap_or("no reason given");
        return Err(format!("no valid run: {why}"));
    }
    let figures: Vec<f64> = valid
        .iter()
        .filter_map(|run| number(run, &limit.metric))
        .collect();
    median(&figures).ok_or_else(|| "null in the summary".into())
}

fn number(value: &Value, path: &str) -> Option<f64> {
    path.split('.')
        .try_fold(value, |value, key| value.get(key))?
        .as_f64()
}

impl Judgement {
    pub fn falls_short(&self) -> bool {
        match self.verdict {
            Verdict::Holds { .. } => false,
            Verdict::Above { .. } | Verdict::Below { .. } => true,
            Verdict::NotMeasured { .. } => !self.limit.optional,
        }
    }

    /// Which figure, without its subject.
    pub fn figure(&self) -> String {
        match &self.limit.cell {
            Some(cell) => format!(
                "{}, {} {}",
                self.limit.metric,
                cell.kind,
                grouped(cell.objects as usize)
            ),
            None => self.limit.metric.clone(),
        }
    }

    /// All there is to say, with the place of the limit.
    pub fn sentence(&self) -> String {
        let Limit {
            place,
            subject,
            bound,
            basis,
            ..
        } = &self.limit;
        let Basis {
            mean, runs, margin, ..
        } = *basis;
        let (bound, sign) = match bound {
            Bound::AtMost(max) => (amount(*max), '+'),
            Bound::AtLeast(min) => (amount(*min), '-'),
        };
        let origin = format!(
            "mean {} of {runs} runs {sign} margin {}",
            amount(mean),
            amount(margin)
        );
        let what = match &self.verdict {
            Verdict::Holds { measured } => {
                format!("{} keeps to {bound} ({origin})", amount(*measured))
            }
            Verdict::Above { measured } => {
                format!("{} is above {bound} ({origin})", amount(*measured))
            }
            Verdict::Below { measured } => {
                format!("{} is below {bound} ({origin})", amount(*measured))
            }
            Verdict::NotMeasured { why } => format!("not measured: {why}"),
        };
        format!("{place}: {subject} {}: {what}", self.figure())
    }
}

/// What was judged, a row for each limit.
pub fn table(judgements: &[Judgement]) -> Table {
    let row = |judgement: &Judgement| {
        let limit = &judgement.limit;
        let bound = match limit.bound {
            Bound::AtMost(max) => format!("<= {}", amount(max)),
            Bound::AtLeast(min) => format!(">= {}", amount(min)),
        };
        let (measured, word) = match &judgement.verdict {
            Verdict::Holds { measured } => (Some(*measured), "holds"),
            Verdict::Above { measured } => (Some(*measured), "ABOVE"),
            Verdict::Below { measured } => (Some(*measured), "BELOW"),
            Verdict::NotMeasured { .. } if limit.optional => (None, "not measured, optional"),
            Verdict::NotMeasured { .. } => (None, "NOT MEASURED"),
        };
        let of_mean = measured.filter(|_| limit.basis.mean != 0.0);
        vec![
            format!("{} {}", limit.subject, judgement.figure()),
            measured.map_or_else(|| figure(None), amount),
            bound,
            amount(limit.basis.mean),
            figure(of_mean.map(|measured| measured / limit.basis.mean)),
            word.to_owned(),
        ]
    };
    Table {
        title: "Limits".into(),
        header: ["", "measured", "bound", "mean", "of mean", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: judgements.iter().map(row).collect(),
    }
}

/// Three digits, or all of them before the point.
fn amount(value: f64) -> String {
    if value >= 1_000.0 {
        grouped(value.round() as usize)
    } else {
        figure(Some(value))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::analyse::limits::tests::LEAST;
    use serde_json::json;

    /// A summary of one subject with these runs: valid, and settled anonymous bytes.
    fn summary(runs: &[(bool, Option<u64>)]) -> Value {
        let runs = runs.iter().map(|(valid, anon_bytes)| {
            let settled = anon_bytes.map(|bytes| json!({"anon_bytes": bytes}));
            json!({
                "objects": 300, "cell": "burst", "valid": valid,
                "invalid_reason": "the generator was late", "memory": {"settled": settled},
            })
        });
        let runs: Vec<Value> = runs.collect();
        json!({"subjects": [{"name": "tare", "variant": "none", "binary_bytes": null, "runs": runs}]})
    }

    pub fn judged(text: &str, summary: &Value) -> Judgement {
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
            want: Verdict,
            short: bool,
        }
        let not_measured = |why: &str| Verdict::NotMeasured { why: why.into() };
        let least = || LEAST.to_owned();
        let cases = [
            Case {
                name: "at the bound",
                limit: least(),
                runs: vec![(true, Some(130))],
                want: Verdict::Holds { measured: 130.0 },
                short: false,
            },
            Case {
                name: "above it",
                limit: least(),
                runs: vec![(true, Some(131))],
                want: Verdict::Above { measured: 131.0 },
                short: true,
            },
            Case {
                name: "the median counts",
                limit: least(),
                runs: vec![(true, Some(900)), (true, Some(100)), (true, Some(110))],
                want: Verdict::Holds { measured: 110.0 },
                short: false,
            },
            Case {
                name: "an invalid run does not count",
                limit: least(),
                runs: vec![(false, Some(100)), (true, Some(900))],
                want: Verdict::Above { measured: 900.0 },
                short: true,
            },
            Case {
                name: "below a minimum",
                limit: LEAST.replace("max = 130", "min = 70"),
                runs: vec![(true, Some(69))],
                want: Verdict::Below { measured: 69.0 },
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
                want: Verdict::Above { measured: 131.0 },
                short: true,
            },
        ];
        for case in cases {
            let judgement = judged(&case.limit, &summary(&case.runs));
            assert_eq!(judgement.verdict, case.want, "{}", case.name);
            assert_eq!(judgement.falls_short(), case.short, "{}", case.name);
        }
    }

    #[test]
    fn a_figure_of_the_subject_is_judged_without_runs() {
        let limit = LEAST
            .replace("memory.settled.anon_bytes", "binary_bytes")
            .replace("cell = \"burst\"\nobjects = 300\n", "");
        let mut summary = summary(&[]);
        assert!(judged(&limit, &summary).falls_short());
        summary["subjects"][0]["binary_bytes"] = 120.into();
        assert_eq!(
            judged(&limit, &summary).verdict,
            Verdict::Holds { measured: 120.0 }
        );
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

    #[test]
    fn a_breach_says_what_where_and_where_the_bound_comes_from() {
        let judgement = breach();
        assert_eq!(
            judgement.sentence(),
            "l.toml:4: tare/none memory.settled.anon_bytes, burst 300: 2,000 is above 130 (mean 100 of 3 runs + margin 30.0)"
        );
        assert_eq!(
            table(&[judgement]).plain().lines().last(),
            Some(
                "tare/none memory.settled.anon_bytes, burst 300     2,000  <= 130   100     20.0    ABOVE"
            )
        );
    }
}
