//! What a workload asks for once its objects are created, such as updates, churn, faults and idle time.
//!
//! Guarantees: a step begins when the one before it has converged; after one that has not, no other begins. Leaves
//! to others: sending and waiting (`converge`), children (`children`) and the operator's pods (`operator`).

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cli::run::converge::{Goal, Wave};
use crate::cli::run::operator::Spent;
use crate::cli::run::pods::Pods;
use crate::cli::run::record::first_sent_unix_ms;
use crate::cli::run::{Load, bystanders, children};
use crate::load::generator::{Act, Generator};
use crate::load::journal::Journal;
use crate::load::timeout::Ended;
use crate::load::timeout::Timeout;
use crate::load::timetable::Pace;
use crate::model::bystanders::Bystanders;
use crate::model::error::Usage;
use crate::model::record::Convergence;
use crate::model::workload::Scenario;
use crate::model::workload::steps::{LoadStep, part};
use crate::run::convergence::convergence;

/// What came of a step; of one that is repeated, of its last time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    pub step: String,
    pub first_sent_unix_ms: u64,
    /// `None` where no object had to converge.
    pub times: Option<Convergence>,
    /// Of all of it, where it has no times of its objects.
    pub took_s: Option<f64>,
    pub ended: Ended,
    /// Why it could not be done.
    pub failure: Option<String>,
    /// What the operator of `--operator` needed.
    pub operator: Option<Spent>,
}

/// An update of some objects.
struct Update {
    /// With what is changed.
    scenario: Arc<Scenario>,
    part: Range<usize>,
    /// Each has content of its own.
    wave: u64,
}

/// The steps that were done.
#[derive(Debug, Default)]
pub struct Done {
    pub records: Vec<StepRecord>,
    /// Objects that the last of them left deleted.
    pub deleted: usize,
}

impl StepRecord {
    pub fn is_sound(&self) -> bool {
        self.ended == Ended::Converged && self.failure.is_none()
    }

    /// What there is to say where it is not sound.
    pub fn warning(&self) -> Option<String> {
        match (&self.failure, self.ended) {
            (Some(why), _) => Some(format!("{}: {why}", self.step)),
            (None, Ended::Converged) => None,
            (None, Ended::Stopped) => Some(format!("{}: stopped", self.step)),
            (None, _) => Some(format!("{}: not every object came to its end", self.step)),
        }
    }
}

impl Load {
    /// Pods that the objects ask for when they ask for the most.
    pub(super) fn most_pods(&self) -> Option<u64> {
        let objects = self.objects();
        let scaled = self.workload.steps.iter().filter_map(|step| match step {
            LoadStep::Scale { field, value, .. } => {
                self.scenario.scaled(field, value).pods_of(objects)
            }
            _ => None,
        });
        self.scenario
            .pods_of(objects)
            .into_iter()
            .chain(scaled)
            .max()
    }

    /// # Errors
    /// A step does what nobody has permitted.
    pub(super) fn check_steps(&self) -> anyhow::Result<()> {
        for (number, step) in self.workload.steps.iter().enumerate() {
            let (field, message) = match step {
                LoadStep::Scale { field, value, .. }
                    if self.pods == Pods::NotAsked
                        && self.scenario.asks_for_pods_by(field)
                        && *value != 0 =>
                {
                    (
                        "field",
                        format!("{field:?} asks for pods; permit them with --pods"),
                    )
                }
                LoadStep::Restart { .. } if self.args.operator.is_none() => {
                    let message = "restart: say which with --operator deployment/NAMESPACE/NAME";
                    ("do", message.to_owned())
                }
                _ => continue,
            };
            let part = self.workload.source.part("steps", number);
            return Err(Usage(part.error(field, message).to_string()).into());
        }
        Ok(())
    }

    /// Does the steps of the workload, one after the other.
    pub(super) async fn steps(&self, journal: &Arc<Journal>) -> Done {
        let mut done = Done::default();
        let mut wave = 0;
        for step in &self.workload.steps {
            let before = self.operator_figures().await;
            let failed = || journal.timeline().failed().map_or(0, |(_, times)| times);
            let failed_before = failed();
            let mut record = self.step(step, &mut wave, journal).await;
            if record.is_sound() && failed() > failed_before {
                // What was not accepted did not have to converge.
                record.failure = Some(format!("{} requests failed", failed() - failed_before));
            }
            if let (Some(before), Some(after)) = (before, self.operator_figures().await) {
                record.operator = Some(Spent::between(before, after));
            }
            match step {
                LoadStep::Delete { .. } => {
                    done.deleted = journal.timeline().progress().gone as usize;
                }
                LoadStep::Create { .. } => done.deleted = 0,
                _ => {}
            }
            let sound = record.is_sound();
            done.records.push(record);
            if !sound {
                break;
            }
        }
        done
    }

