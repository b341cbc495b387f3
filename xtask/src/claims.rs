//! Published figures beside what was measured, and whether they hold.
//!
//! Guarantees: the claims, their sources, what each may mean and the rules they are judged by are data
//! (`results/claims.toml`); what was not measured is neither held nor refuted; only figures of a
//! real control plane are used. Leaves to others: judging (`rule`), the page (`page`).

pub mod page;
mod rule;
mod verdict;

use serde::Deserialize;

use crate::claims::rule::{Bounds, Rule, judge, together};
use crate::claims::verdict::{ClaimMeaning, ClaimResult, Judged};
use loadgen::metric;
use loadgen::metric::statistics::median;
use loadgen::plan::cell::Kind;
use loadgen::record;
use loadgen::record::Record;
use loadgen::record::histogram::Buckets;
use loadgen::record::summary::{Subject, Summary};
use loadgen::report::rows::typical;
use loadgen::report::summary::figures;
use loadgen::report::table::figure;
use loadgen::spec::subject::Language;

const CLAIMS: &str = include_str!("../../results/claims.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// Name and source of every claim.
pub fn listed() -> Vec<(String, String)> {
    let claims = claims().into_iter();
    claims.map(|claim| (claim.claim, claim.source)).collect()
}

/// One published figure, and what it may mean.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    claim: String,
    source: String,
    claimed: f64,
    unit: String,
    rule: Rule,
    /// A fraction of the claimed figure.
    tolerance: f64,
    subject: String,
    meaning: Vec<Meaning>,
}

/// A figure of ours that the source may mean.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meaning {
    says: String,
    /// Without it no bench measures this meaning.
    #[serde(default)]
    metric: Option<String>,
    /// Of the runs; without it the metric is one of the subject itself.
    #[serde(default)]
    cell: Option<Kind>,
    /// The largest number that was measured, unless said.
    #[serde(default)]
    objects: Option<usize>,
    /// From our unit to that of the claim.
    #[serde(default = "one")]
    scale: f64,
}

fn one() -> f64 {
    1.0
}

/// The claims about subjects of this summary.
pub fn judged(summary: &Summary, record: &Record) -> Vec<Judged> {
    if summary.environment.control_plane == "kubesim" {
        return Vec::new();
    }
    let subject = |claim: &Claim| summary.subjects.iter().find(|s| s.id() == claim.subject);
    let judged = claims().into_iter().filter_map(|claim| {
        let measured = Measured {
            subject: subject(&claim)?,
            runs: record.runs.values().collect(),
        };
        Some(published(&claim, |meaning| measured.bounds(meaning)))
    });
    judged.collect()
}

fn claims() -> Vec<Claim> {
    // Part of the build, and read by a test.
    let file: File = toml::from_str(CLAIMS).expect("results/claims.toml is valid");
    file.claim
}

/// A claim with the figure of each of its meanings.
fn published(claim: &Claim, measured: impl Fn(&Meaning) -> Option<Bounds>) -> Judged {
    let meanings = claim.meaning.iter().map(|meaning| {
        let bounds = measured(meaning).map(|bounds| bounds.scaled(meaning.scale));
        ClaimMeaning {
            says: meaning.says.clone(),
            from: bounds.map(|bounds| bounds.from),
            to: bounds.and_then(|bounds| bounds.to),
            result: judge(claim.rule, claim.claimed, claim.tolerance, bounds),
        }
    });
    let meanings: Vec<ClaimMeaning> = meanings.collect();
    let results: Vec<ClaimResult> = meanings.iter().map(|meaning| meaning.result).collect();
    Judged {
        claim: claim.claim.clone(),
        source: claim.source.clone(),
        claimed: claim.claimed,
        unit: claim.unit.clone(),
        result: together(&results),
        because: because(&meanings, &claim.unit),
        meanings,
    }
}

