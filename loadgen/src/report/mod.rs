//! Reports: what a reader sees of a folder, computed once from its raw data and printed for a terminal, a repository and a
//! browser.
//!
//! Guarantees: a [`Report`] is pure data, so that `report.md`, `report.html` and the terminal say the same, as do the bench
//! itself and `loadgen report`; failed and missing runs are in it. Leaves to others: measuring, and what a figure is
//! (`metric`).

mod answer;
mod bystanders;
pub mod change;
pub mod chart;
mod circumstances;
mod csv;
pub mod envelope;
pub mod foreign_cost;
pub mod junit;
pub mod limits;
mod memory;
pub mod notes;
mod over_time;
pub mod page;
mod prose;
mod rates;
mod restarts;
pub mod rows;
pub mod sizing;
pub mod steps;
pub mod summary;
pub mod table;
mod text;
pub mod title;
mod unhealthy;
pub mod validate;
pub mod verify;
mod work;

pub use crate::report::memory::picture;
pub use crate::report::table::Table;

use std::collections::BTreeMap;

use anyhow::Context;

use crate::record::conformance;
use crate::record::conformance::ConformanceResult;
use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::record::summary::Summary;
use crate::record::{Record, Run};
use crate::report::chart::Chart;
use crate::report::over_time::OverTime;

pub const SUMMARY: &str = "summary.json";
/// What `scripts/image-sizes.sh` leaves in a folder.
const IMAGES: &str = "images.json";

/// What is said of a folder.
pub struct Report {
    pub title: String,
    /// The circumstances, a sentence each.
    pub setting: Vec<String>,
    /// What a reader must know before the first figure.
    pub warnings: Vec<String>,
    /// What came out; the first one is the answer in short.
    pub sections: Vec<Section>,
    /// How it came out: of pages alone.
    pub background: Vec<Section>,
}

/// A part of a report with a heading.
pub struct Section {
    /// Of a link to it.
    pub id: &'static str,
    pub title: &'static str,
    pub blocks: Vec<Block>,
}

/// A part of a section.
pub enum Block {
    Sentences(Vec<String>),
    List(Vec<String>),
    /// As they were printed, or as they are typed.
    Lines(Vec<String>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    Table(Table),
    /// For pages that can show one.
    Figure(Figure),
}

/// Charts with a caption.
pub struct Figure {
    pub title: &'static str,
    /// How to read it.
    pub words: String,
    pub drawings: Drawings,
}

pub enum Drawings {
    Chart(Box<Chart>),
    /// Side by side, as many as fit.
    Panels(Vec<Chart>),
    /// Bars for one figure each, by its label.
    Bars(Vec<(&'static str, Vec<Bar>)>),
}

/// The figure of one subject.
pub struct Bar {
    pub name: String,
    /// Place of the subject in the experiment; decides the colour.
    pub slot: usize,
    pub value: Option<f64>,
    /// As the tables have it, or why there is none.
    pub text: String,
}

impl Section {
    /// `None` without anything to say.
    fn of(id: &'static str, title: &'static str, blocks: Vec<Block>) -> Option<Self> {
        (!blocks.is_empty()).then_some(Self { id, title, blocks })
    }

    fn of_tables(id: &'static str, title: &'static str, tables: Vec<Table>) -> Option<Self> {
        Self::of(id, title, tables.into_iter().map(Block::Table).collect())
    }
}

impl Report {
    fn of(summary: &Summary, record: &Record, over_time: &OverTime) -> Self {
        let sections = [
            answer::section(summary, record),
            memory::section(summary),
            over_time::section(summary, record, over_time),
            rates::section(summary),
            rates::latencies(summary, record),
            work::section(summary),
            work::ratios(summary),
            restarts::section(record),
            steps::section(record),
            bystanders::section(summary, record),
            unhealthy::section(summary, record),
            circumstances::runs(record),
            notes::not_measured(summary),
            notes::section(summary),
        ];
        let background = [
            circumstances::environment(summary),
            circumstances::reproduce(summary),
        ];
        let mut heading = title::heading(summary, record).into_iter();
        Self {
            title: heading.next().unwrap_or_default(),
            setting: heading.by_ref().take(2).collect(),
            warnings: heading.collect(),
            sections: sections.into_iter().flatten().collect(),
            background: background.into_iter().flatten().collect(),
        }
    }
}

/// Writes `summary.json` and the reports, prints the report; false when a run failed or is
/// missing.
pub fn publish(evidence: &Evidence) -> anyhow::Result<bool> {
    let root = evidence.root().display();
    let record = read(evidence).with_context(|| format!("no report from {root}"))?;
    let summary = summary::summarise(&record);
    let over_time = over_time::read(evidence, &record)?;
    let report = Report::of(&summary, &record, &over_time);
    evidence.write_json(SUMMARY, &summary)?;
    evidence.write("report.md", text::markdown(&report).as_bytes())?;
    evidence.write("report.csv", &csv::file(&summary)?)?;
    evidence.write("report.html", page::page(&report)?.as_bytes())?;
    // Last, so that it has every other file.
    evidence.write_sums()?;
    println!("\n{}", text::plain(&report));
    println!(
        "Evidence: {root} (report.html, report.md, report.csv, summary.json, runs/, samples/, logs/)"
    );
    println!("Next: {}", circumstances::next(&record));
    let mut conformance = record.conformance.iter();
    let conforming = conformance.all(|one| one.result != ConformanceResult::Failed);
    let complete = circumstances::missing(&record).is_empty();
    Ok(conforming && complete && record.runs.values().all(|run| run.failure.is_none()))
}

/// The raw data of a folder.
pub fn read(evidence: &Evidence) -> Result<Record, validate::Error> {
    let experiment = validate::read(evidence, EXPERIMENT)?;
    let (mut runs, mut attempts) = (BTreeMap::new(), Vec::new());
    for name in evidence.json_files("runs")? {
        let run: Run = validate::read(evidence, &name)?;
        match name == format!("runs/{}.json", run.cell.file_stem()) {
            true => drop(runs.insert(run.cell.clone(), run)),
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
