//! What a case found: figures with their targets and limits, and the samples that they are made of.
//!
//! Guarantees: every case prints its figures; with `OVERLOAD_RECORDS=FOLDER` it writes a file there, also when it fails;
//! a figure beyond its limit fails the case after all figures are kept.
//! Leaves to others: the table that is made of the files (`report`), the machine (`machine`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::Failed;
use serde::{Deserialize, Serialize};

use crate::overload::machine::Use;
use crate::overload::setting::{is_shipped, program};

/// Each case writes its record to a file of this folder.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("OVERLOAD_RECORDS").map(PathBuf::from)
}

/// What one run of a case found.
#[derive(Serialize, Deserialize)]
pub struct Record {
    pub case: String,
    /// What repeats it.
    pub command: String,
    /// When it ended, UTC.
    pub date: String,
    pub machine: String,
    /// What the program under test says of its version.
    pub program: String,
    /// From which it was built.
    pub commit: String,
    /// What the machine did meanwhile; nothing where the kernel does not tell.
    pub machine_use: Option<Use>,
    pub figures: Vec<Figure>,
    pub samples: Vec<Samples>,
    /// Why the case failed.
    pub failed: Option<String>,
}

/// What was read repeatedly.
#[derive(Clone, Serialize, Deserialize)]
pub struct Samples {
    pub name: String,
    /// What the numbers of a row are, with their units.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<f64>>,
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
pub struct Figures {
    figures: Vec<Figure>,
    samples: Vec<Samples>,
}

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

    /// A time that must not be longer than `limit` where the case runs alone, as `just overload` runs it. Beside other tests
    /// it says how busy the machine is, and is only told.
    pub fn within(&mut self, name: &str, took: Duration, limit: Duration) {
        let (target, limit) = (limit.as_secs_f64(), limit_s(limit, is_shipped()));
        self.add(name, seconds(took), "s", Some(target), limit);
    }

    /// A peak of memory. The program that cargo builds for tests has another limit, which holds with margin.
    pub fn peak(&mut self, value_mb: f64, target_mb: f64, limit_of_tests_mb: f64) {
        let limit_mb = match is_shipped() {
            true => target_mb,
            false => limit_of_tests_mb,
        };
        self.add(
            "peak of the operator",
            value_mb,
            "MB",
            Some(target_mb),
            Some(limit_mb),
        );
    }

    /// Samples that figures are made of.
    pub fn samples(&mut self, name: &str, columns: &[&str], rows: Vec<Vec<f64>>) {
        self.samples.push(Samples {
            name: name.to_owned(),
            columns: columns.iter().map(|&one| one.to_owned()).collect(),
            rows,
        });
    }

    fn add(&mut self, name: &str, value: f64, unit: &str, target: Option<f64>, limit: Option<f64>) {
        self.figures.push(Figure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            target,
            limit,
        });
    }
}

/// Beside other tests nothing has a limit in seconds.
pub fn limit_s(limit: Duration, runs_alone: bool) -> Option<f64> {
    runs_alone.then_some(limit.as_secs_f64())
}

/// To the millisecond.
pub fn seconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e3).round() / 1e3
}

/// Prints and keeps what a case found; fails where the case has failed or a figure is beyond its limit.
pub fn conclude(
    case: &str,
    found: Figures,
    machine_use: Option<Use>,
    ran: Result<(), Failed>,
) -> Result<(), Failed> {
    let beyond = found
        .figures
        .iter()
        .filter(|one| one.limit.is_some_and(|limit| one.value > limit));
    let beyond: Vec<String> = beyond.map(Figure::to_string).collect();
    let failed = match ran {
        Err(failed) => Some(failed.message().unwrap_or("it failed").to_owned()),
        Ok(()) if !beyond.is_empty() => Some(format!("beyond its limit: {}", beyond.join("; "))),
        Ok(()) => None,
    };
    for figure in &found.figures {
        println!("{case}: {figure}");
    }
    if let Some(folder) = folder() {
        Record::of(case, found, machine_use, failed.clone())?.write(&folder)?;
    }
    failed.map_or(Ok(()), |failed| Err(failed.into()))
}

/// What runs this case alone, with the same program.
fn command(case: &str) -> String {
    match is_shipped() {
        true => format!("just overload {case}"),
        false => {
            format!("cargo test -p tare --test scenarios -- --include-ignored overload::{case}")
        }
    }
}

impl Record {
    pub fn of(
        case: &str,
        found: Figures,
        machine_use: Option<Use>,
        failed: Option<String>,
    ) -> Result<Record, Failed> {
        let Figures { figures, samples } = found;
        let program = version()?;
        let commit = program.split('+').nth(1).unwrap_or_default();
        let commit = commit.split(|c: char| c.is_whitespace() || c == ',').next();
        Ok(Record {
            case: case.to_owned(),
            command: command(case),
            date: k8s_openapi::jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            machine: crate::overload::machine::class(),
            commit: commit.unwrap_or_default().to_owned(),
            program,
            machine_use,
            figures,
            samples,
            failed,
        })
    }

    fn write(&self, folder: &Path) -> Result<(), Failed> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join(self.case.replace("::", ".") + ".json");
        let json = serde_json::to_string_pretty(&serde_json::to_value(self)?)?;
        std::fs::write(file, compact_rows(&json) + "\n")?;
        Ok(())
    }
}

/// The numbers of a row on one line.
fn compact_rows(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut is_in_row = false;
    for line in json.lines() {
        let word = line.trim();
        let is_number = word.trim_end_matches(',').parse::<f64>().is_ok();
        match is_in_row {
            true => text += word,
            false => {
                text.push('\n');
                text += line;
            }
        }
        is_in_row = word == "[" || is_number;
    }
    text.trim_start().to_owned()
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
