//! An experiment: scenario x subjects x sizes x repeats, one run after the other.
//!
//! Guarantees: each run is written as it ends, with its samples; a failed run is kept and the
//! next one starts; a request to stop ends the run at hand and keeps those before it. Leaves to
//! others: a single run (`run`), and what the runs mean (`report`).

pub mod convergence;
pub mod order;
mod phases;
mod quiet;
pub mod run;
mod settle;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use order::{Cell, Kind, interleaved};

use crate::evidence::{self, Evidence};
use crate::patience::Patience;
use crate::progress::Progress;
use crate::record::{self, Settle};
use crate::scenario::Scenario;
use crate::schedule::Pace;
use crate::stop::Stop;
use crate::subject::Subject;

/// What is the same for all runs of an experiment.
pub struct Setting {
    pub scenario: Arc<Scenario>,
    pub seed: u64,
    pub settle: Settle,
    pub ready_delay_ms: u64,
    /// Longest wait for convergence, where the user chose one.
    pub deadline: Option<Duration>,
    /// The size at which restart and deletion are measured too.
    pub largest: usize,
    pub workspace: PathBuf,
    pub bin: PathBuf,
    /// A private folder for credentials.
    pub private: PathBuf,
    pub evidence: Evidence,
    pub progress: Arc<Progress>,
}

impl Setting {
    fn start_deadline(&self) -> Duration {
        self.deadline
            .unwrap_or(Duration::from_secs(30))
            .min(Duration::from_secs(30))
    }

    fn patience(&self, objects: usize, pace: Pace) -> Patience {
        Patience::of(objects, pace, self.deadline)
    }

    fn say_step(&self, cell: &Cell, what: &str) {
        self.progress.step(&format!("{cell}: {what}"));
    }

    fn say_count(&self, cell: &Cell, what: &str, done: u64, of: usize) {
        self.progress
            .count(&format!("{cell}: {what}"), done, of as u64);
    }
}

/// What is measured.
pub struct Plan {
    pub subjects: Vec<Subject>,
    pub sizes: Vec<usize>,
    pub repeats: u32,
}

impl Plan {
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    pub fn bursts(&self, seed: u64) -> Vec<Cell> {
        interleaved(&self.ids(), &self.sizes, self.repeats, Kind::Burst, seed)
    }

    fn ids(&self) -> Vec<String> {
        self.subjects.iter().map(Subject::id).collect()
    }

    fn subject(&self, id: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.id() == id)
    }
}

/// How an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Stopped,
}

/// Runs everything; writes `runs/*.json` and `samples/*.tsv`, and the steady cells into
/// `experiment.json` once their rate is known.
///
/// # Errors
/// Only when evidence cannot be written; a failed run is not an error.
pub async fn run(
    plan: &Plan,
    setting: &Setting,
    experiment: &mut record::Experiment,
    stop: &Stop,
) -> Result<Ending, evidence::Error> {
    let mut bursts: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let cells = plan.bursts(setting.seed);
    let steady_runs = if plan.largest() > 0 {
        plan.subjects.len() * plan.repeats as usize
    } else {
        0
    };
    let of = cells.len() + steady_runs;
    for (done, cell) in cells.iter().enumerate() {
        let Some(run) = one(plan, setting, cell, Pace::Burst, (done, of), stop).await? else {
            return Ok(Ending::Stopped);
        };
        let drained_s = run
            .convergence
            .as_ref()
            .and_then(|c| c.drain_s)
            .filter(|s| *s > 0.0);
        if let Some(drained_s) = drained_s.filter(|_| cell.objects == setting.largest) {
            bursts
                .entry(cell.subject.clone())
                .or_default()
                .push(cell.objects as f64 / drained_s);
        }
    }
    let Some((objects, per_s)) = steady_offer(&bursts, setting) else {
        return Ok(Ending::Complete);
    };
    // A subject that failed its burst has no place in a comparison at a rate.
    let subjects: Vec<String> = plan
        .ids()
        .into_iter()
        .filter(|id| bursts.contains_key(id))
        .collect();
    let steady = interleaved(
        &subjects,
        &[objects],
        plan.repeats,
        Kind::Steady,
        setting.seed,
    );
    experiment.planned.extend(steady.clone());
    setting.evidence.write_json("experiment.json", experiment)?;
    setting.progress.say(&format!(
        "steady: {objects} objects at {per_s:.0}/s, 60 % of the slowest subject's burst throughput"
    ));
    for (done, cell) in steady.iter().enumerate() {
        let counted = (cells.len() + done, cells.len() + steady.len());
        if one(plan, setting, cell, Pace::Steady { per_s }, counted, stop)
            .await?
            .is_none()
        {
            return Ok(Ending::Stopped);
        }
    }
    Ok(Ending::Complete)
}

