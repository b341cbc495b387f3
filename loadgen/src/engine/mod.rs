//! An experiment: scenario x subjects x sizes x repeats.
//!
//! Guarantees: a failed run is kept, and the next one starts. A run that is on disk already is not
//! measured again. A request to stop ends the present runs and keeps the finished ones. The rate
//! sweep ascends, so that a subject is not offered more than it could keep up with. Leaves to
//! others: the order of runs (`campaign`), a single one (`session`), and what they mean (`report`).

pub mod build;
pub mod bystanders;
pub mod campaign;
pub mod conformance;
pub mod convergence;
pub mod cpu_trace;
pub mod crds;
pub mod folder;
pub mod follow;
pub mod go_module;
pub mod in_pod;
pub mod launch;
pub mod load;
pub mod ready;
pub mod server_counters;
pub mod session;
pub mod snapshot;
pub mod starts;
pub mod step;
pub mod watched_subject;
pub mod workspace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::plan::Plan;
use crate::plan::cell::Cell;
use crate::spec::bounds::Bounds;
use crate::spec::bystanders::Bystanders;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::campaign::Campaign;
use crate::engine::starts::Starts;
use crate::engine::workspace::Workspace;
use crate::plan::course::{Asked, Course};
use crate::plan::profile::Profile;
use crate::record;
use crate::record::RunMachine;
use crate::record::evidence;
use crate::record::evidence::Evidence;
use crate::spec::subject::Subject;
use crate::spec::workload::conformance::ConformanceScenario;
use crate::spec::workload::{Readiness, Scenario, Workload};
use crate::target::Source;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// What is the same for all runs of an experiment.
pub struct Setting {
    pub place: Place,
    pub scenario: Arc<Scenario>,
    /// The same with children that the server rejects, where the workload has such.
    pub rejected: Option<Arc<Scenario>>,
    pub seed: u64,
    pub profile: Profile,
    pub ready_delay_ms: u64,
    /// Longest wait for convergence, where the user chose one.
    pub deadline: Option<Duration>,
    /// The size at which restart and deletion are measured too.
    pub largest: usize,
    /// Whether update and deletion are left out.
    pub bursts_only: bool,
    /// The child whose readiness a soak changes.
    pub readiness: Option<Arc<Readiness>>,
    /// What subjects have to do before they are measured.
    pub conformance: Option<Arc<ConformanceScenario>>,
    /// What a subject may have.
    pub bounds: Bounds,
    /// Steps beyond those that every bench has.
    pub asked: Asked,
    /// Objects that do not concern the subject.
    pub bystanders: Vec<Bystanders>,
    /// How often a timed run is tried at most, where something disturbs it.
    pub attempts: u32,
    /// Whether a run that something disturbed stays valid, and its figures have a mark; it is invalid otherwise.
    pub marks_disturbed: bool,
    /// How many runs that are not timed may be under way at once.
    pub overlap: usize,
    /// Has one permit: for the run that works.
    pub machine: Arc<Semaphore>,
    /// Subjects that do not start are not tried again and again.
    pub starts: Starts,
}

/// Where a command works: the same in all of them.
#[derive(Clone)]
pub struct Place {
    pub source: Source,
    pub workspace: Workspace,
    /// A folder for credentials that only this user can read.
    pub temp_dir: PathBuf,
    /// What every run records of the machine and of loadgen.
    pub run_machine: RunMachine,
    pub evidence: Evidence,
    pub progress: Arc<Progress>,
}

impl Setting {
    /// Sessions with the objects of a workload, one after the other, without anything that was asked for beside.
    pub fn new(workload: Workload, place: Place) -> Self {
        Self {
            place,
            ready_delay_ms: workload.scenario.ready_delay_ms,
            rejected: workload.rejected.map(Arc::new),
            readiness: workload.readiness.map(Arc::new),
            conformance: workload.conformance.map(Arc::new),
            scenario: Arc::new(workload.scenario),
            seed: 1,
            profile: Profile::Quick,
            deadline: None,
            largest: 0,
            bursts_only: true,
            bounds: Bounds::default(),
            asked: Asked::default(),
            bystanders: Vec::new(),
            attempts: 1,
            marks_disturbed: false,
            overlap: 1,
            machine: Arc::new(Semaphore::new(1)),
            starts: Starts::default(),
        }
    }

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
        let asked = self.asked.clone();
        Course::of(self.profile, self.bursts_only, self.largest, asked)
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

/// What is on disk of an experiment.
#[derive(Debug, Default)]
pub struct Kept {
    pub runs: Runs,
    /// Attempts of timed runs that were invalid, by cell.
    pub attempts: BTreeMap<Cell, u32>,
}

/// Runs everything that is not in `kept`; writes `runs/*.json` and `samples/*.tsv.gz`, and the
/// cells of the rate sweep into `experiment.json` once they are known.
///
/// # Errors
/// Only when evidence cannot be written; a failed run is not an error.
pub async fn run(
    plan: &Plan,
    setting: &Setting,
    experiment: &mut record::Experiment,
    kept: Kept,
    stop: &Interrupt,
) -> Result<Ending, evidence::Error> {
    let planned = plan.cells(setting.seed);
    let mut campaign = Campaign {
        plan,
        setting,
        stop,
        runs: kept.runs,
        attempts: kept.attempts,
        done: 0,
        of: planned.len() + plan.to_follow(),
    };
    if campaign.all(&planned).await? == Ending::Stopped {
        return Ok(Ending::Stopped);
    }
    let rates = match plan.largest() {
        0 => &[],
        _ => &plan.rates[..],
    };
    for (index, per_s) in rates.iter().enumerate() {
        let cells = follow::rate_cells(plan, &campaign.runs, setting, *per_s);
        say_rate(plan, setting, *per_s, &cells);
        let new = cells.iter().filter(|c| !experiment.planned.contains(c));
        let new: Vec<Cell> = new.cloned().collect();
        experiment.planned.extend(new);
        setting
            .place
            .evidence
            .write_json("experiment.json", experiment)?;
        campaign.of = campaign.done + cells.len() * (rates.len() - index);
        if campaign.all(&cells).await? == Ending::Stopped {
            return Ok(Ending::Stopped);
        }
    }
    Ok(Ending::Complete)
}

/// What is offered at a rate, and to whom it is not.
fn say_rate(plan: &Plan, setting: &Setting, per_s: u32, cells: &[Cell]) {
    let mut left_out = plan.ids();
    left_out.retain(|id| !cells.iter().any(|cell| cell.subject == *id));
    let objects = cells.first().map_or(0, |cell| cell.objects);
    let offered = match objects {
        0 => format!("{per_s}/s: offered to nobody"),
        _ => format!("{per_s}/s: {objects} objects"),
    };
    setting.place.progress.say(&match left_out.is_empty() {
        true => offered,
        false => format!(
            "{offered}; without {}, which did not keep up at a lower rate",
            left_out.join(", ")
        ),
    });
}
