//! Limits as data: for each figure a bound, and beside it where the bound comes from.
//!
//! Guarantees: a bound is what was measured plus (or, for a minimum, minus) a margin that is at
//! least the spread; anything else, an unknown key or an unknown figure is refused with file and
//! line. Leaves to others: judging.

use serde::Deserialize;
use toml::Spanned;

use crate::metric;
use crate::metric::Metric;
use crate::metric::change::CellKey;
use crate::plan::cell::Kind;
use crate::spec::toml_line;
use crate::spec::toml_line::line_of;
use crate::spec::workload::Error;

#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    pub all: Vec<Limit>,
}

/// One figure and its bound, in the unit of the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// `file:line`, for messages.
    pub place: String,
    pub subject: String,
    /// Path within a run of the subject, or within the subject.
    pub metric: String,
    /// The runs that are meant; `None` for a figure of the subject itself.
    pub cell: Option<CellKey>,
    pub bound: Bound,
    pub basis: Basis,
    /// A machine that cannot measure it does not fall short.
    pub optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// What a bound was derived from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Basis {
    pub mean: f64,
    /// Largest minus smallest of the runs.
    pub spread: f64,
    pub runs: u32,
    pub margin: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    limit: Vec<Written>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    subject: Spanned<String>,
    metric: Spanned<String>,
    cell: Option<String>,
    objects: Option<usize>,
    max: Option<f64>,
    min: Option<f64>,
    mean: f64,
    spread: f64,
    runs: u32,
    margin: f64,
    #[serde(default)]
    optional: bool,
}

impl Limits {
    /// # Errors
    /// The line that is wrong, or that there is no limit.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let written: File = toml_line::parse(file, text)?;
        if written.limit.is_empty() {
            let nothing = "no [[limit]] in it, so nothing would be judged";
            return Err(Error::of_file(file, None, nothing.to_owned()));
        }
        let all = written.limit.into_iter().map(|written| {
            let line = line_of(text, written.metric.span().start);
            let checked = written.checked(format!("{file}:{line}"));
            checked.map_err(|message| Error::of_file(file, Some(line), message))
        });
        Ok(Self {
            all: all.collect::<Result<_, _>>()?,
        })
    }
}

impl Written {
    fn checked(self, place: String) -> Result<Limit, String> {
        let (subject, metric) = (self.subject.into_inner(), self.metric.into_inner());
        let basis = Basis {
            mean: self.mean,
            spread: self.spread,
            runs: self.runs,
            margin: self.margin,
        };
        let bound = match (self.max, self.min) {
            (Some(max), None) => Bound::AtMost(max),
            (None, Some(min)) => Bound::AtLeast(min),
            _ => return Err(format!("{metric}: give either max or min")),
        };
        let is_of_subject = metric::find(&metric).map(Metric::is_of_subject);
        let cell = match (is_of_subject, self.cell, self.objects) {
            (None, ..) => {
                return Err(format!(
                    "unknown metric {metric:?}; loadgen metrics lists all"
                ));
            }
            (Some(true), None, None) => None,
            (Some(true), ..) => {
                return Err(format!(
                    "{metric} is a figure of the subject: leave out cell and objects"
                ));
            }
            (Some(false), Some(name), Some(objects)) => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
                let kind = kind.ok_or_else(|| {
                    let known = Kind::ALL.map(Kind::name).join(", ");
                    format!("unknown cell {name:?}; known: {known}")
                })?;
                Some(CellKey {
                    kind,
                    objects,
                    per_s: None,
                })
            }
            (Some(false), ..) => {
                return Err(format!(
                    "{metric} is a figure of a run: say cell and objects"
                ));
            }
        };
        derived(&metric, bound, basis)?;
        Ok(Limit {
            place,
            subject,
            metric,
            cell,
            bound,
            basis,
            optional: self.optional,
        })
    }
}

