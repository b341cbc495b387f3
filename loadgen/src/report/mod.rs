//! Reports: everything a reader sees is rebuilt here from the raw data of a folder.
//!
//! Guarantees: the bench itself and `loadgen report` print the same; failed and missing runs are
//! in the report. Leaves to others: measuring.

pub mod bystanders;
pub mod change;
pub mod chart;
pub mod conclusion;
pub mod csv;
pub mod default_flags;
pub mod envelope;
pub mod html;
pub mod junit;
pub mod limits;
pub mod markdown;
pub mod notes;
pub mod picture;
pub mod provenance;
pub mod rate_sweep;
pub mod ratios;
pub mod request_counts;
pub mod restarts;
pub mod rows;
pub mod sizing;
pub mod small_node;
pub mod summary;
pub mod table;
pub mod tables;
pub mod title;
pub mod unhealthy;
pub mod validate;
pub mod verify;

pub use crate::report::table::Table;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use crate::model::conformance;
use crate::model::conformance::ConformanceResult;
use crate::model::evidence::{EXPERIMENT, Evidence};
use crate::model::record::{Record, Run};
use crate::model::summary::Summary;

pub const SUMMARY: &str = "summary.json";

/// A file of a folder that follows from its raw data.
pub struct Built {
    pub name: &'static str,
    pub content: Vec<u8>,
}

/// Every file that follows from the raw data of a folder, and from nothing beside it, as `report` writes it and
/// `verify` expects it.
///
/// # Errors
/// A series cannot be read; the summary cannot be written as JSON.
pub fn built(
    evidence: &Evidence,
    summary: &Summary,
    record: &Record,
    tables: &[Table],
) -> anyhow::Result<Vec<Built>> {
    let mut json = serde_json::to_vec_pretty(summary)?;
    json.push(b'\n');
    let page = markdown::report(summary, record, tables);
    let over_time = html::read_series(evidence, record)?;
    let html = html::page(&html::Page {
        summary,
        record,
        over_time: &over_time,
    });
    let file = |name, content| Built { name, content };
    Ok(vec![
        file(SUMMARY, json),
        file("report.md", page.into_bytes()),
        file("report.csv", csv::file(summary)?),
        file("report.html", html.into_bytes()),
    ])
}

/// Writes `summary.json` and the reports, prints the report; false when a run failed or is
/// missing.
pub fn publish(evidence: &Evidence) -> anyhow::Result<bool> {
    let record =
        read(evidence).with_context(|| format!("no report from {}", evidence.root().display()))?;
    let summary = summary::summarise(&record);
    let tables = tables::tables(&summary, &record);
    for file in built(evidence, &summary, &record, &tables)? {
        evidence.write(file.name, &file.content)?;
    }
    // Last, so that it has every other file.
    evidence.write_sums()?;
    println!();
    println!("{}\n{}\n", title::title(&summary), title::setting(&summary));
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
        .filter(|note| !notes::is_for_a_program(note) && !note.starts_with("failed: "));
    for note in long {
        println!("Note: {note}.");
    }
    println!(
        "Evidence: {} (report.html, report.md, report.csv, summary.json, runs/, samples/, logs/)",
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

/// What `scripts/image-sizes.sh` leaves in a folder.
const IMAGES: &str = "images.json";

/// The raw data of a folder.
pub fn read(evidence: &Evidence) -> Result<Record, validate::Error> {
    let experiment = validate::read(evidence, EXPERIMENT)?;
    let (mut runs, mut attempts) = (BTreeMap::new(), Vec::new());
    for name in evidence.json_files("runs")? {
        let run: Run = validate::read(evidence, &name)?;
        match name == format!("runs/{}.json", run.cell.file_stem()) {
            true => {
                runs.insert(run.cell.clone(), run);
            }
            false => attempts.push(run),
        }
    }
    let images = match evidence.path(IMAGES).is_file() {
        true => evidence.read_json(IMAGES)?,
        false => BTreeMap::new(),
    };
    Ok(Record {
        experiment,
        images,
        runs,
        attempts,
        conformance: conformance::read(evidence)?,
    })
}

/// Failed and invalid runs, with the log tail of the subject.
fn failures(record: &Record) -> Vec<String> {
    let mut lines: Vec<String> = record.attempts.iter().map(measured_again).collect();
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
        if !run.invalid_because.is_empty() {
            let reasons = run.invalid_because.join("; ");
            lines.push(format!("INVALID {}: {reasons}", run.cell));
        }
    }
    lines
}

/// An invalid run that was measured again.
fn measured_again(run: &Run) -> String {
    format!(
        "INVALID {}, attempt {}: {}; measured again",
        run.cell,
        run.attempt,
        run.invalid_because.join("; ")
    )
}

/// Phases that were sampled although the subject did not settle.
fn unsettled(record: &Record) -> Vec<String> {
    let lines = record.runs.values().filter_map(|run| {
        let memory = &run.memory;
        let phases = [
            ("at start", memory.empty),
            ("after the objects", memory.settled),
            ("after churn", memory.churn),
            ("after the soak", memory.after_soak),
            ("after deletion", memory.deleted),
        ];
        let restarted = run
            .restarts
            .iter()
            .map(|restart| ("after a restart", restart.memory));
        let all = phases.into_iter().chain(restarted);
        let mut which: Vec<&str> = all
            .filter(|(_, sampled)| sampled.is_some_and(|s| s.did_settle == Some(false)))
            .map(|(phase, _)| phase)
            .collect();
        which.dedup();
        (!which.is_empty()).then(|| format!("{}: {}", run.cell, which.join(", ")))
    });
    lines.collect()
}
