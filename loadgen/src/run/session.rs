//! A session: one subject on one target, taken through the steps of a cell.
//!
//! Guarantees: whatever goes wrong ends as a failed run with its reason and the subject's last
//! log lines, within bounds of time; nothing it started outlives it, dropped or finished.
//! Leaves to others: the steps (`step`), the order of runs, the evidence.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_procstat::Memory;
use tare_procstat::process::{Process, Spec};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;

use crate::load::generator::{Act, Generator};
use crate::load::journal::Journal;
use crate::load::observer::Observer;
use crate::load::timeline::Timeline;
use crate::load::timetable::Pace;
use crate::measure::admin;
use crate::measure::log_tail::log_tail;
use crate::model::cell::{Cell, Kind};
use crate::model::record::{Failure, Peaked, PhaseMemory, Run};
use crate::model::subject::{Places, Subject};
use crate::model::workload::{CANARY, Scenario};
use crate::run::snapshot::Snapshot;
use crate::run::{Setting, step};
use crate::target::cluster::Cluster;
use crate::target::{HARNESS, Order, SUBJECT, Server};

/// Between two polls of a wait; times come from events, not from these polls.
const POLL: Duration = Duration::from_millis(20);

/// A delay that no run reaches: 49 days.
const NEVER_MS: u64 = u32::MAX as u64;

/// A run's outcome: the record, and one line per object.
pub struct Outcome {
    pub run: Run,
    pub samples: Option<String>,
}

/// Why a run failed, as the report says it.
pub type Reason = String;

/// A subject on a target, with the record of its run.
pub struct Session<'a> {
    pub setting: &'a Setting,
    pub subject: &'a Subject,
    pub cell: &'a Cell,
    pub server: Server,
    pub cluster: Cluster,
    pub journal: Arc<Journal>,
    pub process: Process,
    pub admin: SocketAddr,
    pub run: Run,
    /// Counters before the first object.
    pub baseline: Option<Snapshot>,
    /// The metrics page before the first object.
    pub page_before: Option<String>,
    places: Places,
    log: PathBuf,
    /// Held while this run works: only one run does at a time.
    turn: Option<OwnedSemaphorePermit>,
    _observer: AbortOnDrop,
}

