//! An experiment: scenario x subjects x sizes x repeats.
//!
//! Guarantees: only one run works at a time; while its subject is idle, the next run may work. Each run is written when
//! it ends, with its samples. A failed run is kept, and the next one starts. A run that is on disk already is not
//! measured again. A request to stop ends the present runs and keeps the finished ones. Leaves to others: a single run
//! (`session`), and what the runs mean (`report`).

pub mod build;
pub mod conformance;
pub mod convergence;
pub mod follow;
pub mod server_counters;
pub mod session;
pub mod snapshot;
pub mod step;
pub mod temp_dir;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::model::cell::{Cell, Kind};
use crate::model::plan::Plan;
use crate::model::profile::Timing;
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::load::timeout::Timeout;
use crate::load::timetable::Pace;
use crate::model::evidence;
use crate::model::evidence::Evidence;
use crate::model::interrupt::Interrupt;
use crate::model::profile::Profile;
use crate::model::progress::Progress;
use crate::model::record;
use crate::model::step::Course;
use crate::model::subject::Subject;
use crate::model::workload::Scenario;
use crate::model::workload::child::Child;
use crate::target::Source;

/// What is the same for all runs of an experiment.
pub struct Setting {
    pub source: Source,
    pub scenario: Arc<Scenario>,
    /// The same with children that the server rejects.
    pub rejected: Arc<Scenario>,
    pub seed: u64,
    pub profile: Profile,
    pub ready_delay_ms: u64,
    /// Longest wait for convergence, where the user chose one.
    pub deadline: Option<Duration>,
    /// The size at which restart and deletion are measured too.
    pub largest: usize,
    pub workspace: PathBuf,
    pub bin: PathBuf,
    /// A folder for credentials that only this user can read.
    pub temp_dir: PathBuf,
    pub evidence: Evidence,
    pub progress: Arc<Progress>,
    /// Whether churn and deletion are left out.
    pub bursts_only: bool,
    /// The child whose readiness a soak changes.
    pub child: Arc<Child>,
    /// Watch events of the soak, in the first burst at the largest size.
    pub soak_events: Option<u64>,
    /// Restarts in every burst; without, one in the bursts at the largest size.
    pub restarts: Option<u32>,
    /// How many runs may be under way at once.
    pub overlap: usize,
    /// Has one permit: for the run that works.
    pub machine: Arc<Semaphore>,
}

impl Setting {
    /// What is created for a subject.
    pub fn scenario_of(&self, subject: &Subject) -> Arc<Scenario> {
        match &subject.objects {
            Some(own) => Arc::new(own.clone()),
            None => Arc::clone(&self.scenario),
        }
    }

    fn start_deadline(&self) -> Duration {
        self.deadline
            .unwrap_or(Duration::from_secs(30))
            .min(Duration::from_secs(30))
    }

    /// The machine, for as long as this is held; runs get it in the order they asked.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        Arc::clone(&self.machine).acquire_owned().await.ok()
    }

    /// What decides about the steps of all cells.
    pub fn course(&self) -> Course {
        let timing = Timing::of(self.profile);
        Course {
            timing: match self.bursts_only {
                true => timing.bursts_only(),
                false => timing,
            },
            largest: self.largest,
            restarts: self.restarts,
            soak_events: self.soak_events,
        }
    }

    fn timeout(&self, objects: usize, pace: Pace) -> Timeout {
        Timeout::of(objects, pace, self.deadline)
    }

    fn say_step(&self, cell: &Cell, what: &str) {
        self.progress.step(&format!("{cell}: {what}"));
    }

    fn say_count(&self, cell: &Cell, what: &str, done: u64, of: usize) {
        self.progress
            .count(&format!("{cell}: {what}"), done, of as u64);
    }
}

/// How an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Stopped,
}

/// The runs that are there, by cell.
pub type Runs = BTreeMap<Cell, record::Run>;

