//! What changed between two folders of results, subject by subject and figure by figure.
//!
//! Guarantees: pure; runs that are invalid are left out and counted; runs of two folders are never
//! paired by their repeat, because nothing but the number is common to them. A change within the
//! larger noise floor of both folders, or with an interval that contains 1, is not significant.
//! Leaves to others: the arithmetic (`statistics`), the floors (`noise`), the words (`report`).

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::metric;
use crate::metric::noise;
use crate::metric::statistics::{median, ratio_of_series};
use crate::metric::{KNEE, Metric};
use crate::plan::cell::Kind;
use crate::record::summary::{NoiseFloor, Run, Subject, Summary};

/// Whether a figure is one of those that are compared.
pub fn is_compared(name: &str) -> bool {
    metric::find(name).is_some_and(|metric| metric.is_compared)
}

/// Two subjects that are compared: the id in the first folder and that in the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pairing {
    pub before: String,
    pub after: String,
}

/// What changed from one folder to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes {
    /// What differs between the folders besides the subjects, one sentence each.
    pub warnings: Vec<String>,
    pub changes: Vec<Change>,
}

/// One figure in two folders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    #[serde(flatten)]
    pub subjects: Pairing,
    /// Path of the figure within a run or within a subject.
    pub metric: String,
    /// `None` for a figure of the subject itself.
    pub cell: Option<CellKey>,
    pub before_median: f64,
    pub after_median: f64,
    pub before_runs: usize,
    pub after_runs: usize,
    /// Invalid runs of the cell, which are not among the runs.
    pub before_invalid: usize,
    pub after_invalid: usize,
    /// Second folder divided by the first, of geometric means; `None` where a value is 0.
    pub ratio: Option<f64>,
    /// Needs two valid runs in each folder.
    pub ci95: Option<[f64; 2]>,
    /// The largest ratio that noise explains; `None` where neither folder has A/A runs with it.
    pub floor: Option<f64>,
    pub assessment: Assessment,
}

/// Which runs a figure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CellKey {
    pub kind: Kind,
    pub objects: usize,
    /// Objects offered per second, in runs at a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_s: Option<u32>,
}

/// What can be said about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assessment {
    Better,
    Worse,
    /// Within the floor, or the interval contains 1.
    NotSignificant,
    /// Fewer than two valid runs in a folder, so that there is no interval.
    Undecided,
}

/// The subjects that both folders have.
pub fn common(before: &Summary, after: &Summary) -> Vec<Pairing> {
    let ids = |summary: &Summary| summary.subjects.iter().map(Subject::id).collect::<Vec<_>>();
    let after = ids(after);
    let both = ids(before).into_iter().filter(|id| after.contains(id));
    both.map(|id| Pairing {
        before: id.clone(),
        after: id,
    })
    .collect()
}

/// What changed between the subjects of these pairings; an id that a folder does not have has no
/// changes.
pub fn changes(before: &Summary, after: &Summary, pairings: &[Pairing]) -> Changes {
    let floors = [noise::floors(before), noise::floors(after)].concat();
    let subject = |summary: &'_ Summary, id: &str| {
        let mut subjects = summary.subjects.iter();
        subjects.find(|subject| subject.id() == id).cloned()
    };
    let mut warnings = differences(before, after);
    let mut all = Vec::new();
    for pairing in pairings {
        let sides = subject(before, &pairing.before).zip(subject(after, &pairing.after));
        let Some((before, after)) = sides else {
            continue;
        };
        let sides = Sides { before, after };
        let of_subject = metric::all().iter().filter(|metric| metric.is_of_subject());
        all.extend(of_subject.filter_map(|metric| sides.of_subject(metric)));
        for (kind, metric) in metric::compared() {
            let cells = sides.common_cells(kind).into_iter();
            all.extend(cells.filter_map(|cell| sides.change(cell, metric, &floors)));
        }
        warnings.extend(sides.differences());
        warnings.extend(sides.lonely_cells());
    }
    Changes {
        warnings,
        changes: all,
    }
}

/// A subject in both folders.
struct Sides {
    before: Subject,
    after: Subject,
}

impl Sides {
    fn pairing(&self) -> Pairing {
        Pairing {
            before: self.before.id(),
            after: self.after.id(),
        }
    }

    fn common_cells(&self, kind: Kind) -> Vec<CellKey> {
        let of_kind = |subject| {
            let cells: BTreeSet<CellKey> = cells(subject);
            cells.into_iter().filter(move |cell| cell.kind == kind)
        };
        let after: BTreeSet<CellKey> = of_kind(&self.after).collect();
        of_kind(&self.before)
            .filter(|cell| after.contains(cell))
            .collect()
    }

    /// What besides its code may explain that it changed.
    fn differences(&self) -> Vec<String> {
        let foreign = |subject: &Subject| {
            let mut runs = subject.runs.iter();
            let asked = runs.find_map(|run| run.value("bystanders.objects"));
            asked.map_or("none".to_owned(), |objects| objects.to_string())
        };
        let facts = |subject: &Subject| {
            [
                ("target", subject.target.clone()),
                ("allocator", known(&subject.allocator)),
                ("build profile", known(&subject.profile)),
                ("number of foreign objects", foreign(subject)),
            ]
        };
        differing(facts(&self.before), facts(&self.after))
            .map(|differs| format!("{}: {differs}", self.after.id()))
            .collect()
    }

    /// Cells that only one folder has.
    fn lonely_cells(&self) -> Option<String> {
        let (before, after) = (cells(&self.before), cells(&self.after));
        let lonely: Vec<String> = before
            .symmetric_difference(&after)
            .map(CellKey::to_string)
            .collect();
        let ids = self.pairing();
        (!lonely.is_empty()).then(|| {
            let id = match ids.before == ids.after {
                true => ids.before,
                false => format!("{} and {}", ids.before, ids.after),
            };
            format!("{id}: only one folder has {}", lonely.join(", "))
        })
    }