/// A task that ends with this.
pub struct AbortOnDrop(pub AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Measures one cell.
pub async fn run(setting: &Setting, subject: &Subject, cell: &Cell, per_s: Option<f64>) -> Outcome {
    let turn = setting.turn().await;
    let started = Instant::now();
    let mut samples = None;
    let mut run = match Session::start(setting, subject, cell, turn).await {
        Err(reason) => {
            let mut run = empty_run(cell);
            run.failure = Some(Failure {
                reason,
                last_log_lines: vec![],
            });
            run
        }
        Ok(mut session) => {
            if let Err(reason) = session.steps(per_s).await {
                let last_log_lines = log_tail(&session.process.last_log_lines(8));
                session.run.failure = Some(Failure {
                    reason,
                    last_log_lines,
                });
            }
            samples = (cell.objects > 0).then(|| session.journal.timeline().samples());
            session.teardown().await
        }
    };
    run.wall_s = started.elapsed().as_secs_f64();
    Outcome { run, samples }
}

pub fn empty_run(cell: &Cell) -> Run {
    Run {
        schema: crate::model::record::SCHEMA,
        cell: cell.clone(),
        started_at: crate::model::timestamp::now_rfc3339(),
        wall_s: 0.0,
        kubernetes_version: None,
        failure: None,
        invalid_because: vec![],
        warnings: vec![],
        spawn_to_canary_ms: None,
        memory: PhaseMemory::default(),
        converge_cpu_s: None,
        restarts: vec![],
        idle: None,
        convergence: None,
        soak: None,
        fault_response: None,
        update_storm: None,
        reconcile: None,
        requests: None,
        write_spans: None,
        gc_pauses: None,
        api_server_cpu_s: None,
        datastore: None,
        generator_cpu_s: None,
    }
}

impl<'a> Session<'a> {
    /// Server, namespace, canary and watch are there before the subject is started.
    async fn start(
        setting: &'a Setting,
        subject: &'a Subject,
        cell: &'a Cell,
        turn: Option<OwnedSemaphorePermit>,
    ) -> Result<Session<'a>, Reason> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let stem = cell.file_stem();
        let dir = setting.temp_dir.join(&stem);
        std::fs::create_dir_all(&dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
        let order = Order {
            source: &setting.source,
            dir: &dir,
            crd: &subject.crd(&setting.workspace),
            ready_delay_ms: match cell.kind {
                Kind::NeverReady => NEVER_MS,
                _ => setting.ready_delay_ms,
            },
            logs: setting.evidence.path(&format!("logs/{stem}")),
            audit: cell.kind == Kind::RequestCount
                || cell.kind == Kind::UpdateStorm
                || cell.kind.is_unhealthy(),
            default_flags: cell.kind == Kind::DefaultFlags,
        };
        let server = Server::start(order).await.map_err(|e| text(&e))?;
        let cluster = Cluster::connect(&server.kubeconfig(HARNESS))
            .await
            .map_err(|e| text(&e))?;
        let mut run = empty_run(cell);
        run.kubernetes_version = Some(cluster.version().await.map_err(|e| text(&e))?);
        let scenario = setting.scenario_of(subject);
        let resource = &scenario.resource;
        cluster
            .ensure_namespace(&resource.namespace)
            .await
            .map_err(|e| text(&e))?;
        let canary = scenario.object(CANARY, 0, setting.seed);
        let canary = cluster
            .create(resource, canary)
            .await
            .map_err(|e| format!("canary: {e}"))?;

        let journal = Arc::new(Journal::of(cell.objects));
        let now_ns = journal.now_ns();
        journal
            .timeline()
            .canary
            .acknowledge(now_ns, canary.metadata.generation);
        let observer = Observer {
            cluster: cluster.clone(),
            resource: resource.clone(),
            convergence: subject.convergence.clone(),
            journal: journal.clone(),
        };
        let observer = AbortOnDrop(tokio::spawn(observer.run()).abort_handle());
        let watching = Instant::now() + Duration::from_secs(10);
        while !journal.timeline().listed {
            if Instant::now() > watching {
                return Err("the harness's own list was not answered within 10 s".into());
            }
            tokio::time::sleep(POLL).await;
        }

        let admin = admin::free_address().map_err(|e| format!("no free port on loopback: {e}"))?;
        let places = Places {
            admin: admin.to_string(),
            kubeconfig: server.kubeconfig(SUBJECT),
            bin: setting.bin.clone(),
            dir,
        };
        let log = setting.evidence.path(&format!("logs/{stem}.log"));
        let process = spawn(subject, &places, &log).await?;
        Ok(Session {
            setting,
            subject,
            cell,
            server,
            cluster,
            journal,
            process,
            admin,
            run,
            baseline: None,
            page_before: None,
            places,
            log,
            turn,
            _observer: observer,
        })
    }

    /// Runs the steps of the cell; the first one that fails ends the session.
    async fn steps(&mut self, per_s: Option<f64>) -> Result<(), Reason> {
        for step in self.setting.course().steps(self.cell, per_s) {
            step::run(self, step).await?;
        }
        Ok(())
    }

    /// Ends the subject with SIGTERM.
    pub async fn stop_subject(&mut self) -> Result<(), Reason> {
        self.process
            .terminate(Duration::from_secs(10))
            .await
            .map_err(|e| e.to_string())?;
        Ok(())
    }

    /// Starts the subject again; everything else is as it was.
    pub async fn start_subject(&mut self) -> Result<(), Reason> {
        // A port of its own: the old one may linger.
        self.admin = admin::free_address().map_err(|e| format!("no free port on loopback: {e}"))?;
        self.places.admin = self.admin.to_string();
        self.process = spawn(self.subject, &self.places, &self.log).await?;
        Ok(())
    }

    /// Takes everything down; the record.
    async fn teardown(self) -> Run {
        let Session {
            mut process,
            server,
            mut run,
            places,
            ..
        } = self;
        // A subject that cannot be signalled is gone, and dropping kills what is not.
        let _ = process.terminate(Duration::from_secs(5)).await;
        if let Err(error) = server.stop().await {
            run.warnings
                .push(format!("taking the server down: {error}"));
        }
        // Data and credentials of this run; what cannot be removed goes with the folder above.
        let _ = std::fs::remove_dir_all(&places.dir);
        run
    }

    /// Waits until no other run works; none does until [`Session::rest`].
    pub async fn work(&mut self) {
        if self.turn.is_none() {
            self.say("waiting for its turn");
            self.turn = self.setting.turn().await;
        }
    }

    /// From now on the subject is idle: another run may work.
    pub fn rest(&mut self) {
        self.turn = None;
    }

    /// What is created in this cell.
    fn scenario(&self) -> Arc<Scenario> {
        match self.cell.kind {
            Kind::Rejected => Arc::clone(&self.setting.rejected),
            _ => self.setting.scenario_of(self.subject),
        }
    }

    /// Something done to every object of this cell.
    pub fn offer(&self, act: Act, pace: Pace) -> Generator {
        Generator {
            cluster: self.cluster.clone(),
            scenario: self.scenario(),
            child: Some(self.setting.child.clone()),
            seed: self.setting.seed,
            journal: self.journal.clone(),
            act,
            pace,
            objects: self.cell.objects,
        }
    }

    /// Shows what the session does now.
    pub fn say(&self, what: &str) {
        self.setting.say_step(self.cell, what);
    }

    /// The subject's memory; `None` where this machine does not tell. A subject that has ended is
    /// noticed by [`Session::check_alive`].
    pub fn memory(&self) -> Option<Memory> {
        tare_procstat::memory(self.process.pid()).ok()
    }

    /// The same, with the peak since [`Session::reset_peak`].
    pub fn peak(&self) -> Option<Peaked> {
        Some(Peaked {
            memory: self.memory()?,
            peak_bytes: tare_procstat::peak_bytes(self.process.pid()).ok(),
        })
    }

    /// From here on the next peak counts.
    pub fn reset_peak(&mut self) {
        if let Err(error) = tare_procstat::reset_peak(self.process.pid()) {
            self.run.warnings.push(format!(
                "peaks count from the start of the process: {error}"
            ));
        }
    }

    /// Fails when the subject or the server is gone.
    pub fn check_alive(&mut self) -> Result<(), Reason> {
        if let Some(status) = self.process.exited().map_err(|e| e.to_string())? {
            return Err(format!("{} ended by itself ({status})", self.subject.id()));
        }
        if let Some(ended) = self.server.exited().map_err(|e| e.to_string())? {
            return Err(ended);
        }
        Ok(())
    }

    /// Waits until the timeline holds what is asked for; false at the deadline.
    pub async fn wait_until(
        &mut self,
        deadline: Instant,
        holds: impl Fn(&Timeline) -> bool,
    ) -> Result<bool, Reason> {
        loop {
            if holds(&self.journal.timeline()) {
                return Ok(true);
            }
            self.check_alive()?;
            if Instant::now() > deadline {
                return Ok(false);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until the subject says that it is ready.
    pub async fn wait_ready(&mut self, deadline: Instant) -> Result<(), Reason> {
        loop {
            self.check_alive()?;
            let Some(last) = readiness(self.subject, &self.process, self.admin).await else {
                return Ok(());
            };
            if Instant::now() > deadline {
                return Err(format!(
                    "{} was not ready in time: {last}",
                    self.subject.id()
                ));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Why the subject cannot be given work yet; `None` once it can.
pub async fn readiness(subject: &Subject, process: &Process, admin: SocketAddr) -> Option<String> {
    match (&subject.ready.http, &subject.ready.log_line) {
        (Some(path), _) => match admin::get(admin, path).await {
            Ok(page) if page.status == 200 => None,
            Ok(page) => Some(format!("{path} answers {}", page.status)),
            Err(error) => Some(error.to_string()),
        },
        (None, Some(line)) => {
            let lines = process.last_log_lines(500);
            let said = lines.iter().any(|logged| logged.contains(line));
            (!said).then(|| format!("no {line:?} in its log"))
        }
        (None, None) => None,
    }
}

/// Starts the subject, in the same small environment for every subject.
pub async fn spawn(subject: &Subject, places: &Places, log: &Path) -> Result<Process, Reason> {
    let launch = subject.launch(places);
    let mut env = launch.env;
    // The same small environment for every subject, whoever runs the bench.
    env.push(("HOME".into(), places.dir.display().to_string()));
    env.push(("NO_COLOR".into(), "1".into()));
    env.extend(std::env::var("PATH").map(|path| ("PATH".to_owned(), path)));
    let spec = Spec {
        name: subject.id(),
        program: launch.program,
        args: launch.args,
        env,
        clear_env: true,
        log: log.to_owned(),
    };
    Process::spawn(spec).await.map_err(|e| e.to_string())
}
