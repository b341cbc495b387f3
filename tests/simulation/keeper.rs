//! Keeps an operator running: one that was killed is started again after its time.
//!
//! Guarantees: one operator at most; what it is started with follows from the schedule and from how often it was
//! started. Leaves to others: what its requests meet (`transport`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kubesim::Server;
use tare::edgeapp::EdgeApps;
use tare_runtime::api::Operator;
use tare_runtime::controller;
use tare_runtime::controller::{Config, Limits};
use tare_runtime::metrics::Metrics;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::faults::Faults;
use crate::process::Process;
use crate::schedule::Schedule;
use crate::subject::{Outside, Subject};
use crate::transport::Transport;
use crate::writes::Writes;

/// The period of the relist: longer than any run, so that it hides nothing.
const RELIST_PERIOD: Duration = Duration::from_secs(60 * 86_400);

/// The operator that runs, if one does.
pub struct Running {
    pub process: Arc<Process>,
    pub metrics: Arc<Metrics>,
    pub task: JoinHandle<()>,
}

/// Starts operators.
pub struct Starter {
    pub schedule: Schedule,
    pub server: Server,
    pub faults: Faults,
    pub outside: Outside,
    pub limits: Limits,
    pub concurrency: usize,
    pub lives: u64,
    pub kill: UnboundedSender<Duration>,
    pub running: Arc<Mutex<Option<Running>>>,
}

impl Starter {
    /// Keeps an operator running: one that was killed is started again after its time.
    pub async fn keep(mut self, mut kills: UnboundedReceiver<Duration>) {
        loop {
            let started = self.start();
            self.put(Some(started));
            let Some(down) = kills.recv().await else {
                return;
            };
            if let Some(killed) = self.put(None) {
                killed.process.kill();
                killed.task.abort();
                // Wait until all of it is dropped.
                let _ = killed.task.await;
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
        self.faults.note(format_args!("start {}", self.lives));
        match self.schedule.subject {
            Subject::EdgeApp => self.start_with(EdgeApps),
            Subject::WebApp => self.start_with(self.outside.clone()),
        }
    }

    fn start_with<O: Operator>(&self, operator: O) -> Running {
        let process = Arc::new(Process::default());
        let metrics = Arc::new(Metrics::default());
        let transport = Transport {
            server: self.server.clone(),
            faults: self.faults.clone(),
            process: Arc::clone(&process),
            writes: Arc::new(Writes {
                subject: self.schedule.subject,
                cleanups: Arc::clone(&self.outside.cleanups),
            }),
            killed: self.kill.clone(),
        };
        let config = Config {
            resync: Some(RELIST_PERIOD),
            limits: self.limits,
            concurrency: self.concurrency,
            seed: self.schedule.seed.wrapping_mul(31).wrapping_add(self.lives),
            ..Config::default()
        };
        let operator = Arc::new(operator);
        let run = controller::run(
            Arc::clone(&operator),
            self.schedule.mode.cache(&operator),
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
