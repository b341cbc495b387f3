//! The operator of a cluster beside a run: memory and CPU of its pods, restarts, kills for memory, log.
//!
//! Guarantees: an operator that cannot be measured is an error before anything is created; a sample that
//! fails is counted; a pod that replaces another counts as a disturbance like a restart. Leaves to others:
//! reading (`target::operator`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::record::Spent;
use crate::report::table::{Table, figure, mb, often};
use crate::spec::operator::OperatorName;
use crate::target::cluster::Cluster;
use crate::target::operator::memory::{Chosen, Reading, Source};
use crate::target::operator::pods;
use crate::target::operator::pods::{End, Pod};
use crate::target::operator::restart;
use crate::target::operator::restart::NotRestarted;
use crate::terminal::progress::Progress;
use crate::watch::log_tail::log_tail;

/// Memory right after the last object is that of the burst.
pub const IDLE: Duration = Duration::from_secs(15);

/// What was seen of an operator during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// `deployment/NAMESPACE/NAME`.
    pub operator: String,
    /// What the memory is, and where it was read.
    pub source: String,
    /// Why more precise sources were not used.
    pub passed_over: Vec<String>,
    pub samples: u64,
    /// Samples that could not be taken, and why the last one could not.
    pub failed_samples: u64,
    pub last_failure: Option<String>,
    /// Pods that a step of the workload has replaced.
    pub replaced: usize,
    pub pods: Vec<PodWatched>,
}

/// What was seen of one pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodWatched {
    pub name: String,
    pub uid: String,
    pub limit_bytes: Option<f64>,
    /// Whether it was not there when the run began.
    pub came: bool,
    /// Of its containers, since it was first seen.
    pub restarts: u64,
    /// At least: of several kills between two samples one is seen.
    pub kills_for_memory: u64,
    /// How a container of it ended last.
    pub last_end: Option<End>,
    pub before_bytes: Option<f64>,
    pub peak_bytes: Option<f64>,
    pub end_bytes: Option<f64>,
    /// During the run, across restarts.
    pub cpu_s: Option<f64>,
    /// The last lines of its log; those before a restart where there was one.
    pub log: Vec<String>,
    restarts_seen: u64,
    cpu_seen_s: Option<f64>,
}

/// The operator while it is watched.
pub struct Watching {
    sampler: Sampler,
    task: Mutex<Option<JoinHandle<()>>>,
    idle: Duration,
}

#[derive(Clone)]
struct Sampler {
    cluster: Cluster,
    operator: OperatorName,
    /// Of its pods.
    selector: String,
    source: Source,
    watched: Arc<Mutex<Watched>>,
}

impl Watching {
    /// # Errors
    /// It is not there, or nothing in the cluster tells its memory.
    pub async fn find(cluster: &Cluster, operator: &OperatorName) -> anyhow::Result<Self> {
        let selector = pods::selector(cluster, operator).await?;
        let found = pods::list(cluster, operator, &selector).await?;
        let mut chosen = Err("it has no pod".to_owned());
        for pod in &found {
            chosen = Source::choose(cluster, &operator.namespace, pod).await;
            if chosen.is_ok() {
                break;
            }
        }
        let Chosen {
            source,
            passed_over,
        } = chosen.map_err(|why| {
            anyhow::anyhow!("{operator}: nothing tells its memory: {why}; leave out --operator, or permit one of these reads")
        })?;
        let watched = Watched {
            operator: operator.to_string(),
            source: source.words(),
            passed_over,
            ..Watched::default()
        };
        Ok(Self {
            idle: IDLE.max(source.delay()),
            sampler: Sampler {
                cluster: cluster.clone(),
                operator: operator.clone(),
                selector,
                source,
                watched: Arc::new(Mutex::new(watched)),
            },
            task: Mutex::new(None),
        })
    }

