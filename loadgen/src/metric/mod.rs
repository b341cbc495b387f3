//! One table of all figures: what each is called, where it comes from, how it is shown, compared and limited.
//!
//! Guarantees: pure; a figure has one row ([`all`]), and everything that selects, compares, limits or exports figures
//! reads it there. What was not measured has no value, never 0. Leaves to others: measuring, and how a table looks
//! (`report`).

/// A table of figures, a row for each: its name, its label, the unit of its values, the kinds of its runs, why a run may
/// not have it, what else holds of it (the functions of [`Metric`] below), and where it is read.
macro_rules! figures {
    ($source:ident $($id:expr, $label:expr, $unit:expr, $kinds:expr, $missing:expr,
        [$($set:ident $(($to:expr))?),*] => $read:expr;)*) => {
        vec![$($crate::metric::Metric::new($id, $label, $unit, $kinds, $crate::metric::Source::$source($read))
            .missing($missing)$(.$set($($to)?))*,)*]
    };
}

pub mod at_rate;
pub mod change;
pub mod compare;
pub mod convergence;
pub mod envelope;
pub mod foreign_cost;
pub mod judge;
pub mod knee;
pub mod limits;
pub mod noise;
mod of_memory;
mod of_restart;
mod of_run;
mod of_subject;
pub mod saturation;
pub mod statistics;
pub mod suggest;

pub use of_subject::KNEE;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;

use crate::metric::statistics::median;
use crate::plan::cell::Kind;
use crate::record::summary;
use crate::record::summary::Subject;
use crate::record::{Restart, Run, Sampled};

/// A figure, as `loadgen metrics --json` prints it.
#[derive(Serialize)]
pub struct Metric {
    /// Its name in limits, comparisons and CSV, and in `values` of `summary.json`; of a subject its path there.
    #[serde(rename = "name")]
    pub id: String,
    /// In tables, with its unit there.
    pub label: String,
    /// From the unit of a value to that of the label.
    #[serde(skip)]
    pub divisor: f64,
    /// Of a value.
    pub unit: &'static str,
    #[serde(skip)]
    pub source: Source,
    /// The kinds of runs that it is taken from: the first one in tables, each in comparisons. None for a figure of a
    /// subject.
    #[serde(rename = "runs")]
    pub kinds: &'static [Kind],
    /// The table of a report that has it.
    #[serde(skip)]
    pub shown: Option<Shown>,
    /// Whether subjects and folders are compared by it.
    pub is_compared: bool,
    /// Whether more is better; every other figure is a cost.
    pub is_better_when_higher: bool,
    /// The least margin of a limit that is suggested; without one none is.
    #[serde(skip)]
    pub least_margin: Option<f64>,
    /// Why a run of its kinds may not have it.
    pub missing: &'static str,
}

/// Where a value is read.
#[derive(Clone, Copy)]
pub enum Source {
    Run(fn(&Run) -> Option<f64>),
    /// Memory at the end of a phase: the median over its samples.
    Memory(fn(&Run) -> Vec<Sampled>, fn(&Sampled) -> Option<u64>),
    /// The median over the restarts of a run.
    Restart(fn(&Restart) -> Option<f64>),
    /// One for each verb and resource, such as `requests.by_verb.patch deployments`.
    Verbs,
    Subject(fn(&Subject) -> Option<f64>),
}

/// A table of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Memory by phase.
    Memory,
    /// Times, CPU and requests.
    Work,
    /// Requests that were counted in runs of their own.
    Requests,
    /// Objects that are not the subject's.
    Foreign,
    /// Objects that cannot become healthy.
    Unhealthy,
    /// Objects that change all the time.
    UpdateStorm,
    /// What repeated restarts cost the API server.
    RestartServer,
}

/// Before the verb and resource in the name of a count of requests.
const BY_VERB: &str = "requests.by_verb.";

/// Every figure, in the order of the tables.
pub fn all() -> &'static [Metric] {
    static ALL: LazyLock<Vec<Metric>> = LazyLock::new(|| {
        let of_runs = of_memory::metrics().into_iter().chain(of_run::metrics());
        let of_runs = of_runs.chain(of_restart::metrics()).chain([by_verb()]);
        of_runs.chain(of_subject::metrics()).collect()
    });
    &ALL
}

/// One row for all of them: there are as many as verbs and resources.
fn by_verb() -> Metric {
    let label = "requests by verb and resource";
    let kinds = &[Kind::Memory, Kind::RequestCount];
    Metric::new("requests.by_verb", label, "count", kinds, Source::Verbs)
}

/// The figure of this name, if there is one.
pub fn find(id: &str) -> Option<&'static Metric> {
    let is_it = |metric: &&Metric| match metric.source {
        Source::Verbs => id
            .strip_prefix(BY_VERB)
            .is_some_and(|verb| !verb.is_empty()),
        _ => metric.id == id,
    };
    all().iter().find(is_it)
}

/// The figures of runs by which subjects and folders are compared, each with every kind of run.
pub fn compared() -> impl Iterator<Item = (Kind, &'static Metric)> {
    let compared = all().iter().filter(|metric| metric.is_compared);
    compared.flat_map(|metric| metric.kinds.iter().map(move |kind| (*kind, metric)))
}

