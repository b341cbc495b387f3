//! What a case found: figures with their targets and limits.
//!
//! Guarantees: every case prints its figures; with `TARE_RELIABILITY=FILE` it appends a line of JSON, also when it fails;
//! a figure beyond its limit fails the case after all figures are kept.
//! Leaves to others: the table that is made of the lines (`report`).

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use libtest_mimic::Failed;
use serde::{Deserialize, Serialize};

use crate::setting::program;

/// The lines are appended to this file.
pub fn file() -> Option<PathBuf> {
    std::env::var_os("TARE_RELIABILITY").map(PathBuf::from)
}

/// What one run of a case found.
#[derive(Serialize, Deserialize)]
pub struct Record {
    pub case: String,
    /// What the program under test says of its version.
    pub program: String,
    /// From which it was built.
    pub commit: String,
    pub figures: Vec<Figure>,
    /// Why the case failed.
    pub failed: Option<String>,
}

/// One figure.
#[derive(Clone, Serialize, Deserialize)]
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: String,
    /// What is wanted.
    pub target: Option<f64>,
    /// Beyond this the case fails.
    pub limit: Option<f64>,
}

/// The figures of a case that runs.
#[derive(Default)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// A figure without a limit.
    pub fn tell(&mut self, name: &str, value: f64, unit: &str) {
        self.add(name, value, unit, None, None);
    }

    /// A figure that must not be larger than `limit`, which is the target too.
    pub fn at_most(&mut self, name: &str, value: f64, unit: &str, limit: f64) {
        self.add(name, value, unit, Some(limit), Some(limit));
    }

    /// A time without a limit.
    pub fn took(&mut self, name: &str, took: Duration) {
        self.tell(name, seconds(took), "s");
    }

    /// A time that must not be longer than `limit`.
    pub fn within(&mut self, name: &str, took: Duration, limit: Duration) {
        self.at_most(name, seconds(took), "s", limit.as_secs_f64());
    }

    /// A peak of memory whose limit is not the target (yet).
    pub fn peak(&mut self, value_mb: f64, target_mb: f64, limit_mb: f64) {
        self.add(
            "peak of the operator",
            value_mb,
            "MB",
            Some(target_mb),
            Some(limit_mb),
        );
    }

    fn add(&mut self, name: &str, value: f64, unit: &str, target: Option<f64>, limit: Option<f64>) {
        self.0.push(Figure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            target,
            limit,
        });
    }
}

/// To the millisecond.
fn seconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e3).round() / 1e3
}

/// Prints and keeps what a case found; fails where the case has failed or a figure is beyond its limit.
pub fn conclude(case: &str, figures: Figures, ran: Result<(), Failed>) -> Result<(), Failed> {
    let Figures(figures) = figures;
    let beyond = figures
        .iter()
        .filter(|one| one.limit.is_some_and(|limit| one.value > limit));
    let beyond: Vec<String> = beyond.map(Figure::to_string).collect();
    let failed = match ran {
        Err(failed) => Some(failed.message().unwrap_or("it failed").to_owned()),
        Ok(()) if !beyond.is_empty() => Some(format!("beyond its limit: {}", beyond.join("; "))),
        Ok(()) => None,
    };
    for figure in &figures {
        println!("{case}: {figure}");
    }
    if let Some(path) = file() {
        let program = version()?;
        let commit = program.split('+').nth(1).unwrap_or_default();
        let commit = commit.split(|c: char| c.is_whitespace() || c == ',').next();
        let record = Record {
            case: case.to_owned(),
            commit: commit.unwrap_or_default().to_owned(),
            program,
            figures,
            failed: failed.clone(),
        };
        let line = serde_json::to_string(&record)? + "\n";
        let file = OpenOptions::new().create(true).append(true).open(path);
        file?.write_all(line.as_bytes())?;
    }
    failed.map_or(Ok(()), |failed| Err(failed.into()))
}

/// The first line of `tare version`.
fn version() -> Result<String, Failed> {
    let output = std::process::Command::new(program())
        .arg("version")
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.value)?;
        if !self.unit.is_empty() {
            write!(f, " {}", self.unit)?;
        }
        if let Some(target) = self.target {
            write!(f, ", target {target}")?;
        }
        match self.limit.filter(|limit| Some(*limit) != self.target) {
            Some(limit) => write!(f, ", limit {limit}"),
            None => Ok(()),
        }
    }
}