/// Runs everything that is not in `kept`; writes `runs/*.json` and `samples/*.tsv.gz`, and the
/// cells that follow from others into `experiment.json` once they are known.
///
/// # Errors
/// Only when evidence cannot be written; a failed run is not an error.
pub async fn run(
    plan: &Plan,
    setting: &Setting,
    experiment: &mut record::Experiment,
    kept: Runs,
    stop: &Interrupt,
) -> Result<Ending, evidence::Error> {
    let (steady, checks) = plan.to_follow();
    let mut campaign = Campaign {
        plan,
        setting,
        stop,
        runs: kept,
        done: 0,
        of: plan.cells(setting.seed).len() + steady + checks,
    };
    let planned = plan.cells(setting.seed);
    let bursts: Vec<_> = planned.into_iter().map(|c| (c, None)).collect();
    if campaign.all(&bursts).await? == Ending::Stopped {
        return Ok(Ending::Stopped);
    }
    let offer = follow::steady_offer(&campaign.runs, setting).filter(|_| plan.steady);
    let mut following = Vec::new();
    if let Some((objects, per_s)) = offer {
        setting.progress.say(&format!(
            "steady: {objects} objects at {per_s:.0}/s, 60 % of the slowest subject's burst throughput"
        ));
        let cells = follow::steady_cells(plan, &campaign.runs, setting, objects);
        following.extend(cells.into_iter().map(|c| (c, Some(per_s))));
    }
    let checks = follow::default_flags_cells(plan, &campaign.runs);
    following.extend(checks.into_iter().map(|c| (c, None)));
    let new = following.iter().map(|(cell, _)| cell);
    let new: Vec<Cell> = new
        .filter(|c| !experiment.planned.contains(c))
        .cloned()
        .collect();
    experiment.planned.extend(new);
    setting.evidence.write_json("experiment.json", experiment)?;
    campaign.of = campaign.done + following.len();
    campaign.all(&following).await
}

/// An experiment under way.
struct Campaign<'a> {
    plan: &'a Plan,
    setting: &'a Setting,
    stop: &'a Interrupt,
    runs: Runs,
    done: usize,
    of: usize,
}

impl Campaign<'_> {
    /// Every run that is not there yet, measured and written.
    async fn all(&mut self, cells: &[(Cell, Option<f64>)]) -> Result<Ending, evidence::Error> {
        let (setting, plan, stop) = (self.setting, self.plan, self.stop);
        let known = |cell: &Cell| plan.subject(&cell.subject);
        let missing: Vec<_> = cells
            .iter()
            .filter(|(cell, _)| !self.runs.contains_key(cell))
            .filter_map(|(cell, per_s)| Some((known(cell)?, cell, *per_s)))
            .collect();
        self.done += cells.len() - missing.len();
        setting.progress.runs(self.done, self.of);
        let runs = missing
            .into_iter()
            .map(|(subject, cell, per_s)| async move {
                let logs = format!("logs/{}", cell.file_stem());
                setting.evidence.remove_logs(&logs)?;
                Ok(session::run(setting, subject, cell, per_s).await)
            });
        let mut ended = futures::stream::iter(runs).buffer_unordered(setting.overlap);
        loop {
            // Dropping the runs under way ends their subjects and servers.
            let outcome = tokio::select! {
                biased;
                () = stop.requested() => return Ok(Ending::Stopped),
                outcome = ended.next() => outcome,
            };
            match outcome {
                Some(outcome) => self.keep(outcome?)?,
                None => return Ok(Ending::Complete),
            }
        }
    }

    fn keep(&mut self, outcome: session::Outcome) -> Result<(), evidence::Error> {
        self.write(&outcome)?;
        self.done += 1;
        let progress = &self.setting.progress;
        progress.runs(self.done, self.of);
        let counted = format!("[{}/{}]", self.done, self.of);
        progress.say(&format!("{counted} {}", sentence(&outcome.run)));
        self.runs.insert(outcome.run.cell.clone(), outcome.run);
        Ok(())
    }

    /// The run comes last: with it the cell is done, and everything else of it is there.
    fn write(&self, outcome: &session::Outcome) -> Result<(), evidence::Error> {
        let (evidence, stem) = (&self.setting.evidence, outcome.run.cell.file_stem());
        if outcome.run.failure.is_none() {
            evidence.trim_logs(&format!("logs/{stem}"))?;
        }
        if let Some(samples) = &outcome.samples {
            evidence.write_gzip(&format!("samples/{stem}.tsv.gz"), samples.as_bytes())?;
        }
        evidence.write_json(&format!("runs/{stem}.json"), &outcome.run)
    }
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
    parts.extend(
        run.invalid_because
            .iter()
            .map(|doubt| format!("NOT VALID: {doubt}")),
    );
    format!("{cell}: {} ({:.0} s)", parts.join(", "), run.wall_s)
}