/// The figures of a table of a report, in order.
pub fn shown(table: Shown) -> impl Iterator<Item = &'static Metric> {
    all()
        .iter()
        .filter(move |metric| metric.shown == Some(table))
}

/// Every figure of a run that was measured, by name.
pub fn values(run: &Run) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for metric in all() {
        let value = match metric.source {
            Source::Run(read) => read(run),
            Source::Memory(samples, bytes) => {
                let bytes = |sampled: &Sampled| bytes(sampled).map(|bytes| bytes as f64);
                median_of(&samples(run), bytes)
            }
            Source::Restart(read) => median_of(&run.restarts, read),
            Source::Verbs => {
                let counts = run.requests.iter().flat_map(|counts| counts.by_verb());
                values.extend(counts.map(|(verb, n)| (format!("{BY_VERB}{verb}"), n as f64)));
                None
            }
            Source::Subject(_) => None,
        };
        values.extend(value.map(|value| (metric.id.clone(), value)));
    }
    values
}

/// A figure of a subject; `None` where it is not known or the name is not one of a subject.
pub fn of_subject(subject: &Subject, id: &str) -> Option<f64> {
    find(id)?.of_subject(subject)
}

/// Whether the phase of memory that a figure belongs to was sampled before the subject had settled.
pub fn did_not_settle(run: &summary::Run, id: &str) -> bool {
    let phase = match id {
        // Memory with and without them is that after a restart.
        of_run::FOREIGN_BYTES => Some("restart"),
        _ => id
            .strip_prefix("memory.")
            .and_then(|rest| rest.split('.').next()),
    };
    phase.is_some_and(|phase| run.unsettled.iter().any(|unsettled| unsettled == phase))
}

/// The phases of memory that were sampled before the subject had settled, by name.
pub fn unsettled(run: &Run) -> Vec<String> {
    let is_unsettled = |sampled: &Sampled| sampled.did_settle == Some(false);
    let unsettled = |phase: &&of_memory::Phase| (phase.samples)(run).iter().any(is_unsettled);
    let phases = of_memory::PHASES.iter().filter(unsettled);
    phases.map(|phase| phase.name.to_owned()).collect()
}

/// The phases in which the processes that were measured and their cgroup disagree on anonymous memory, a sentence each. The
/// kernel counts that of a cgroup in portions for each processor.
pub fn incomplete(run: &Run) -> Vec<String> {
    const PORTIONS_BYTES: u64 = 8_000_000;
    let differs = |sampled: &Sampled| {
        let (own, of_cgroup) = (sampled.memory.anon_bytes, sampled.cgroup?.anon_bytes?);
        let allowed = PORTIONS_BYTES.max(own.max(of_cgroup) / 4);
        (own.abs_diff(of_cgroup) > allowed).then_some((own / 1_000_000, of_cgroup / 1_000_000))
    };
    let phases = of_memory::PHASES.iter().filter_map(|phase| {
        let samples = (phase.samples)(run);
        let (own, of_cgroup) = samples.iter().find_map(differs)?;
        Some(format!(
            "{}: its processes have {own} MB of anonymous memory, its cgroup {of_cgroup} MB: one of them is not all of it",
            phase.name
        ))
    });
    phases.collect()
}

/// The median of what is known of each.
fn median_of<T>(all: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    median(&all.iter().filter_map(of).collect::<Vec<f64>>())
}

impl Metric {
    /// A cost, in no table, that nothing is compared by.
    fn new(
        id: &str,
        label: &str,
        unit: &'static str,
        kinds: &'static [Kind],
        source: Source,
    ) -> Self {
        Self {
            id: id.to_owned(),
            label: label.to_owned(),
            divisor: 1.0,
            unit,
            source,
            kinds,
            shown: None,
            is_compared: false,
            is_better_when_higher: false,
            least_margin: None,
            missing: "",
        }
    }

    fn missing(mut self, why: &'static str) -> Self {
        self.missing = why;
        self
    }

    fn divided(mut self, divisor: f64) -> Self {
        self.divisor = divisor;
        self
    }

    fn compared(mut self) -> Self {
        self.is_compared = true;
        self
    }

    fn higher(mut self) -> Self {
        self.is_better_when_higher = true;
        self
    }

    fn limited(mut self, least_margin: f64) -> Self {
        self.least_margin = Some(least_margin);
        self
    }

    fn shown(mut self, table: Shown) -> Self {
        self.shown = Some(table);
        self
    }

    /// The figure of one restart; `None` where it was not measured, or is none of a restart.
    pub fn of_restart(&self, restart: &Restart) -> Option<f64> {
        match self.source {
            Source::Restart(read) => read(restart),
            Source::Memory(_, bytes) => Some(bytes(&restart.memory?)? as f64),
            Source::Run(_) | Source::Verbs | Source::Subject(_) => None,
        }
    }

    /// The figure of a subject; `None` where it is not known, or is none of a subject.
    pub fn of_subject(&self, subject: &Subject) -> Option<f64> {
        match self.source {
            Source::Subject(read) => read(subject),
            Source::Run(_) | Source::Memory(..) | Source::Restart(_) | Source::Verbs => None,
        }
    }

    pub fn is_of_subject(&self) -> bool {
        self.kinds.is_empty()
    }
}

#[cfg(test)]
mod tests;