/// A bound that does not follow from what was measured was loosened without a reason.
fn derived(metric: &str, bound: Bound, basis: Basis) -> Result<(), String> {
    let Basis {
        mean,
        spread,
        runs,
        margin,
    } = basis;
    let finite = [mean, spread, margin].iter().all(|n| n.is_finite());
    if !finite || spread < 0.0 || runs == 0 {
        return Err(format!(
            "{metric}: mean, spread and margin are numbers, spread is not negative, runs is at least 1"
        ));
    }
    if margin < spread {
        return Err(format!(
            "{metric}: margin {margin} is below the spread {spread}, so noise alone would fail it"
        ));
    }
    let (name, given, follows) = match bound {
        Bound::AtMost(max) => ("max", max, mean + margin),
        Bound::AtLeast(min) => ("min", min, mean - margin),
    };
    // Decimal fractions do not add up exactly.
    if (given - follows).abs() > follows.abs() * 1e-9 + 1e-9 {
        return Err(format!(
            "{metric}: {name} {given} does not follow from mean {mean} and margin {margin}, which give {follows}"
        ));
    }
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const LEAST: &str = "# why\n[[limit]]\nsubject = \"tare/none\"\nmetric = \"memory.settled.anon_bytes\"\n\
        cell = \"memory\"\nobjects = 300\nmax = 130\nmean = 100\nspread = 10\nruns = 3\nmargin = 30\n";

    #[test]
    fn a_limit_says_where_it_comes_from() {
        let limits = Limits::parse("l.toml", LEAST).expect("valid");
        let [limit] = limits.all.as_slice() else {
            panic!("one limit, not {limits:?}")
        };
        assert_eq!(
            (limit.place.as_str(), limit.bound),
            ("l.toml:4", Bound::AtMost(130.0))
        );
        assert!(!limit.optional);
    }

    #[test]
    fn bad_limits_are_refused_with_the_place() {
        struct Case {
            name: &'static str,
            text: String,
            want: &'static str,
        }
        let with = |name, from: &str, to: &str, want| {
            assert!(LEAST.contains(from), "{name}");
            Case {
                name,
                text: LEAST.replace(from, to),
                want,
            }
        };
        let cases = [
            with(
                "unknown metric",
                "settled",
                "setled",
                "l.toml:4: unknown metric \"memory.setled.anon_bytes\"",
            ),
            with(
                "unknown key",
                "spread",
                "spraed",
                "l.toml:9: unknown field `spraed`",
            ),
            with(
                "unknown cell",
                "\"memory\"",
                "\"burst\"",
                "l.toml:4: unknown cell \"burst\"; known: drain",
            ),
            with("no basis", "runs = 3\n", "", "missing field `runs`"),
            with(
                "a loosened bound",
                "max = 130",
                "max = 150",
                "max 150 does not follow from mean 100 and margin 30, which give 130",
            ),
            with(
                "a minimum on the wrong side",
                "max = 130",
                "min = 130",
                "min 130 does not follow",
            ),
            with(
                "both bounds",
                "max = 130",
                "max = 130\nmin = 70",
                "give either max or min",
            ),
            with(
                "noise",
                "spread = 10",
                "spread = 31",
                "margin 30 is below the spread 31",
            ),
            with("no runs", "runs = 3", "runs = 0", "runs is at least 1"),
            with("no size", "objects = 300\n", "", "say cell and objects"),
            with(
                "a size of a subject",
                "memory.settled.anon_bytes",
                "binary_bytes",
                "leave out cell and objects",
            ),
            Case {
                name: "nothing",
                text: "# later\n".into(),
                want: "l.toml: no [[limit]] in it",
            },
            Case {
                name: "not TOML",
                text: "max = ".into(),
                want: "l.toml:1: ",
            },
        ];
        for case in cases {
            let error = Limits::parse("l.toml", &case.text)
                .expect_err(case.name)
                .to_string();
            assert!(error.contains(case.want), "{}: {error}", case.name);
            assert!(!error.contains('\n'), "{}: {error}", case.name);
        }
    }
}
