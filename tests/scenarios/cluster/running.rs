//! An operator that runs as a task of this process.
//!
//! Guarantees: it ends at the latest when it is dropped.
//! Leaves to others: the server it works on (`simulated`).

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube::Client;
use tare_runtime::api::Operator;
use tare_runtime::cache::Mode;
use tare_runtime::controller;
use tare_runtime::controller::Config;
use tare_runtime::leader::{Candidate, Election, Lost};
use tare_runtime::metrics::{Build, Metrics};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::config;

/// An operator that runs in this process.
pub struct Running {
    /// Of the names of its metrics.
    prefix: String,
    pub metrics: Arc<Metrics>,
    /// The longest wait for one condition.
    pub timeout: Duration,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), Lost>>,
}

impl Running {
    /// Starts an operator; `timeout` is the longest wait for one condition.
    pub fn start<O: Operator>(
        operator: O,
        mode: Mode,
        timeout: Duration,
        client: Client,
        config: Config,
    ) -> Running {
        Self::begin(operator, mode, timeout, client, config, None)
    }

    /// Starts a replica that works while it holds the Lease of `candidate`.
    pub fn elect<O: Operator>(
        operator: O,
        mode: Mode,
        timeout: Duration,
        client: Client,
        candidate: Candidate,
    ) -> Running {
        Self::begin(operator, mode, timeout, client, config(), Some(candidate))
    }

    fn begin<O: Operator>(
        operator: O,
        mode: Mode,
        timeout: Duration,
        client: Client,
        config: Config,
        candidate: Option<Candidate>,
    ) -> Running {
        let metrics = Arc::new(Metrics::default());
        let election = candidate
            .map(|candidate| Election::new(client.clone(), Arc::clone(&metrics), candidate));
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = stopped.map(drop).shared();
        let operator = Arc::new(operator);
        let work = controller::run(
            Arc::clone(&operator),
            mode.cache(&operator),
            client,
            Arc::clone(&metrics),
            config,
            stopped.clone(),
        );
        let task = tokio::spawn(async {
            match election {
                Some(election) => election.lead(stopped, work).await,
                None => {
                    work.await;
                    Ok(())
                }
            }
        });
        Running {
            prefix: O::metrics_prefix(),
            metrics,
            timeout,
            stop: Some(stop),
            task,
        }
    }

    pub async fn until_ready(&self) {
        let deadline = tokio::time::Instant::now() + self.timeout;
        while self.metrics.readiness().is_err() {
            assert!(
                tokio::time::Instant::now() < deadline,
                "the operator is not ready: {:?}",
                self.metrics.readiness()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The metrics as the program prints them.
    pub fn rendered_metrics(&self) -> String {
        self.metrics.render(&Build {
            prefix: &self.prefix,
            version: "0.0.0",
            allocator: "none",
        })
    }

    /// Stops the operator and waits until it has ended.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        let ended = (&mut self.task).await.expect("the operator panicked");
        ended.expect("the operator ended in order");
    }

    /// Waits until it has ended because it lost the Lease; its words.
    pub async fn lost(&mut self) -> String {
        let ended = (&mut self.task).await.expect("the operator panicked");
        ended.expect_err("the Lease was lost").to_string()
    }

    /// Aborts the operator in the middle of its work, as SIGKILL does.
    pub async fn kill(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Whether the operator still runs.
    pub fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
