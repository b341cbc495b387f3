//! Reports: everything a reader sees is rebuilt here from the raw data of a folder.
//!
//! Guarantees: the bench itself and `loadgen report` print the same; failed and missing runs are
//! in the report. Leaves to others: measuring.

pub mod benches;
pub mod claims;
pub mod conclusion;
pub mod figures;
pub mod junit;
pub mod limits;
pub mod markdown;
pub mod notes;
pub mod readme;
pub mod restarts;
pub mod sections;
pub mod sizing;
pub mod summary;
pub mod table;
pub mod tables;
pub mod unhealthy;
pub mod validate;

pub use crate::report::table::Table;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use crate::model::conformance;
use crate::model::conformance::ConformanceResult;
use crate::model::evidence::{EXPERIMENT, Evidence};
use crate::model::record::{Record, Run};
use crate::model::summary::Summary;

pub const SUMMARY: &str = "summary.json";

/// Writes `summary.json` and `report.md`, prints the report; false when a run failed or is
/// missing.
pub fn publish(evidence: &Evidence) -> anyhow::Result<bool> {
    let record =
        read(evidence).with_context(|| format!("no report from {}", evidence.root().display()))?;
    let summary = summary::summarise(&record);
    let tables = tables::tables(&summary, &record);
    evidence.write_json(SUMMARY, &summary)?;
    let benches = benches::section(&benches::pages(evidence.root()));
    let page = markdown::report(&summary, &record, &tables, &benches);
    evidence.write("report.md", page.as_bytes())?;
    println!();
    println!("{}\n", setting(&summary));
    for table in &tables {
        println!("{}", table.plain());
    }
    for line in failures(&record) {
        println!("{line}");
    }
    println!("{}", conclusion::conclusion(&summary));
    println!("{}", conclusion::not_measured(&summary, &record));
    let long = summary
        .notes
        .iter()
        .filter(|note| !note.starts_with("null: ") && !note.starts_with("failed: "));
    for note in long {
        println!("Note: {note}.");
    }
    println!(
        "Evidence: {} (summary.json, report.md, runs/, samples/, logs/)",
        evidence.root().display()
    );
    println!("Next: {}", conclusion::next(&record));
    let complete = record
        .experiment
        .planned
        .iter()
        .all(|cell| record.runs.contains_key(cell));
    let conforming = record
        .conformance
        .iter()
        .all(|one| one.result != ConformanceResult::Failed);
    Ok(conforming && complete && record.runs.values().all(|run| run.failure.is_none()))
}

/// What was measured, in one line.
fn setting(summary: &Summary) -> String {
    let (environment, scenario) = (&summary.environment, &summary.scenario);
    let cores = environment
        .machine
        .cores
        .map_or("?".into(), |cores| cores.to_string());
    format!(
        "{} objects of {} bytes with a {} Service, ready after {} ms; {} API server {}; {cores} cores; MB are 1,000,000 bytes",
        scenario.name,
        scenario.object_bytes,
        scenario.service,
        scenario.ready_delay_ms,
        environment.control_plane,
        environment
            .kubernetes_version
            .as_deref()
            .unwrap_or("(no version)"),
    )
}

/// What `scripts/image-sizes.sh` leaves in a folder.
const IMAGES: &str = "images.json";

/// The raw data of a folder.
pub fn read(evidence: &Evidence) -> Result<Record, validate::Error> {
    let experiment = validate::read(evidence, EXPERIMENT)?;
    let mut runs = BTreeMap::new();
    for name in evidence.json_files("runs")? {
        let run: Run = validate::read(evidence, &name)?;
        runs.insert(run.cell.clone(), run);
    }
    let images = match evidence.path(IMAGES).is_file() {
        true => evidence.read_json(IMAGES)?,
        false => BTreeMap::new(),
    };
    Ok(Record {
        experiment,
        images,
        runs,
        conformance: conformance::read(evidence)?,
    })
}

/// Failed and invalid runs, with the log tail of the subject.
fn failures(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    let mut explained = BTreeSet::new();
    for run in record.runs.values() {
        if let Some(failure) = &run.failure {
            lines.push(format!("FAILED {}: {}", run.cell, failure.reason));
            // The log tail of the same failure is shown once; runs/ has all of them.
            if explained.insert((&run.cell.subject, &failure.reason)) {
                let words = failure.last_log_lines.iter();
                lines.extend(words.map(|line| format!("    | {line}")));
            }
        }
        lines.extend(
            run.invalid_because
                .iter()
                .map(|reason| format!("INVALID {}: {reason}", run.cell)),
        );
    }
    lines
}