    fn change(&self, cell: CellKey, metric: &Metric, floors: &[NoiseFloor]) -> Option<Change> {
        let values = |subject: &Subject| -> Vec<f64> {
            let valid = cell.runs(subject).filter(|run| run.valid);
            valid.filter_map(|run| run.value(&metric.id)).collect()
        };
        let invalid = |subject: &Subject| cell.runs(subject).filter(|run| !run.valid).count();
        let (before, after) = (values(&self.before), values(&self.after));
        let ratio = ratio_of_series(&before, &after);
        let ci95 = ratio.and_then(|ratio| ratio.ci95);
        let floor = floors
            .iter()
            .filter(|floor| floor.cell == cell.kind && floor.metric == metric.id)
            .filter_map(noise::largest_ratio)
            .max_by(f64::total_cmp);
        let ratio = ratio.map(|ratio| ratio.ratio);
        let (before_median, after_median) = (median(&before)?, median(&after)?);
        Some(Change {
            subjects: self.pairing(),
            metric: metric.id.clone(),
            cell: Some(cell),
            before_median,
            after_median,
            before_runs: before.len(),
            after_runs: after.len(),
            before_invalid: invalid(&self.before),
            after_invalid: invalid(&self.after),
            ratio,
            ci95,
            floor,
            assessment: match ratio {
                None if before_median == after_median => Assessment::NotSignificant,
                None => Assessment::Undecided,
                Some(ratio) => assess(metric, ratio, ci95, floor),
            },
        })
    }

    /// A figure of the subject has no spread: any difference is one. That of a knee is undecided: how often it would be
    /// the same is not known.
    fn of_subject(&self, metric: &Metric) -> Option<Change> {
        let before = metric
            .of_subject(&self.before)
            .filter(|_| metric.is_compared)?;
        let after = metric.of_subject(&self.after)?;
        let ratio = (before > 0.0).then_some(after / before)?;
        Some(Change {
            subjects: self.pairing(),
            metric: metric.id.clone(),
            cell: None,
            before_median: before,
            after_median: after,
            before_runs: 1,
            after_runs: 1,
            before_invalid: 0,
            after_invalid: 0,
            ratio: Some(ratio),
            ci95: None,
            floor: None,
            assessment: match metric.id == KNEE && ratio != 1.0 {
                true => Assessment::Undecided,
                false => assess(metric, ratio, Some([ratio; 2]), None),
            },
        })
    }
}

impl CellKey {
    fn of(run: &Run) -> Self {
        Self {
            kind: run.cell,
            objects: run.objects,
            per_s: run.per_s,
        }
    }

    fn runs<'a>(&self, subject: &'a Subject) -> impl Iterator<Item = &'a Run> {
        let key = *self;
        let runs = subject.runs.iter();
        runs.filter(move |run| CellKey::of(run) == key)
    }
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.objects)?;
        match self.per_s {
            Some(per_s) => write!(f, " at {per_s}/s"),
            None => Ok(()),
        }
    }
}

fn cells(subject: &Subject) -> BTreeSet<CellKey> {
    subject.runs.iter().map(CellKey::of).collect()
}

/// Without a floor the interval alone decides.
fn assess(metric: &Metric, ratio: f64, ci95: Option<[f64; 2]>, floor: Option<f64>) -> Assessment {
    if ci95.is_none() {
        return Assessment::Undecided;
    }
    let better = match metric.is_better_when_higher {
        true => ratio > 1.0,
        false => ratio < 1.0,
    };
    match (
        noise::is_significant(ratio, ci95, floor.unwrap_or(1.0)),
        better,
    ) {
        (false, _) => Assessment::NotSignificant,
        (true, true) => Assessment::Better,
        (true, false) => Assessment::Worse,
    }
}

/// What besides the subjects may explain a change.
fn differences(before: &Summary, after: &Summary) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or("unknown".into(), |n| n.to_string());
    let facts = |summary: &Summary| {
        let (environment, scenario) = (&summary.environment, &summary.scenario);
        let machine = &environment.machine;
        [
            ("CPU", known(&machine.cpu_model)),
            ("cores", number(machine.cores.map(|cores| cores as u64))),
            ("memory of the machine, bytes", number(machine.memory_bytes)),
            ("kernel", known(&machine.kernel)),
            ("host", environment.host_label.clone()),
            ("control plane", environment.control_plane.clone()),
            (
                "flags of the control plane",
                environment.control_plane_flags.clone(),
            ),
            ("Kubernetes version", known(&environment.kubernetes_version)),
            ("profile", format!("{:?}", scenario.profile).to_lowercase()),
            ("scenario", scenario.name.clone()),
            ("object size, bytes", scenario.object_bytes.to_string()),
            ("Service", scenario.service.clone()),
            (
                "time until a Deployment is ready, ms",
                scenario.ready_delay_ms.to_string(),
            ),
        ]
    };
    differing(facts(before), facts(after)).collect()
}

/// A sentence for each fact that is another one.
fn differing<const N: usize>(
    before: [(&'static str, String); N],
    after: [(&'static str, String); N],
) -> impl Iterator<Item = String> {
    let pairs = before.into_iter().zip(after);
    pairs
        .filter(|(before, after)| before != after)
        .map(|((what, before), (_, after))| format!("{what} differs: {before}; {after}"))
}

fn known(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "unknown".into())
}

#[cfg(test)]
pub mod tests;
