//! Whether a folder of results is what was measured: its files, their hashes, its plan, and every
//! figure that follows from the raw data.
//!
//! Guarantees: reads, never writes; one problem for each file that is wrong in one place, with the
//! field or line, what is expected and what was found; figures are compared only where the raw data
//! is sound, because they follow from it. Leaves to others: whether the figures are good
//! (`metric::judge`). Cannot know: whether somebody made up a whole folder, raw data, figures and
//! hashes alike.

pub mod difference;
pub mod figures;
pub mod foreign;
pub mod other_schema;
pub mod plan;
pub mod raw;
pub mod series;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::metric::foreign_cost::FOREIGN_COST;
use crate::record::Run;
pub use crate::record::evidence::Problem;
use crate::record::evidence::origin::{ORIGIN, Origin};
use crate::record::evidence::{EXPERIMENT, Error, Evidence};
use crate::report::validate;
use crate::report::verify::other_schema::OtherSchema;
use crate::report::verify::raw::SAMPLES;
use crate::report::verify::series::SERIES;

/// What [`verify`] found, and what it could look at, as `loadgen verify --json` prints it.
#[derive(Debug, Default, Serialize)]
pub struct Findings {
    pub problems: Vec<Problem>,
    /// Of a folder that no bench has written: nothing but hashes can be checked.
    #[serde(skip)]
    pub origin: Option<Origin>,
    /// Of a folder with another schema: likewise.
    #[serde(skip)]
    pub other_schema: Option<OtherSchema>,
    /// Files whose hash is right.
    #[serde(rename = "files_hashed")]
    pub hashed: usize,
    /// Runs that follow from their samples.
    #[serde(rename = "runs_recomputed")]
    pub recomputed: usize,
}

/// Looks at everything in a folder; of one with another schema, at the hashes of its files.
///
/// # Errors
/// The folder, or what says where it comes from (`experiment.json`, `origin.json`), cannot be read.
pub fn verify(evidence: &Evidence) -> Result<Findings, validate::Error> {
    if is_of_a_command(evidence) {
        return Ok(Findings {
            origin: Some(evidence.read_json(ORIGIN)?),
            ..by_hash(evidence)?
        });
    }
    if evidence.path(FOREIGN_COST).is_file() {
        return foreign::check(evidence, by_hash(evidence)?);
    }
    if let Some(other) = OtherSchema::of(evidence) {
        return Ok(Findings {
            other_schema: Some(other),
            ..by_hash(evidence)?
        });
    }
    let files = evidence.files()?;
    let mut found = Findings {
        problems: validate::raw_problems(evidence)?,
        ..Findings::default()
    };
    let is_whole = found.problems.is_empty();
    let hashes = evidence.check_sums()?;
    found.hashed = hashes.same;
    let changed = hashes.problems();
    if is_whole {
        let experiment = validate::read(evidence, EXPERIMENT)?;
        found.add(plan::problems(evidence, &experiment, &files)?);
    }
    let (problems, recomputed) = SAMPLES.check(evidence, &files, &changed);
    found.recomputed = recomputed;
    found.add(problems);
    found.add(SERIES.check(evidence, &files, &changed).0);
    // Whatever says more than "it changed" comes first: one line for each file.
    let derived = |problem: &Problem| figures::is_derived(&problem.file);
    let (of_derived, of_raw): (Vec<_>, Vec<_>) = changed.into_iter().partition(derived);
    found.add(of_raw);
    if found.problems.is_empty() {
        found.add(figures::check(evidence)?);
        found.add(of_derived);
    }
    Ok(found)
}

/// Whether a command has written the folder, and no bench.
pub fn is_of_a_command(evidence: &Evidence) -> bool {
    evidence.path(ORIGIN).is_file() && !evidence.path(EXPERIMENT).is_file()
}

/// Nothing but hashes.
fn by_hash(evidence: &Evidence) -> Result<Findings, Error> {
    let hashes = evidence.check_sums()?;
    Ok(Findings {
        hashed: hashes.same,
        problems: hashes.problems(),
        ..Findings::default()
    })
}

/// Packed files that lie beside the records of runs.
pub struct Beside<T> {
    folder: &'static str,
    parse: fn(&str) -> Result<T, String>,
    /// `None` where there is nothing to compare with the record; within, what differs.
    judge: fn(&Run, &T) -> Option<Option<String>>,
    /// What is said where the file is known to have changed, of the record and what differs.
    changed: fn(&str, &str) -> String,
}

impl<T> Beside<T> {
    /// Every run that has such a file, and how many of them follow from it. Where the file is known to have `changed`, the
    /// problem is that file's.
    fn check(
        &self,
        evidence: &Evidence,
        files: &BTreeSet<String>,
        changed: &[Problem],
    ) -> (Vec<Problem>, usize) {
        let (mut problems, mut follow) = (Vec::new(), 0);
        let mut say = |file: &String, what| {
            problems.push(Problem {
                file: file.clone(),
                what,
            })
        };
        for name in files {
            let stem = name.strip_prefix(self.folder);
            let stem = stem.and_then(|name| name.strip_prefix('/')?.strip_suffix(".tsv.gz"));
            let Some(stem) = stem else {
                continue;
            };
            let read = evidence.read_gzip(name).map_err(|error| error.to_string());
            let own = match read.and_then(|text| (self.parse)(&text)) {
                Ok(own) => own,
                Err(what) => {
                    say(name, what);
                    continue;
                }
            };
            let record = format!("runs/{stem}.json");
            let run = files
                .contains(&record)
                .then(|| validate::read::<Run>(evidence, &record));
            let run = run.and_then(Result::ok);
            match run.and_then(|run| (self.judge)(&run, &own)) {
                None => {}
                Some(None) => follow += 1,
                Some(Some(what)) if changed.iter().any(|problem| problem.file == *name) => {
                    say(name, format!("changed; {}", (self.changed)(&record, &what)));
                }
                Some(Some(what)) => say(&record, format!("does not follow from {name}: {what}")),
            }
        }
        (problems, follow)
    }
}

impl Findings {
    /// Adds the problems of files that have none yet.
    fn add(&mut self, problems: Vec<Problem>) {
        let known: BTreeSet<String> = self.problems.iter().map(|p| p.file.clone()).collect();
        let new = problems.into_iter().filter(|p| !known.contains(&p.file));
        self.problems.extend(new);
    }
}
