//! The runs of a folder against its plan.
//!
//! Guarantees: every run that `experiment.json` plans is there with its samples and its log; no
//! other run is; earlier attempts are there, and none without the run that took its place; size and digest of a program are those
//! of its artifacts. Leaves to others: what is in the files.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::record::{Experiment, Run, SubjectRecord};
use crate::report::validate;
use crate::report::verify::Problem;

/// What the folder lacks, and what it has too much of.
///
/// # Errors
/// A run cannot be read.
pub fn problems(
    evidence: &Evidence,
    experiment: &Experiment,
    files: &BTreeSet<String>,
) -> Result<Vec<Problem>, validate::Error> {
    let mut found = Vec::new();
    let mut say = |file: String, what: String| found.push(Problem { file, what });
    let mut subjects = experiment.origin.subjects.iter();
    if let Some(what) = subjects.find_map(other_program) {
        say(EXPERIMENT.to_owned(), what);
    }
    let planned: BTreeMap<String, String> = experiment
        .planned
        .iter()
        .map(|cell| (cell.file_stem(), cell.to_string()))
        .collect();
    for (stem, cell) in &planned {
        let name = format!("runs/{stem}.json");
        if !files.contains(&name) {
            say(name, format!("missing; {EXPERIMENT} plans {cell}"));
        }
    }
    for name in files {
        let Some(own) = own_stem(name) else {
            continue;
        };
        let (stem, attempt) = attempt_of(own);
        if !planned.contains_key(stem) {
            say(name.clone(), format!("{EXPERIMENT} does not plan this run"));
            continue;
        }
        let run: Run = validate::read(evidence, name)?;
        if run.cell.file_stem() != stem {
            say(name.clone(), format!("is a record of {}", run.cell));
            continue;
        }
        if attempt.is_some() {
            continue;
        }
        for (needed, what) in attempts(&run, stem, files) {
            say(needed, what);
        }
        for (needed, why) in needed(&run, stem) {
            if !files.contains(&needed) {
                say(needed, format!("missing; {name} {why}"));
            }
        }
    }
    Ok(found)
}

/// In what a program is another one than its artifacts.
fn other_program(record: &SubjectRecord) -> Option<String> {
    let (id, artifacts) = (record.subject.id(), &record.artifacts);
    let names = artifacts.iter().map(|artifact| &artifact.name);
    if !names.eq(&record.subject.run.artifacts) {
        return Some(format!(
            "{id}: its artifacts are not those of [run] artifacts"
        ));
    }
    let executable = record.executable_sha256.as_deref();
    let (bytes, sha256) = SubjectRecord::of_artifacts(executable, artifacts);
    // A folder of an earlier loadgen does not have what the digest begins with.
    let is_other_sum = executable.is_some() && record.binary_sha256 != Some(sha256);
    let is_other = record.binary_bytes != Some(bytes) || is_other_sum;
    (!artifacts.is_empty() && is_other)
        .then(|| format!("{id}: binary_bytes and binary_sha256 are not those of its artifacts"))
}

/// `runs/<stem>.json` without its folder and its ending.
fn own_stem(name: &str) -> Option<&str> {
    name.strip_prefix("runs/")?.strip_suffix(".json")
}

/// The stem of a run, and the attempt where it is an earlier one.
fn attempt_of(stem: &str) -> (&str, Option<u32>) {
    match stem.rsplit_once("-attempt-") {
        Some((run, attempt)) => match attempt.parse() {
            Ok(attempt) => (run, Some(attempt)),
            Err(_) => (stem, None),
        },
        None => (stem, None),
    }
}

/// Attempts before a run that are not there, and attempts that do not come before it.
fn attempts(run: &Run, stem: &str, files: &BTreeSet<String>) -> Vec<(String, String)> {
    let earlier = |attempt: u32| format!("runs/{stem}-attempt-{attempt}.json");
    let last = run.attempt;
    let missing = (1..last)
        .map(earlier)
        .filter(|name| !files.contains(name))
        .map(|name| (name, format!("missing; runs/{stem}.json is attempt {last}")));
    let without_successor = files.iter().filter_map(|name| {
        let (run, attempt) = attempt_of(own_stem(name)?);
        (run == stem && attempt? >= last).then(|| {
            let what = format!("has no successor; runs/{stem}.json is attempt {last}");
            (name.clone(), what)
        })
    });
    missing.chain(without_successor).collect()
}

/// Files that go with a run, and why.
fn needed(run: &Run, stem: &str) -> Vec<(String, &'static str)> {
    let mut needed = Vec::new();
    if run.convergence.is_some() && run.cell.has_samples() {
        needed.push((
            format!("samples/{stem}.tsv.gz"),
            "says how its objects converged",
        ));
    }
    if run.failure.is_none() {
        needed.push((
            format!("logs/{stem}.log.gz"),
            "is of a run that did not fail",
        ));
    }
    needed
}