/// Objects and rate of the steady cells, from the slowest subject's mean burst throughput.
fn steady_offer(bursts: &BTreeMap<String, Vec<f64>>, setting: &Setting) -> Option<(usize, f64)> {
    let mean = |per_s: &Vec<f64>| per_s.iter().sum::<f64>() / per_s.len() as f64;
    let slowest_per_s = bursts.values().map(mean).min_by(f64::total_cmp)?;
    let per_s = slowest_per_s * 0.6;
    let seconds = if setting.settle == Settle::Full {
        60.0
    } else {
        4.0
    };
    let objects = ((per_s * seconds) as usize)
        .clamp(100, 100_000)
        .min(setting.largest);
    (objects > 0).then_some((objects, per_s))
}

/// One run, written; `None` when a stop was asked for.
async fn one(
    plan: &Plan,
    setting: &Setting,
    cell: &Cell,
    pace: Pace,
    (done, of): (usize, usize),
    stop: &Stop,
) -> Result<Option<record::Run>, evidence::Error> {
    setting.progress.runs(done, of);
    let Some(subject) = plan.subject(&cell.subject) else {
        return Ok(None);
    };
    // Dropping the run ends its subject and its server.
    let outcome = tokio::select! {
        biased;
        () = stop.requested() => return Ok(None),
        outcome = run::run(setting, subject, cell, pace) => outcome,
    };
    let stem = cell.file_stem();
    if let Some(samples) = &outcome.samples {
        setting
            .evidence
            .write(&format!("samples/{stem}.tsv"), samples.as_bytes())?;
    }
    setting
        .evidence
        .write_json(&format!("runs/{stem}.json"), &outcome.run)?;
    setting.progress.runs(done + 1, of);
    setting
        .progress
        .say(&format!("[{}/{of}] {}", done + 1, sentence(&outcome.run)));
    Ok(Some(outcome.run))
}

/// What a run brought, in one line.
fn sentence(run: &record::Run) -> String {
    let cell = &run.cell;
    if let Some(failure) = &run.failure {
        return format!("{cell}: FAILED: {}", failure.reason);
    }
    let mut parts = Vec::new();
    if let Some(settled) = run.memory.settled {
        parts.push(format!(
            "settled at {:.1} MB RSS",
            settled.rss_bytes as f64 / 1e6
        ));
    }
    if let Some(convergence) = &run.convergence {
        parts.extend(
            convergence
                .drain_s
                .map(|s| format!("converged in {s:.1} s")),
        );
        let p99 = convergence.observed_from_intended.quantiles();
        parts.extend(
            p99.filter(|_| cell.kind == Kind::Steady)
                .map(|q| format!("observed P99 {:.1} ms", q.p99_ms)),
        );
    }
    parts.extend(run.doubts.iter().map(|doubt| format!("NOT VALID: {doubt}")));
    format!("{cell}: {} ({:.0} s)", parts.join(", "), run.wall_s)
}

/// Now, UTC, to the second.
pub fn now_rfc3339() -> String {
    k8s_openapi::jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
