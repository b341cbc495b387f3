//! What a folder of results says about itself, whichever version wrote it.
//!
//! Guarantees: reads JSON without its types, so that folders of earlier schemas have a line too; a fact that is not there
//! is `None`. Leaves to others: whether it is true (`verify`).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use loadgen::metric::foreign_cost::FOREIGN_COST;
use loadgen::record::evidence::origin::ORIGIN;
use loadgen::record::evidence::{EXPERIMENT, Evidence};
use loadgen::report::SUMMARY;
use loadgen::report::table::grouped;
use loadgen::report::title::short;

/// Files that say what was measured: of a bench, of foreign objects, of a command of a campaign, of a bench of starts.
const DESCRIPTIONS: [&str; 4] = [EXPERIMENT, FOREIGN_COST, ORIGIN, "restarts.json"];
/// Those of folders with runs.
pub const HAVE_RUNS: [&str; 2] = [EXPERIMENT, FOREIGN_COST];

/// Where schema 1 has a fact, and where later ones have it.
const COMMIT: [&str; 4] = [
    "/environment/loadgen_commit",
    "/loadgen_commit",
    "/commit",
    "/tare_revision",
];
const DATE: [&str; 3] = ["/environment/started_at", "/started_at", "/date"];
const LABEL: [&str; 2] = ["/environment/host_label", "/host_label"];
const CORES: [&str; 2] = ["/environment/machine/cores", "/machine/cores"];
const CPU: [&str; 3] = [
    "/environment/machine/cpu_model",
    "/machine/cpu_model",
    "/machine/cpu",
];
const CONTROL_PLANE: [&str; 2] = ["/environment/control_plane", "/control_plane"];
/// Why a run is in no figure.
const INVALID: [&str; 2] = ["/invalid_because", "/doubts"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    pub all: usize,
    /// Those that failed or are invalid, also where another attempt replaced them.
    pub invalid: usize,
}

#[derive(Debug, Default)]
pub struct Facts {
    description: Value,
    /// `null` where there is none.
    summary: Value,
    /// Of a bench, or of foreign objects.
    pub runs: Option<Runs>,
}

impl Facts {
    /// # Errors
    /// A file that is there cannot be read.
    pub fn read(folder: &Path) -> anyhow::Result<Facts> {
        let evidence = Evidence::open(folder);
        let Some(name) = DESCRIPTIONS
            .iter()
            .find(|name| evidence.path(name).is_file())
        else {
            return Ok(Facts::default());
        };
        let has_runs = HAVE_RUNS.contains(name);
        let what = || format!("no line for {}", folder.display());
        Ok(Facts {
            description: evidence.read_json(name).with_context(what)?,
            summary: match evidence.path(SUMMARY).is_file() {
                true => evidence.read_json(SUMMARY).with_context(what)?,
                false => Value::Null,
            },
            runs: match has_runs {
                true => Some(runs(&evidence).with_context(what)?),
                false => None,
            },
        })
    }

    /// The commit of loadgen, and those of the programs that name another one.
    pub fn commit(&self) -> Option<String> {
        let own = self.text(&COMMIT)?;
        let is_dirty = own.ends_with("-dirty");
        let own = short(own).to_owned();
        let subjects = self.summary["subjects"].as_array().into_iter().flatten();
        let commits = subjects.filter_map(|subject| subject["commit"].as_str());
        let others: BTreeSet<&str> = commits
            .map(short)
            .filter(|commit| !own.starts_with(commit) && !commit.starts_with(own.as_str()))
            .collect();
        let mut text = own + if is_dirty { " with changes" } else { "" };
        if !others.is_empty() {
            let others: Vec<&str> = others.into_iter().collect();
            text.push_str(&format!("; programs of {}", others.join(", ")));
        }
        Some(text)
    }

    pub fn date(&self) -> Option<String> {
        let date = self.text(&DATE)?;
        Some(date.get(..10).unwrap_or(date).to_owned())
    }

    /// `shared-2-core: 2 cores, Intel(R) Xeon(R) Processor`.
    pub fn machine(&self) -> Option<String> {
        let cores = CORES.iter().find_map(|at| self.description.pointer(at));
        let cores = cores.and_then(Value::as_u64);
        let cores = cores.map(|cores| format!("{cores} cores"));
        let cpu = self.text(&CPU).map(str::to_owned);
        let built: Vec<String> = [cores, cpu].into_iter().flatten().collect();
        match (self.text(&LABEL), built.is_empty()) {
            (Some(label), true) => Some(label.to_owned()),
            (Some(label), false) => Some(format!("{label}: {}", built.join(", "))),
            (None, false) => Some(built.join(", ")),
            (None, true) => None,
        }
    }

    /// What was planned: for a folder without a line in `questions.toml`.
    pub fn question(&self) -> Option<String> {
        let planned = self.description["planned"].as_array()?;
        let subjects: BTreeSet<&str> = planned
            .iter()
            .filter_map(|cell| cell["subject"].as_str())
            .collect();
        let sizes: BTreeSet<u64> = planned
            .iter()
            .filter_map(|cell| cell["objects"].as_u64())
            .collect();
        let sizes: Vec<String> = sizes
            .into_iter()
            .map(|size| grouped(usize::try_from(size).unwrap_or(usize::MAX)))
            .collect();
        let on = self.text(&CONTROL_PLANE).unwrap_or("an unknown server");
        let subjects: Vec<&str> = subjects.into_iter().collect();
        (!subjects.is_empty()).then(|| {
            format!(
                "{} with {} objects on {on}",
                subjects.join(", "),
                sizes.join(" / ")
            )
        })
    }

    fn text(&self, places: &[&str]) -> Option<&str> {
        first_text(&self.description, places)
    }
}

/// The first of these places that has a text.
fn first_text<'v>(description: &'v Value, places: &[&str]) -> Option<&'v str> {
    let mut found = places.iter().filter_map(|at| description.pointer(at));
    found.find_map(Value::as_str)
}

fn runs(evidence: &Evidence) -> anyhow::Result<Runs> {
    let mut runs = Runs { all: 0, invalid: 0 };
    for name in evidence.json_files("runs")? {
        let run: Value = evidence.read_json(&name)?;
        let has_reason = INVALID.iter().any(|at| {
            let reasons = run.pointer(at).and_then(Value::as_array);
            reasons.is_some_and(|reasons| !reasons.is_empty())
        });
        runs.all += 1;
        runs.invalid += usize::from(has_reason || !run["failure"].is_null());
    }
    Ok(runs)
}
