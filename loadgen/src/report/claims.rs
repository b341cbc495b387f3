//! Published figures beside what was measured, and whether they hold.
//!
//! Guarantees: the claims, their sources and the rules they are judged by are data
//! (`results/claims.toml`); what was not measured is neither held nor refuted; only figures of a
//! real control plane are used. Leaves to others: the table.

use serde::Deserialize;

use crate::model::cell::Kind;
use crate::model::metric;
use crate::model::subject::Language;
use crate::model::summary;
use crate::model::summary::{Subject, Summary};
use crate::report::table::{Table, figure};
use crate::report::tables::typical;

const CLAIMS: &str = include_str!("../../../results/claims.toml");

#[derive(Debug, Deserialize)]
struct File {
    claim: Vec<Claim>,
}

/// One published figure, and which of ours it is held against.
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
    metric: String,
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

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    About,
    AtMost,
    AtLeast,
}

fn one() -> f64 {
    1.0
}

/// The claims about subjects of this summary.
pub fn judged(summary: &Summary) -> Vec<summary::Claim> {
    if summary.environment.control_plane == "kubesim" {
        return Vec::new();
    }
    let about = |claim: &Claim| summary.subjects.iter().find(|s| s.id() == claim.subject);
    let claims = claims().into_iter();
    claims
        .filter_map(|claim| Some(judge(&claim, measured(&claim, about(&claim)?))))
        .collect()
}

fn claims() -> Vec<Claim> {
    // Part of the build, and read by a test.
    let file: File = toml::from_str(CLAIMS).expect("results/claims.toml is valid");
    file.claim
}

fn measured(claim: &Claim, subject: &Subject) -> Option<f64> {
    if claim.metric.starts_with("gc_pause.") && subject.language == Language::Rust {
        // There is no collector that could pause it.
        return Some(0.0);
    }
    let value = match &claim.cell {
        None => metric::of_subject(subject, &claim.metric)?,
        Some(cell) => {
            let of_cell = subject.runs.iter().filter(|run| run.cell == *cell);
            let objects = claim.objects.or(of_cell.map(|run| run.objects).max())?;
            typical(subject, *cell, objects, &claim.metric)?
        }
    };
    Some(value * claim.scale)
}

fn judge(claim: &Claim, measured: Option<f64>) -> summary::Claim {
    let slack = claim.claimed * claim.tolerance;
    let holds = measured.map(|measured| match claim.rule {
        Rule::About => (measured - claim.claimed).abs() <= slack,
        Rule::AtMost => measured <= claim.claimed + slack,
        Rule::AtLeast => measured >= claim.claimed - slack,
    });
    summary::Claim {
        claim: claim.claim.clone(),
        source: claim.source.clone(),
        claimed: claim.claimed,
        unit: claim.unit.clone(),
        measured,
        holds,
    }
}

/// `None` when no claim speaks of a subject that was measured.
pub fn table(summary: &Summary) -> Option<Table> {
    let row = |judged: &summary::Claim| {
        let verdict = match judged.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "not measured",
        };
        vec![
            format!("{}, {}", judged.claim, judged.unit),
            figure(Some(judged.claimed)),
            figure(judged.measured),
            verdict.to_owned(),
            judged.source.clone(),
        ]
    };
    let header = ["", "published", "measured", "result", "source"].map(str::to_owned);
    (!summary.claims.is_empty()).then(|| Table {
        title: "Published figures (rules in results/claims.toml)".into(),
        header: header.to_vec(),
        rows: summary.claims.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_can_be_read_and_names_a_source() {
        let claims = claims();
        assert!(claims.len() >= 12);
        for claim in &claims {
            assert!(!claim.source.is_empty(), "{}", claim.claim);
            let run_metric = claim.metric.contains('.');
            assert_eq!(run_metric, claim.cell.is_some(), "{}", claim.claim);
        }
    }

    #[test]
    fn a_claim_holds_by_its_rule() {
        let claim = |rule, tolerance| Claim {
            rule,
            tolerance,
            claimed: 100.0,
            ..claims().remove(0)
        };
        for (rule, tolerance, measured, want) in [
            (Rule::About, 0.25, Some(80.0), Some(true)),
            (Rule::About, 0.25, Some(126.0), Some(false)),
            (Rule::About, 0.25, Some(70.0), Some(false)),
            (Rule::AtMost, 0.0, Some(99.0), Some(true)),
            (Rule::AtMost, 0.1, Some(111.0), Some(false)),
            (Rule::AtLeast, 0.0, Some(99.0), Some(false)),
            (Rule::AtLeast, 0.1, Some(91.0), Some(true)),
            (Rule::About, 0.25, None, None),
        ] {
            let judged = judge(&claim(rule, tolerance), measured);
            assert_eq!(judged.holds, want, "{rule:?} {tolerance} {measured:?}");
        }
    }
}
