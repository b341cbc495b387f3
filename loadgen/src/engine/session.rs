//! A session: one subject on one target, taken through the steps of a cell.
//!
//! Guarantees: whatever goes wrong ends as a failed run with its reason and the subject's last
//! log lines, within bounds of time; nothing it started outlives it, dropped or finished.
//! Leaves to others: the steps (`step`), the order of runs, the evidence.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use crate::engine::bystanders;
use crate::engine::cpu_trace::{CpuSample, CpuTrace};
use crate::engine::crds;
use crate::engine::folder;
use crate::engine::launch::free_ports;
use crate::engine::load::{Goal, Host, Load};
use crate::engine::server_counters::ServerCounters;
use crate::engine::snapshot::Snapshot;
use crate::engine::watched_subject::WatchedSubject;
use crate::engine::{Setting, ready, step};
use crate::load::journal::Journal;
use crate::load::observer::Observer;
use crate::load::stand_in::Agent;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::metric;
use crate::plan::cell::{Cell, Kind};
use crate::record::series::Series;
use crate::record::{Failure, Run, Sampled, Spent, StepSpan};
use crate::spec::bystanders::Bystanders;
use crate::spec::step::Quiet;
use crate::spec::subject::{Places, Subject};
use crate::spec::workload::CANARY;
use crate::target::cluster::Cluster;
use crate::target::fixtures;
use crate::target::{HARNESS, Order, SUBJECT, Server, Source};
use crate::watch::log_tail::log_tail;
use crate::watch::machine_use::MachineWatch;
use crate::watch::metrics_text::changes;

/// A delay that no run reaches: 49 days.
const NEVER_MS: u64 = u32::MAX as u64;

/// A run's outcome: the record, and one line per object and wave.
#[derive(Default)]
pub struct Outcome {
    pub run: Run,
    pub samples: Option<String>,
    /// Memory and CPU over time.
    pub series: Option<Series>,
    /// What changed on the API server's metrics page from before the subject was started until after the last step.
    pub metrics: Option<String>,
}

/// Why a run failed, as the report says it.
pub type Reason = String;

/// A subject on a target, with the record of its run.
pub struct Session<'a> {
    pub setting: &'a Setting,
    pub subject: &'a Subject,
    pub cell: &'a Cell,
    pub server: Server,
    pub load: Load,
    pub running: WatchedSubject,
    /// What else goes on while a timed run is under way.
    pub machine_watch: Option<MachineWatch>,
    pub admin: SocketAddr,
    pub run: Run,
    /// Counters before the first object.
    pub baseline: Option<Snapshot>,
    /// The server's counters before the first object of a timed run, and the subject's CPU then.
    pub before_objects: Option<(Instant, Option<f64>, ServerCounters)>,
    /// CPU of subject and servers since then.
    pub trace: Option<CpuTrace>,
    /// The metrics page before the first object.
    pub page_before: Option<String>,
    /// The API server's metrics page before the subject was started.
    server_metrics: Option<String>,
    places: Places,
    log: PathBuf,
    /// Held while this run works: only one run does at a time.
    turn: Option<OwnedSemaphorePermit>,
    _observing: JoinSet<()>,
    _standing_in: JoinSet<()>,
}

/// What API servers and their clients say of a kind that is not served.
const NOT_SERVED: [&str; 5] = [
    "kubesim does not implement",
    "could not find the requested resource",
    "no matches for kind",
    "doesn't have a resource type",
    "404 page not found",
];

/// The way out where a run failed because the simulated server lacks a kind.
fn not_simulated(failure: &Failure) -> Option<&'static str> {
    let mut said = failure.last_log_lines.iter().chain([&failure.reason]);
    let is_said = said.any(|line| NOT_SERVED.iter().any(|words| line.contains(words)));
    is_said.then_some(
        "; the simulated API server does not serve every kind: --control-plane kube does",
    )
}