/// The figure of each meaning, such as "packed: 14.2 MB, holds; unpacked: 31.0 MB, does not hold".
fn because(meanings: &[ClaimMeaning], unit: &str) -> String {
    let sentence = |meaning: &ClaimMeaning| match meaning.result {
        ClaimResult::NotMeasured => format!("{}: not measured", meaning.says),
        result => format!(
            "{}: {} {unit}, {}",
            meaning.says,
            shown(meaning),
            result.words()
        ),
    };
    meanings.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

/// A figure, or the bounds that it lies within.
fn shown(meaning: &ClaimMeaning) -> String {
    match (meaning.from, meaning.to) {
        (None, _) => figure(None),
        (from, None) => format!("above {}", figure(from)),
        (from, to) if from == to => figure(from),
        (from, to) => format!("{} to {}", figure(from), figure(to)),
    }
}

/// What was measured of one subject.
struct Measured<'a> {
    subject: &'a Subject,
    /// Of all subjects.
    runs: Vec<&'a record::Run>,
}

impl Measured<'_> {
    fn bounds(&self, meaning: &Meaning) -> Option<Bounds> {
        let path = meaning.metric.as_deref()?;
        if path.starts_with("gc_pause.") && self.subject.language == Language::Rust {
            // There is no collector that could pause it.
            return Some(Bounds::exact(0.0));
        }
        let Some(kind) = meaning.cell else {
            return metric::of_subject(self.subject, path).map(Bounds::exact);
        };
        let runs = self.subject.runs.iter();
        let of_kind = runs.filter(|run| run.cell == kind);
        let objects = meaning.objects.or(of_kind.map(|run| run.objects).max())?;
        if histogram(path).is_some() {
            return self.within_buckets(kind, objects, path);
        }
        let measured = typical(self.subject, kind, objects, path).map(Bounds::exact);
        measured.or_else(|| self.between_sizes(kind, objects, path))
    }

    /// The median of the bounds of the buckets: the median of the values lies between.
    fn within_buckets(&self, kind: Kind, objects: usize, path: &str) -> Option<Bounds> {
        let (buckets, quantile) = histogram(path)?;
        let id = self.subject.id();
        let runs = self.runs.iter().filter(|run| {
            let cell = &run.cell;
            cell.subject == id && cell.kind == kind && cell.objects == objects
        });
        let bounds = runs
            .filter(|run| figures(run).valid)
            .filter_map(|run| buckets(run)?.bounds_ms(quantile));
        let (from, to): (Vec<f64>, Vec<f64>) = bounds
            .map(|(from, to)| (from, to.unwrap_or(f64::INFINITY)))
            .unzip();
        Some(Bounds {
            from: median(&from)?,
            to: median(&to).filter(|to| to.is_finite()),
        })
    }

    /// Memory at a size that has no runs: it grows with the objects, so that it lies between those at
    /// the next smaller and the next larger size.
    fn between_sizes(&self, kind: Kind, objects: usize, path: &str) -> Option<Bounds> {
        let is_memory = path.starts_with("memory.");
        let runs = self.subject.runs.iter();
        let sizes = runs.filter(|run| run.cell == kind).map(|run| run.objects);
        let smaller = sizes.clone().filter(|size| *size < objects).max()?;
        let larger = sizes.filter(|size| *size > objects).min()?;
        let at = |size| typical(self.subject, kind, size, path);
        let (smaller, larger) = (at(smaller)?, at(larger)?);
        is_memory.then(|| Bounds {
            from: smaller.min(larger),
            to: Some(smaller.max(larger)),
        })
    }
}

type ReadBuckets = fn(&record::Run) -> Option<&Buckets>;

/// The histogram that a figure comes from, and which quantile of it.
fn histogram(path: &str) -> Option<(ReadBuckets, f64)> {
    let calls: ReadBuckets = |run| Some(&run.reconcile.as_ref()?.buckets);
    let pauses: ReadBuckets = |run| Some(&run.gc_pauses.as_ref()?.buckets);
    match path {
        "reconcile.p50_ms" => Some((calls, 0.50)),
        "reconcile.p99_ms" => Some((calls, 0.99)),
        "reconcile.max_ms" => Some((calls, 1.0)),
        "gc_pause.p99_ms" => Some((pauses, 0.99)),
        "gc_pause.max_ms" => Some((pauses, 1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
