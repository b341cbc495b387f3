//! What a workload asks for once its objects are created: updates, a field that is set, idle time.
//!
//! Guarantees: a step begins when the one before it has converged; after one that has not, no other begins. Leaves
//! to others: sending and waiting (`converge`).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::run::Load;
use crate::cli::run::converge::{Ended, Wave};
use crate::cli::run::record::first_sent_unix_ms;
use crate::load::generator::{Act, Generator};
use crate::load::journal::Journal;
use crate::load::timeout::Timeout;
use crate::load::timetable::Pace;
use crate::model::record::Convergence;
use crate::model::workload::Scenario;
use crate::model::workload::steps::LoadStep;
use crate::run::convergence::convergence;

/// What came of a step; of one that is repeated, of its last time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    pub step: String,
    pub first_sent_unix_ms: u64,
    /// `None` where nothing was sent.
    pub times: Option<Convergence>,
    pub ended: Ended,
}

impl Load {
    /// Does the steps of the workload, one after the other.
    pub(super) async fn steps(&self, journal: &Arc<Journal>) -> Vec<StepRecord> {
        let mut records: Vec<StepRecord> = Vec::new();
        // Each wave has content of its own.
        let mut wave = 0;
        for step in &self.workload.steps {
            let record = self.step(step, &mut wave, journal).await;
            let ended = record.ended;
            records.push(record);
            if ended != Ended::Converged {
                break;
            }
        }
        records
    }

    async fn step(&self, step: &LoadStep, wave: &mut u64, journal: &Arc<Journal>) -> StepRecord {
        self.progress.say(&step.name());
        let mut record = StepRecord {
            step: step.name(),
            first_sent_unix_ms: first_sent_unix_ms(journal.began(), &journal.timeline()),
            times: None,
            ended: Ended::Converged,
        };
        let (scenario, times) = match step {
            LoadStep::Idle { seconds } => {
                record.ended = self.rest(Duration::from_secs(*seconds)).await;
                return record;
            }
            LoadStep::Update { times, .. } => (Arc::clone(&self.scenario), *times),
            LoadStep::Scale { field, value, .. } => {
                let scenario = self.scenario.as_ref().clone();
                (Arc::new(scenario.with_update_of(field, value)), 1)
            }
        };
        let pace = self.pace_of(step.per_s());
        for _ in 0..times {
            *wave += 1;
            journal.timeline().begin_wave();
            record.ended = self.wave(journal, &scenario, Act::Update(*wave), pace).await;
            let timeline = journal.timeline();
            record.first_sent_unix_ms = first_sent_unix_ms(journal.began(), &timeline);
            record.times = Some(convergence(&timeline, pace));
            if record.ended != Ended::Converged {
                break;
            }
        }
        record
    }

    /// Sends something to every object, and waits until all converge.
    pub(super) async fn wave(
        &self,
        journal: &Arc<Journal>,
        scenario: &Arc<Scenario>,
        act: Act,
        pace: Pace,
    ) -> Ended {
        let objects = self.objects();
        let chosen = self.args.deadline_s.map(Duration::from_secs);
        let wave = Wave {
            offer: Generator {
                cluster: self.cluster.clone(),
                scenario: Arc::clone(scenario),
                seed: self.args.seed,
                journal: Arc::clone(journal),
                act,
                readiness: None,
                pace,
                objects,
            },
            timeout: Timeout::of(objects, pace, chosen),
        };
        wave.run(&self.progress, &self.stop).await
    }

    /// Waits without touching anything.
    pub(super) async fn rest(&self, idle: Duration) -> Ended {
        self.progress.step(&format!("idle for {} s", idle.as_secs()));
        tokio::select! {
            biased;
            () = self.stop.requested() => Ended::Stopped,
            () = tokio::time::sleep(idle) => Ended::Converged,
        }
    }
}