/// Measures one cell.
pub async fn run(setting: &Setting, subject: &Subject, cell: &Cell, attempt: u32) -> Outcome {
    let turn = setting.turn().await;
    let started = Instant::now();
    if let Some(failure) = setting.starts.failing(&subject.id()) {
        let mut run = Run::empty(cell);
        run.failure = Some(failure);
        run.machine = setting.place.run_machine.clone();
        return Outcome {
            run,
            ..Outcome::default()
        };
    }
    let (mut samples, mut series, mut metrics) = (None, None, None);
    let (stem, foreign) = (cell.file_stem(), &setting.bystanders);
    let mut run = match Session::start(setting, subject, cell, &stem, foreign, turn).await {
        Err(reason) => {
            let mut run = Run::empty(cell);
            run.failure = Some(Failure {
                reason,
                last_log_lines: vec![],
            });
            run
        }
        Ok(mut session) => {
            if let Err(reason) = session.steps().await {
                let last_log_lines = log_tail(&session.running.process.last_log_lines(8));
                session.run.failure = Some(Failure {
                    reason,
                    last_log_lines,
                });
            }
            samples = cell
                .has_samples()
                .then(|| session.load.journal.timeline().samples().to_tsv());
            let pages = (
                session.server_metrics.take(),
                session.server.metrics(&session.load.cluster).await,
            );
            metrics = match pages {
                (Some(before), Some(after)) => Some(changes(&before, &after)),
                _ => None,
            };
            let (ended, over_time) = session.teardown().await;
            series = Some(over_time);
            ended
        }
    };
    if let (Source::Kubesim, Some(failure)) = (&setting.place.source, &mut run.failure) {
        failure
            .reason
            .push_str(not_simulated(failure).unwrap_or_default());
    }
    setting.starts.note(&run);
    run.attempt = attempt;
    run.machine = setting.place.run_machine.clone();
    run.wall_s = started.elapsed().as_secs_f64();
    if !setting.marks_disturbed {
        let disturbed = run.disturbed_by();
        run.invalid_because.extend(disturbed);
    }
    run.invalid_because.extend(metric::incomplete(&run));
    Outcome {
        run,
        samples,
        series,
        metrics,
    }
}

impl<'a> Session<'a> {
    /// Server, namespace, `foreign` objects, canary and watch are there before the subject is started.
    ///
    /// # Errors
    /// What cannot be had.
    pub async fn start(
        setting: &'a Setting,
        subject: &'a Subject,
        cell: &'a Cell,
        stem: &str,
        foreign: &[Bystanders],
        turn: Option<OwnedSemaphorePermit>,
    ) -> Result<Session<'a>, Reason> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let dir = folder::next(&setting.place.temp_dir);
        std::fs::create_dir_all(&dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
        let order = Order {
            source: &setting.place.source,
            dir: &dir,
            crds: crds::files(subject, &dir)?,
            ready_delay_ms: match cell.kind {
                Kind::NeverReady => NEVER_MS,
                _ => setting.ready_delay_ms,
            },
            logs: setting.place.evidence.path(&format!("logs/{stem}")),
            audit: cell.kind == Kind::RequestCount
                || cell.kind == Kind::UpdateStorm
                || cell.kind.is_unhealthy(),
            default_flags: cell.kind == Kind::DefaultFlags,
        };
        let server = Server::start(order).await.map_err(|e| text(&e))?;
        let cluster = Cluster::connect(&server.kubeconfig(HARNESS))
            .await
            .map_err(|e| text(&e))?;
        let mut run = Run::empty(cell);
        run.kubernetes_version = Some(cluster.version().await.map_err(|e| text(&e))?);
        let scenario = setting.scenario_of(subject);
        let journal = Arc::new(Journal::of(cell.objects));
        let load = Load {
            scenario: match (cell.kind, &setting.rejected) {
                (Kind::Rejected, Some(rejected)) => Arc::clone(rejected),
                _ => Arc::clone(&scenario),
            },
            rejected: setting.rejected.clone(),
            readiness: setting.readiness.clone(),
            seed: setting.seed,
            deadline: setting.deadline,
            progress: Arc::clone(&setting.place.progress),
            who: format!("{cell}: "),
            ..Load::new(cluster.clone(), Arc::clone(&scenario), Arc::clone(&journal))
        };
        let resource = &scenario.resource;
        cluster
            .ensure_namespace(&resource.namespace)
            .await
            .map_err(|e| text(&e))?;
        let (fixtures, label) = match &setting.place.source {
            // What the subject needs there was made by those who installed it.
            Source::Existing(existing) => (&existing.fixtures, Some(existing.run.as_str())),
            _ => (&subject.made_before, None),
        };
        fixtures::create(&cluster, fixtures, &resource.namespace, label)
            .await
            .map_err(|e| format!("fixtures: {e}"))?;
        bystanders::create(&load, foreign, &Pace::Burst).await?;
        // On a cluster of somebody's, nodes say it.
        let standing_in = match setting.place.source {
            Source::Existing(_) => JoinSet::new(),
            _ => Agent::all(&cluster, &scenario),
        };
        ready::create_canary(&load, &scenario, CANARY).await?;
        let observing = Observer::all(&cluster, &scenario, &subject.convergence, &journal)?;
        load.watches_are_open(observing.len()).await?;

        let ports = free_ports()?;
        let places = Places {
            kubeconfig: server.kubeconfig(SUBJECT),
            bin: setting.place.workspace.bin_of(subject),
            dir,
            ..Places::default()
        };
        let places = places.listening(ports);
        let log = setting.place.evidence.path(&format!("logs/{stem}.log"));
        let server_metrics = server.metrics(&cluster).await;
        let bounds = setting.bounds;
        let running = WatchedSubject::start(subject, &places, &log, server.pid(), &journal, bounds);
        let running = running.await?;
        Ok(Session {
            setting,
            subject,
            cell,
            server,
            load,
            running,
            machine_watch: None,
            admin: ports[0],
            run,
            baseline: None,
            before_objects: None,
            trace: None,
            page_before: None,
            server_metrics,
            places,
            log,
            turn,
            _observing: observing,
            _standing_in: standing_in,
        })
    }

