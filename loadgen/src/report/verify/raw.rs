//! The record of each run against its samples.
//!
//! Guarantees: drain, counts and every latency of a record are computed again from its samples, with
//! the code that computed them first, and must be the same to the last digit. Cannot know: a sample
//! that changed together with the record; figures that no samples go with, such as CPU and requests.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::metric::convergence::convergence;
use crate::plan::cell::Kind;
use crate::record::Arrival;
use crate::record::Run;
use crate::record::evidence::{Error, Evidence};
use crate::record::samples::Samples;
use crate::report::validate;
use crate::report::verify::{Problem, content, difference};

pub struct Checked {
    pub problems: Vec<Problem>,
    /// Runs that follow from their samples.
    pub recomputed: usize,
}

/// Every run that has samples; what is missing is a matter of the plan. Where one of the two is known
/// to have `changed`, the problem is that file's.
///
/// # Errors
/// A file cannot be read at all.
pub fn check(
    evidence: &Evidence,
    files: &BTreeSet<String>,
    changed: &[Problem],
) -> Result<Checked, Error> {
    let mut checked = Checked {
        problems: Vec::new(),
        recomputed: 0,
    };
    for name in files {
        let Some(stem) = name
            .strip_prefix("samples/")
            .and_then(|name| name.strip_suffix(".tsv.gz"))
        else {
            continue;
        };
        let record = format!("runs/{stem}.json");
        let run = match files.contains(&record) {
            true => validate::read::<Run>(evidence, &record).ok(),
            false => None,
        };
        let samples = match unpacked(&content(evidence, name)?) {
            Ok(samples) => samples,
            Err(what) => {
                checked.problems.push(Problem {
                    file: name.clone(),
                    what,
                });
                continue;
            }
        };
        match run.and_then(|run| follows(&run, &samples)) {
            None => {}
            Some(None) => checked.recomputed += 1,
            Some(Some(difference)) => {
                let is_changed = |file: &String| changed.iter().any(|p| p.file == *file);
                checked.problems.push(match is_changed(name) {
                    true => Problem {
                        file: name.clone(),
                        what: format!("changed; {record} has convergence.{difference}"),
                    },
                    false => Problem {
                        file: record,
                        what: format!("does not follow from {name}: convergence.{difference}"),
                    },
                });
            }
        }
    }
    Ok(checked)
}

fn unpacked(packed: &[u8]) -> Result<Samples, String> {
    let mut text = String::new();
    GzDecoder::new(packed)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot be unpacked: {error}"))?;
    Samples::parse(&text).map_err(|error| error.to_string())
}

/// `None` where there is nothing to compare; within, what differs.
fn follows(run: &Run, samples: &Samples) -> Option<Option<String>> {
    let recorded = run.convergence.as_ref()?;
    let offer = match run.cell.kind {
        Kind::Rate => Arrival::AtRate,
        _ => Arrival::AtOnce,
    };
    let creation = samples.waves.first().map_or(&[][..], Vec::as_slice);
    let computed = convergence(creation, offer);
    // Both as they are after a file: writing and reading a number may move its last digit.
    let read_back = |value: Result<String, serde_json::Error>| -> Option<Value> {
        serde_json::from_str(&value.ok()?).ok()
    };
    let computed = read_back(serde_json::to_string(&computed))?;
    let recorded = read_back(serde_json::to_string(recorded))?;
    Some(difference::of_json(&computed, &recorded))
}
