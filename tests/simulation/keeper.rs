//! Replicas of the operator, each of which is kept running: one that was killed is started again after its time.
//!
//! Guarantees: a replica is one process at most; what it is started with follows from the schedule, from which replica
//! it is, and from how often it was started. Leaves to others: what its requests meet (`transport`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kubesim::Server;
use tare::edgeapp::EdgeApps;
use tare_runtime::api::Operator;
use tare_runtime::controller;
use tare_runtime::controller::{Config, Limits};
use tare_runtime::metrics::Metrics;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::faults::Faults;
use crate::process::Process;
use crate::schedule::Schedule;
use crate::subject::{Outside, Subject};
use crate::transport::Transport;
use crate::wall;
use crate::writes::{Makers, Writes};

/// The period of the relist: longer than any run, so that it hides nothing.
const RELIST_PERIOD: Duration = Duration::from_secs(60 * 86_400);

/// A process that runs.
struct Running {
    process: Arc<Process>,
    metrics: Arc<Metrics>,
    task: JoinHandle<()>,
}

/// The process of a replica, while it has one.
type Current = Arc<Mutex<Option<Running>>>;

/// One replica of the operator.
pub struct Replica {
    running: Current,
    kill: UnboundedSender<Duration>,
    keeper: JoinHandle<()>,
}

impl Replica {
    /// A replica that is kept running.
    pub fn start(starter: &Starter) -> Replica {
        let (kill, kills) = unbounded_channel();
        let running = Current::default();
        let keeper = Keeper {
            starter: starter.clone(),
            lives: 0,
            kill: kill.clone(),
            running: Arc::clone(&running),
        };
        Replica {
            running,
            kill,
            keeper: tokio::spawn(keeper.keep(kills)),
        }
    }

    /// Its metrics, while it runs.
    pub fn metrics(&self) -> Option<Arc<Metrics>> {
        let running = self.running();
        running.as_ref().map(|running| Arc::clone(&running.metrics))
    }

    /// Whether it ended by itself.
    pub fn has_ended(&self) -> bool {
        let running = self.running();
        running
            .as_ref()
            .is_some_and(|running| running.task.is_finished())
    }

    /// Its process is killed, and started again after a while.
    pub fn kill(&self, down: Duration) {
        self.with_process(Process::kill);
        // The receiver lives as long as the replica.
        let _ = self.kill.send(down);
    }

    pub fn with_process(&self, act: impl FnOnce(&Process)) {
        if let Some(running) = &*self.running() {
            act(&running.process);
        }
    }

    /// It is killed for good.
    pub async fn end(self) {
        self.keeper.abort();
        let killed = self.running().take();
        if let Some(killed) = killed {
            killed.end().await;
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.keeper.abort();
        if let Some(running) = self.running().take() {
            running.task.abort();
        }
    }
}

impl Running {
    /// Kills it, and waits until all of it is dropped.
    async fn end(self) {
        self.process.kill();
        self.task.abort();
        let _ = self.task.await;
    }
}

/// What the processes of a replica are started with.
#[derive(Clone)]
pub struct Starter {
    /// 0 is the first replica.
    pub replica: u64,
    pub schedule: Schedule,
    pub server: Server,
    pub faults: Faults,
    pub outside: Outside,
    pub makers: Makers,
    pub limits: Limits,
    pub concurrency: usize,
}

/// Starts the processes of a replica, one after the other.
struct Keeper {
    starter: Starter,
    lives: u64,
    kill: UnboundedSender<Duration>,
    running: Current,
}

impl Keeper {
    /// Keeps the operator running: one that was killed is started again after its time.
    async fn keep(mut self, mut kills: UnboundedReceiver<Duration>) {
        loop {
            let started = self.start();
            self.put(Some(started));
            let Some(down) = kills.recv().await else {
                return;
            };
            if let Some(killed) = self.put(None) {
                killed.end().await;
            }
            sleep(down).await;
        }
    }

    fn put(&self, running: Option<Running>) -> Option<Running> {
        let mut slot = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, running)
    }

    fn start(&mut self) -> Running {
        self.lives += 1;
        let Starter {
            replica,
            faults,
            schedule,
            outside,
            ..
        } = &self.starter;
        match replica {
            0 => faults.note(format_args!("start {}", self.lives)),
            _ => faults.note(format_args!("start {} of the second replica", self.lives)),
        }
        match schedule.subject {
            Subject::EdgeApp => self.start_with(EdgeApps),
            Subject::WebApp => self.start_with(outside.clone()),
        }
    }

    fn start_with<O: Operator>(&self, operator: O) -> Running {
        let process = Arc::new(Process::default());
        let metrics = Arc::new(Metrics::default());
        let of = &self.starter;
        let transport = Transport {
            server: of.server.clone(),
            faults: of.faults.clone(),
            process: Arc::clone(&process),
            writes: Arc::new(Writes {
                replica: of.replica,
                makers: Arc::clone(&of.makers),
                subject: of.schedule.subject,
                cleanups: Arc::clone(&of.outside.cleanups),
                shown: Mutex::default(),
            }),
            killed: self.kill.clone(),
        };
        let config = Config {
            resync: Some(RELIST_PERIOD),
            limits: of.limits,
            concurrency: of.concurrency,
            seed: of
                .schedule
                .seed
                .wrapping_mul(31)
                .wrapping_add(self.lives + (of.replica << 32)),
            now_s: wall::now_s,
            ..Config::default()
        };
        let operator = Arc::new(operator);
        let run = controller::run(
            Arc::clone(&operator),
            of.schedule.mode.cache(&operator),
            transport.client(),
            Arc::clone(&metrics),
            config,
            std::future::pending(),
        );
        let held = Arc::clone(&process);
        Running {
            process,
            metrics,
            task: tokio::spawn(async move { held.run(run).await }),
        }
    }
}