    /// Runs the steps of the cell; the first one that fails ends the session.
    async fn steps(&mut self) -> Result<(), Reason> {
        let done = self.all_steps().await;
        if let Some(watch) = self.machine_watch.take() {
            self.run.machine_use = Some(watch.end().await);
        }
        done
    }

    async fn all_steps(&mut self) -> Result<(), Reason> {
        let course = self.setting.course();
        let steps = course.steps(self.cell);
        let of_workload = course.place_of_workload(self.cell, &steps);
        for (nth, step) in steps.iter().enumerate() {
            let from_ms = self.load.now_ms();
            // Those of the workload have figures of their own; those of every bench stand in the run.
            let own = of_workload.contains(&nth);
            let before = own.then(|| self.spent()).flatten();
            let done = step::run(self, step).await;
            let spent = before.and_then(|before| Some((before, self.spent()?)));
            self.run.steps.push(match own && done.is_ok() {
                true => self.load.span_of_workload(step, from_ms, spent),
                false => StepSpan {
                    step: step.name(),
                    from_ms,
                    to_ms: self.load.now_ms(),
                    ..StepSpan::default()
                },
            });
            done?;
        }
        Ok(())
    }

    /// What the subject holds and has used by now.
    fn spent(&self) -> Option<Spent> {
        let bytes = self.running.memory()?.rss_bytes as f64;
        Some(Spent {
            before_bytes: bytes,
            after_bytes: bytes,
            cpu_s: self.running.tree().cpu_seconds().ok(),
        })
    }

    /// Since the run began.
    /// Ends the subject with SIGTERM.
    pub async fn stop_subject(&mut self) -> Result<(), Reason> {
        self.running.stop(Duration::from_secs(10)).await.map(drop)
    }

    /// Starts the subject again; everything else is as it was.
    pub async fn start_subject(&mut self) -> Result<(), Reason> {
        // A port of its own: the old one may linger.
        let ports = free_ports()?;
        self.admin = ports[0];
        self.places = self.places.clone().listening(ports);
        let (places, log) = (&self.places, &self.log);
        self.running.start_again(self.subject, places, log).await
    }

