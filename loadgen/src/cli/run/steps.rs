//! The steps of a run on somebody's cluster: the operator is whatever runs there.
//!
//! Guarantees: a step begins when the one before it has converged; after one that has not, no other begins. Leaves
//! to others: what is done to objects (`engine::step::objects`), and the operator's pods (`operator`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::run::ClusterRun;
use crate::cli::run::pods::Pods;
use crate::cli::run::record::first_sent_unix_ms;
use crate::engine::load::{Goal, Host, Load};
use crate::engine::session::Reason;
use crate::engine::step::objects;
use crate::error::Usage;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::record::{Spent, StepSpan};
use crate::spec::step::Step;

/// After this time without a status on an acknowledged object, a hint is printed that no operator runs.
const NOBODY_ANSWERS: Duration = Duration::from_secs(10);

/// What came of a step; of one that is repeated, of its last time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    pub span: StepSpan,
    pub first_sent_unix_ms: u64,
    pub ended: Ended,
    /// Why it could not be done.
    pub failure: Option<String>,
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
        let step = &self.span.step;
        match (&self.failure, self.ended) {
            (Some(why), _) => Some(format!("{step}: {why}")),
            (None, Ended::Converged) => None,
            (None, Ended::Stopped) => Some(format!("{step}: stopped")),
            (None, _) => Some(format!("{step}: not every object came to its end")),
        }
    }
}

/// A load on the cluster of a run.
pub(super) struct OnCluster<'a> {
    pub run: &'a ClusterRun,
    pub load: Load,
    /// Whether it was said that no operator seems to run.
    pub hinted: bool,
}

impl Host for OnCluster<'_> {
    fn load(&self) -> &Load {
        &self.load
    }

    fn load_mut(&mut self) -> &mut Load {
        &mut self.load
    }

    fn look(&mut self, goal: Goal) -> Result<(), Reason> {
        if self.hinted || goal != Goal::Ready {
            return Ok(());
        }
        let stall = self.load.timeout(0, &Pace::Burst).stall;
        let after = NOBODY_ANSWERS.min(stall / 2);
        let journal = &self.load.journal;
        let unanswered_for = {
            let timeline = journal.timeline();
            let nobody = timeline.progress().observed == 0;
            timeline.first_acked_ns().filter(|_| nobody)
        };
        let unanswered_for = unanswered_for.map(|at_ns| journal.now_ns().saturating_sub(at_ns));
        if unanswered_for.is_some_and(|ns| ns > after.as_nanos() as u64) {
            self.hinted = true;
            self.load.progress.say(&format!(
                "no object was observed for {} s; no operator seems to be running for them on this cluster: start it, or look at its log",
                after.as_secs()
            ));
        }
        Ok(())
    }

    async fn restart(&mut self, times: u64) -> Result<Ended, Reason> {
        let Some(operator) = &self.run.operator else {
            // Another shard does it: this one has nothing to wait for.
            return Ok(Ended::Converged);
        };
        let within = self.load.patience();
        for _ in 0..times {
            let replaced = operator.replace_pods(within, &self.load.progress);
            match self.load.stop.or(replaced).await {
                None => return Ok(Ended::Stopped),
                Some(replaced) => replaced.map_err(|error| error.to_string())?,
            }
        }
        Ok(Ended::Converged)
    }
}

impl OnCluster<'_> {
    /// Does the steps of the workload, one after the other.
    pub(super) async fn steps(&mut self) -> Done {
        let mut done = Done::default();
        for step in &self.run.workload.steps {
            // One of the shards is enough.
            if matches!(step, Step::Bystanders { .. }) && self.run.shard().index != 0 {
                continue;
            }
            let record = self.step(step).await;
            match step {
                Step::Delete { .. } => {
                    done.deleted = self.load.journal.timeline().progress().gone as usize;
                }
                Step::Create { .. } => done.deleted = 0,
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

    async fn step(&mut self, step: &Step) -> StepRecord {
        self.load.progress.say(&step.name());
        let before = self.operator_figures().await;
        let from_ms = self.load.now_ms();
        let stepped = objects::run(self, step).await;
        let spent = before.zip(self.operator_figures().await);
        let (ended, failure) = match stepped {
            Ok(ended) => (ended, None),
            Err(why) => (Ended::Converged, Some(why)),
        };
        let journal = &self.load.journal;
        StepRecord {
            span: self.load.span_of_workload(step, from_ms, spent),
            first_sent_unix_ms: first_sent_unix_ms(journal.began(), &journal.timeline()),
            ended,
            failure,
        }
    }

    /// What the operator holds and has used so far, where it is measured.
    async fn operator_figures(&self) -> Option<Spent> {
        self.run.operator.as_ref()?.figures().await
    }
}

impl ClusterRun {
    /// Pods that the objects ask for when they ask for the most.
    pub(super) fn most_pods(&self) -> Option<u64> {
        let objects = self.objects();
        let scaled = self.workload.steps.iter().filter_map(|step| match step {
            Step::Scale { field, value, .. } => self.scenario.scaled(field, value).pods_of(objects),
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
        let own_server = self.workload.needs_no_own_server();
        own_server.map_err(Usage::of)?;
        for (number, step) in self.workload.steps.iter().enumerate() {
            let (field, message) = match step {
                Step::Scale { field, value, .. }
                    if self.pods == Pods::NotAsked
                        && self.scenario.asks_for_pods_by(field)
                        && *value != 0 =>
                {
                    (
                        "field",
                        format!("{field:?} asks for pods; permit them with --pods"),
                    )
                }
                Step::Restart { .. } if self.args.operator.is_none() => {
                    let message = "restart: say which with --operator deployment/NAMESPACE/NAME";
                    ("do", message.to_owned())
                }
                _ => continue,
            };
            let part = self.workload.source.part("steps", number);
            return Err(Usage::of(part.error(field, message)).into());
        }
        Ok(())
    }
}