    /// How long the run waits after the objects have converged, so that memory without work is sampled, too.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Takes the figures before the run, and goes on with samples.
    pub async fn begin(&self, progress: &Progress) {
        let sampler = self.sampler.clone();
        let period = sampler.source.period();
        let give_up = tokio::time::Instant::now() + sampler.source.delay();
        sampler.sample(true).await;
        while !sampler.watched().has_figures() && tokio::time::Instant::now() < give_up {
            progress.step("waiting for the first figure of the operator's memory");
            tokio::time::sleep(period).await;
            sampler.sample(true).await;
        }
        let task = tokio::spawn(async move {
            let mut due = tokio::time::interval(period);
            due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                due.tick().await;
                sampler.sample(false).await;
            }
        });
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Deletes its pods, and waits until as many others are ready.
    ///
    /// # Errors
    /// They cannot be deleted, or none is ready in time.
    pub async fn replace_pods(
        &self,
        within: Duration,
        progress: &Progress,
    ) -> Result<(), NotRestarted> {
        let Sampler {
            cluster,
            operator,
            selector,
            ..
        } = &self.sampler;
        progress.step(&format!("waiting for other pods of {operator}"));
        let replaced = restart::restart(cluster, operator, selector, within).await?;
        // Also those that live for less than the period between two samples.
        self.sampler.sample(false).await;
        self.sampler.watched().replaced += replaced;
        Ok(())
    }

    /// What it holds, and the CPU time since the run began; `None` where that could not be read.
    pub async fn figures(&self) -> Option<Spent> {
        let bytes = self.sampler.sample(false).await?;
        let watched = self.sampler.watched();
        let cpu_s = watched.pods.iter().filter_map(|pod| pod.cpu_s);
        Some(Spent {
            before_bytes: bytes,
            after_bytes: bytes,
            cpu_s: cpu_s.reduce(|sum, one| sum + one),
        })
    }

    /// Takes the last figures and the log.
    pub async fn end(&self) -> Watched {
        let task = {
            let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
            task.take()
        };
        if let Some(task) = task {
            task.abort();
            // It ends at its next await; the samples that follow are the last ones.
            let _ = task.await;
        }
        self.sampler.sample(false).await;
        self.sampler.logs().await;
        self.sampler.watched().clone()
    }
}

impl Sampler {
    /// Held for a few instructions, never across an await.
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory of its pods; `None` where it could not be read of each.
    async fn sample(&self, first: bool) -> Option<f64> {
        let listed = pods::list(&self.cluster, &self.operator, &self.selector).await;
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                self.watched().fail(error.to_string());
                return None;
            }
        };
        let mut sum = Some(0.0);
        for pod in listed {
            let read = self
                .source
                .read(&self.cluster, &self.operator.namespace, &pod);
            match read.await {
                Ok(reading) => {
                    sum = sum.zip(reading).map(|(sum, one)| sum + one.bytes);
                    self.watched().note(&pod, reading, first);
                }
                Err(why) => {
                    sum = None;
                    self.watched().note(&pod, None, first);
                    self.watched().fail(why);
                }
            }
        }
        sum
    }

    async fn logs(&self) {
        let listed = pods::list(&self.cluster, &self.operator, &self.selector).await;
        for pod in listed.unwrap_or_default() {
            let log = pods::log(&self.cluster, &self.operator.namespace, &pod).await;
            let log = log.unwrap_or_else(|error| vec![format!("no log: {}", error.words())]);
            let mut watched = self.watched();
            let own = watched.pods.iter_mut().find(|it| it.uid == pod.uid);
            if let Some(own) = own {
                own.log = log_tail(&log);
            }
        }
    }
}

impl Watched {
    fn has_figures(&self) -> bool {
        let mut pods = self.pods.iter();
        !self.pods.is_empty() && pods.all(|pod| pod.before_bytes.is_some())
    }

    fn fail(&mut self, why: String) {
        self.failed_samples += 1;
        self.last_failure = Some(why);
    }