    async fn step(&self, step: &LoadStep, wave: &mut u64, journal: &Arc<Journal>) -> StepRecord {
        self.progress.say(&step.name());
        let mut record = StepRecord {
            step: step.name(),
            first_sent_unix_ms: first_sent_unix_ms(journal.began(), &journal.timeline()),
            times: None,
            took_s: None,
            ended: Ended::Converged,
            failure: None,
            operator: None,
        };
        let pace = &self.pace_of(step.per_s());
        let began = Instant::now();
        let all = 0..self.objects();
        match step {
            LoadStep::Idle { seconds } => {
                record.ended = self.rest(Duration::from_secs(*seconds)).await;
            }
            LoadStep::Create { .. } => self.create(journal, all, pace, &mut record).await,
            LoadStep::Delete { .. } => {
                record.ended = self.delete(journal, all, pace).await;
                record.took_s = Some(began.elapsed().as_secs_f64());
            }
            LoadStep::Churn { times, share, .. } => {
                for nth in 0..*times {
                    let some = part(self.objects(), *share, nth);
                    record.ended = self.delete(journal, some.clone(), pace).await;
                    if record.ended == Ended::Converged {
                        self.create(journal, some, pace, &mut record).await;
                    }
                    if record.ended != Ended::Converged {
                        break;
                    }
                }
            }
            LoadStep::Update { times, share, .. } => {
                for nth in 0..*times {
                    *wave += 1;
                    let update = Update {
                        scenario: Arc::clone(&self.scenario),
                        part: part(self.objects(), *share, nth),
                        wave: *wave,
                    };
                    self.update(journal, update, pace, &mut record).await;
                    if record.ended != Ended::Converged {
                        break;
                    }
                }
            }
            LoadStep::Scale { field, value, .. } => {
                let scenario = self.scenario.as_ref().clone();
                *wave += 1;
                let update = Update {
                    scenario: Arc::new(scenario.with_update_of(field, value)),
                    part: all,
                    wave: *wave,
                };
                self.update(journal, update, pace, &mut record).await;
            }
            LoadStep::Fault { seconds, .. } => {
                let idle = Duration::from_secs(*seconds);
                self.fault(journal, idle, wave, pace, &mut record).await;
            }
            LoadStep::DeleteChildren {} => {
                let replaced = children::replace(
                    &self.cluster,
                    &self.scenario,
                    self.timeout(&Pace::Burst),
                    &self.progress,
                );
                tokio::select! {
                    biased;
                    () = self.stop.requested() => record.ended = Ended::Stopped,
                    replaced = replaced => match replaced {
                        Ok(took_s) => record.took_s = Some(took_s),
                        Err(why) => record.failure = Some(why),
                    },
                }
            }
            LoadStep::Restart { times } => self.restart(*times, &mut record).await,
            LoadStep::Bystanders { changes, .. } => {
                let kinds = step.bystanders();
                // This shard makes all of them.
                let pace = step
                    .per_s()
                    .map_or(Pace::Burst, |per_s| Pace::Steady { per_s });
                self.bystanders(&kinds, *changes, &pace, &mut record).await;
            }
        }
        record
    }

    async fn create(
        &self,
        journal: &Arc<Journal>,
        part: Range<usize>,
        pace: &Pace,
        record: &mut StepRecord,
    ) {
        journal.timeline().begin_again_of(part.clone());
        let scenario = &self.scenario;
        record.ended = self
            .wave(journal, scenario, part, Act::Create, pace, Goal::Ready)
            .await;
        note_times(record, journal, pace);
    }

    async fn delete(&self, journal: &Arc<Journal>, part: Range<usize>, pace: &Pace) -> Ended {
        journal.timeline().begin_again_of(part.clone());
        let scenario = &self.scenario;
        self.wave(journal, scenario, part, Act::Delete, pace, Goal::Gone)
            .await
    }

    async fn update(
        &self,
        journal: &Arc<Journal>,
        update: Update,
        pace: &Pace,
        record: &mut StepRecord,
    ) {
        let Update {
            scenario,
            part,
            wave,
        } = update;
        journal.timeline().begin_wave_of(part.clone());
        let act = Act::Update(wave);
        record.ended = self
            .wave(journal, &scenario, part, act, pace, Goal::Ready)
            .await;
        note_times(record, journal, pace);
    }