    /// Takes everything down; the record, and memory and CPU over time.
    pub async fn teardown(self) -> (Run, Series) {
        let Session {
            running,
            server,
            mut run,
            places,
            ..
        } = self;
        let series = running.end().await;
        if let Err(error) = server.stop().await {
            run.warnings
                .push(format!("taking the server down: {error}"));
        }
        // Data and credentials of this run; what cannot be removed goes with the folder above.
        let _ = std::fs::remove_dir_all(&places.dir);
        (run, series)
    }

    /// Waits until no other run works; none does until [`Session::rest`].
    pub async fn work(&mut self) {
        if self.turn.is_none() {
            self.load.say("waiting for its turn");
            self.turn = self.setting.turn().await;
        }
    }

    /// From now on the subject is idle: another run may work.
    pub fn rest(&mut self) {
        self.turn = None;
    }

    /// The subject's memory in a phase that does not wait; `None` where this machine does not tell.
    /// A subject that has ended is noticed by [`Session::check_alive`].
    pub fn sampled(&self) -> Option<Sampled> {
        let server = self
            .server
            .pid()
            .and_then(|pid| tare_procstat::memory(pid).ok());
        self.running.sampled().map(|sampled| Sampled {
            api_server_rss_bytes: server.map(|memory| memory.rss_bytes),
            ..sampled
        })
    }

    /// The same once it was waited for: whether it came to rest, and for long enough.
    pub fn settled(&self, quiet: Quiet, came_to_rest: bool) -> Option<Sampled> {
        let did_settle = came_to_rest && quiet.is_enough_for(self.subject.language);
        self.sampled().map(|sampled| Sampled {
            did_settle: Some(did_settle),
            ..sampled
        })
    }

    /// Notes what subject and servers have used by now, until the cost of the objects is booked.
    pub fn trace_cpu(&mut self) {
        let sample = self.cpu_sample();
        if let Some(trace) = &mut self.trace {
            trace.add(sample);
        }
    }

    /// What subject and servers have used by now.
    pub fn cpu_sample(&self) -> CpuSample {
        CpuSample {
            at_ns: self.load.journal.now_ns(),
            cpu_s: self.running.tree().cpu_seconds().ok(),
            server_cpu_s: self.server.cpu_s(),
            controllers_cpu_s: self.server.controllers_cpu_s(),
        }
    }

    /// From here on the peak counts.
    pub fn reset_peak(&mut self) {
        self.run.warnings.extend(self.running.reset_peak());
    }

    /// Fails when the subject or the server is gone.
    pub fn check_alive(&mut self) -> Result<(), Reason> {
        if let Some(status) = self.running.process.exited().map_err(|e| e.to_string())? {
            return Err(match self.running.was_killed_for_memory() {
                true => format!("{} was killed for memory", self.subject.id()),
                false => format!("{} ended by itself ({status})", self.subject.id()),
            });
        }
        if let Some(ended) = self.server.exited().map_err(|e| e.to_string())? {
            return Err(ended);
        }
        Ok(())
    }
}

impl Host for Session<'_> {
    fn load(&self) -> &Load {
        &self.load
    }

    fn load_mut(&mut self) -> &mut Load {
        &mut self.load
    }

    fn look(&mut self, _: Goal) -> Result<(), Reason> {
        self.trace_cpu();
        self.check_alive()
    }

    async fn restart(&mut self, times: u64) -> Result<Ended, Reason> {
        for _ in 0..times {
            step::restart::once(self).await?;
        }
        Ok(Ended::Converged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_simulated_names_the_real_server() {
        let failed = |reason: &str, line: &str| {
            not_simulated(&Failure {
                reason: reason.into(),
                last_log_lines: vec![line.into()],
            })
        };
        let client_go =
            "error: no matches for kind \"Ingress\" in version \"networking.k8s.io/v1\"";
        assert!(
            failed(
                "canary: the server could not find the requested resource",
                ""
            )
            .is_some()
        );
        assert!(failed("a/b ended by itself (exit status: 1)", client_go).is_some());
        assert!(failed("a/b ended by itself (exit status: 1)", "panic").is_none());
    }
}