    /// One look at a pod; `first` before anything was created.
    fn note(&mut self, pod: &Pod, reading: Option<Reading>, first: bool) {
        let place = self.pods.iter().position(|it| it.uid == pod.uid);
        let place = place.unwrap_or_else(|| {
            self.pods.push(PodWatched {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                came: !first,
                restarts_seen: if first { pod.restarts } else { 0 },
                ..PodWatched::default()
            });
            self.pods.len() - 1
        });
        if let Some(own) = self.pods.get_mut(place) {
            own.note(pod, reading, first);
        }
        self.samples += u64::from(reading.is_some());
    }

    /// Whether nothing restarted, and no pod replaced another, but where a step asked for it.
    pub fn is_sound(&self) -> bool {
        let came = self.pods.iter().filter(|pod| pod.came).count();
        let mut pods = self.pods.iter();
        came <= self.replaced && pods.all(|pod| pod.restarts == 0)
    }

    /// A row for each pod.
    pub fn table(&self) -> Table {
        Table::of(
            format!(
                "{}: {}, {} samples",
                self.operator, self.source, self.samples
            ),
            &self.pods,
            &[
                ("pod", &|pod| pod.name.clone()),
                ("before, MB", &|pod| mb(pod.before_bytes)),
                ("peak, MB", &|pod| mb(pod.peak_bytes)),
                ("end, MB", &|pod| mb(pod.end_bytes)),
                ("limit, MB", &|pod| mb(pod.limit_bytes)),
                ("CPU, s", &|pod| figure(pod.cpu_s)),
                ("restarts", &|pod| pod.restarts.to_string()),
            ],
        )
    }

    /// What else there is to say, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.passed_over.is_empty() {
            lines.push(format!(
                "more precise sources of memory are not there: {}",
                self.passed_over.join("; ")
            ));
        }
        for pod in &self.pods {
            lines.extend(pod.lines());
        }
        if let Some(why) = &self.last_failure {
            lines.push(format!(
                "{} samples of the operator failed: {why}",
                self.failed_samples
            ));
        }
        lines
    }
}

impl PodWatched {
    fn note(&mut self, pod: &Pod, reading: Option<Reading>, first: bool) {
        self.limit_bytes = pod.limit_bytes;
        let more = pod.restarts.saturating_sub(self.restarts_seen);
        if more > 0 {
            self.restarts += more;
            self.restarts_seen = pod.restarts;
            self.last_end.clone_from(&pod.last_end);
            let killed = pod.last_end.as_ref().is_some_and(End::is_out_of_memory);
            self.kills_for_memory += u64::from(killed);
        }
        let Some(reading) = reading else {
            return;
        };
        if first {
            self.before_bytes = Some(reading.bytes);
        }
        self.peak_bytes = Some(reading.bytes.max(self.peak_bytes.unwrap_or(0.0)));
        self.end_bytes = Some(reading.bytes);
        if let Some(cpu_s) = reading.cpu_s {
            let spent_s = match self.cpu_seen_s {
                Some(seen_s) if cpu_s >= seen_s => cpu_s - seen_s,
                // A process that started anew counts from 0.
                _ => cpu_s,
            };
            self.cpu_s = Some(match first {
                true => 0.0,
                false => self.cpu_s.unwrap_or(0.0) + spent_s,
            });
            self.cpu_seen_s = Some(cpu_s);
        }
    }

    fn lines(&self) -> Vec<String> {
        let name = &self.name;
        let mut lines = Vec::new();
        if self.came {
            lines.push(format!(
                "{name} came during the run, in place of another pod"
            ));
        }
        if self.kills_for_memory > 0 {
            lines.push(format!(
                "{name} was killed for memory {}; its limit is {} MB",
                often(self.kills_for_memory),
                mb(self.limit_bytes)
            ));
        } else if let (true, Some(end)) = (self.restarts > 0, &self.last_end) {
            lines.push(format!(
                "{name} was restarted {}; it ended last with {}, exit code {}",
                often(self.restarts),
                end.reason,
                end.exit_code
            ));
        }
        if self.restarts > 0 || self.came {
            lines.push("the end of its log:".to_owned());
            lines.extend(self.log.iter().map(|line| format!("  {line}")));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