    /// Creates objects that do not concern the operator, and changes each so often.
    async fn bystanders(
        &self,
        kinds: &[Bystanders],
        changes: u64,
        pace: &Pace,
        record: &mut StepRecord,
    ) {
        // One of the shards is enough.
        if self.shard().index != 0 {
            return;
        }
        let offer = bystanders::ForeignObjects {
            cluster: &self.cluster,
            run: &self.run,
            kinds,
            pace: pace.clone(),
            progress: &self.progress,
        };
        let began = Instant::now();
        let made = async {
            offer.create().await?;
            for nth in 1..=changes {
                offer.change(nth).await?;
            }
            Ok(())
        };
        tokio::select! {
            biased;
            () = self.stop.requested() => record.ended = Ended::Stopped,
            made = made => record.failure = made.err(),
        }
        record.took_s = Some(began.elapsed().as_secs_f64());
    }

    /// What the operator holds and has used so far, where it is measured.
    async fn operator_figures(&self) -> Option<Spent> {
        self.operator.as_ref()?.figures().await
    }

    /// The times are those of the way back.
    async fn fault(
        &self,
        journal: &Arc<Journal>,
        idle: Duration,
        wave: &mut u64,
        pace: &Pace,
        record: &mut StepRecord,
    ) {
        let (good, Some(bad)) = (&self.workload.scenario, &self.workload.rejected) else {
            record.failure = Some("the workload has no object.rejected".into());
            return;
        };
        let changed = |from: &Scenario, to: &Scenario| {
            let scenario = self.scenario.as_ref().clone().with_update_between(from, to);
            Arc::new(match self.pods {
                Pods::NotAsked => scenario.without_pods(),
                _ => scenario,
            })
        };
        *wave += 1;
        journal.timeline().begin_wave();
        let act = Act::Update(*wave);
        let all = 0..self.objects();
        let faulty = changed(good, bad);
        record.ended = self
            .wave(journal, &faulty, all.clone(), act, pace, Goal::Answered)
            .await;
        if record.ended == Ended::Converged {
            record.ended = self.rest(idle).await;
        }
        if record.ended != Ended::Converged {
            return;
        }
        *wave += 1;
        let update = Update {
            scenario: changed(bad, good),
            part: all,
            wave: *wave,
        };
        self.update(journal, update, pace, record).await;
    }

    /// Replaces the pods of the operator, so often.
    async fn restart(&self, times: u64, record: &mut StepRecord) {
        let Some(operator) = &self.operator else {
            // Another shard does it: this one has nothing to wait for.
            return;
        };
        let began = Instant::now();
        for _ in 0..times {
            let timeout = self.timeout(&Pace::Burst).deadline;
            tokio::select! {
                biased;
                () = self.stop.requested() => {
                    record.ended = Ended::Stopped;
                    return;
                }
                replaced = operator.replace_pods(timeout, &self.progress) => {
                    if let Err(error) = replaced {
                        record.failure = Some(error.to_string());
                        return;
                    }
                }
            }
        }
        record.took_s = Some(began.elapsed().as_secs_f64());
    }

    fn timeout(&self, pace: &Pace) -> Timeout {
        let chosen = self.args.deadline_s.map(Duration::from_secs);
        Timeout::of(self.objects(), pace, chosen)
    }

    /// Sends something to these objects, and waits until all have reached the goal.
    pub(super) async fn wave(
        &self,
        journal: &Arc<Journal>,
        scenario: &Arc<Scenario>,
        objects: Range<usize>,
        act: Act,
        pace: &Pace,
        goal: Goal,
    ) -> Ended {
        // Nothing is kept of a wave but its record, however many there are.
        journal.timeline().forget_ended();
        let wave = Wave {
            offer: Generator {
                cluster: self.cluster.clone(),
                scenario: Arc::clone(scenario),
                seed: self.args.seed,
                journal: Arc::clone(journal),
                act,
                readiness: None,
                pace: pace.clone(),
                objects,
            },
            timeout: self.timeout(pace),
            goal,
        };
        wave.run(&self.progress, &self.stop).await
    }

    /// Waits without touching anything.
    pub(super) async fn rest(&self, idle: Duration) -> Ended {
        self.progress
            .step(&format!("idle for {} s", idle.as_secs()));
        tokio::select! {
            biased;
            () = self.stop.requested() => Ended::Stopped,
            () = tokio::time::sleep(idle) => Ended::Converged,
        }
    }
}

fn note_times(record: &mut StepRecord, journal: &Journal, pace: &Pace) {
    let timeline = journal.timeline();
    record.first_sent_unix_ms = first_sent_unix_ms(journal.began(), &timeline);
    record.times = Some(convergence(&timeline, pace));
}
