//! The operator of a scenario: a task in this process on a simulated cluster, a process on a real one.
//!
//! Guarantees: the same verbs for both; it ends at the latest with its scenario.
//! Leaves to others: how each of them is started and asked (`simulated`, `process`).

use std::time::Duration;

use tare::edgeapp::EdgeApps;
use tare_runtime::controller::Config;
use tokio::time::Instant;

use super::process::OperatorProcess;
use super::simulated::{Running, config};
use super::{Cluster, Kind, TIMEOUT};

/// An operator that has been started.
pub enum Operator {
    InProcess(Running),
    Process(OperatorProcess),
}

impl Cluster {
    /// Starts the operator for EdgeApps and waits until it is ready.
    pub async fn operate(&self) -> Operator {
        let operator = self.start_operator().await;
        operator.until_ready().await;
        operator
    }

    /// Starts the operator for EdgeApps; it may never be ready.
    pub async fn start_operator(&self) -> Operator {
        match &self.kind {
            Kind::Simulated(_) => self.operate_as("tare").await,
            Kind::Real(real) => self.operate_as(&real.account).await,
        }
    }

    /// The same under another user or service account.
    pub async fn operate_as(&self, user: &str) -> Operator {
        match &self.kind {
            Kind::Simulated(simulated) => {
                // Two operators at once do not draw the same random numbers.
                let seed = user.bytes().fold(7, |sum, byte| sum + u64::from(byte));
                let config = Config { seed, ..config() };
                let client = simulated.server.client(user);
                Operator::InProcess(simulated.operate_with(EdgeApps, client, config))
            }
            Kind::Real(_) => Operator::Process(self.start_process(user, &[]).await),
        }
    }

    /// Starts the program for EdgeApps with these arguments besides, on a real cluster.
    pub async fn start_process(&self, user: &str, own_args: &[&str]) -> OperatorProcess {
        let program = env!("CARGO_BIN_EXE_tare").into();
        OperatorProcess::start(self, program, user, own_args).await
    }
}

impl Operator {
    pub async fn until_ready(&self) {
        match self {
            Operator::InProcess(running) => running.until_ready().await,
            Operator::Process(process) => process.until_ready().await,
        }
    }

    /// Waits until it is not ready, and the reason contains `because`.
    pub async fn until_not_ready(&self, because: &str) {
        let what = format!("it is not ready: {because}");
        match self {
            Operator::InProcess(running) => {
                let is_told = || {
                    running
                        .metrics
                        .readiness()
                        .is_err_and(|why| why.contains(because))
                };
                poll_until(&what, running.timeout, async || is_told()).await;
            }
            Operator::Process(process) => {
                let is_told =
                    |answer: &str| answer.starts_with("HTTP/1.1 503") && answer.contains(because);
                process.until_answer("/readyz", &what, is_told).await;
            }
        }
    }

    /// Its metrics as Prometheus text.
    pub async fn metrics(&self) -> String {
        match self {
            Operator::InProcess(running) => running.rendered_metrics(),
            Operator::Process(process) => process.metrics().await,
        }
    }

    /// The value of one of its metrics, with the labels as they are printed.
    pub async fn figure(&self, name: &str) -> f64 {
        let metrics = self.metrics().await;
        figure(&metrics, name).unwrap_or_else(|| panic!("{name} is not in {metrics}"))
    }

    pub async fn until_figure(&self, name: &str, holds: impl Fn(f64) -> bool) {
        let timeout = match self {
            Operator::InProcess(running) => running.timeout,
            Operator::Process(_) => TIMEOUT,
        };
        poll_until(&format!("{name} is as wanted"), timeout, async || {
            figure(&self.metrics().await, name).is_some_and(&holds)
        })
        .await;
    }

    /// Fails the scenario if it ended by itself.
    pub fn assert_alive(&mut self) {
        match self {
            Operator::InProcess(running) => assert!(running.is_alive(), "the operator ended"),
            Operator::Process(process) => process.assert_alive(),
        }
    }

    /// Ends it as a cluster does, with SIGTERM; fails if it does not end in time or with an error.
    pub async fn terminate(self) {
        match self {
            Operator::InProcess(running) => running.stop().await,
            Operator::Process(process) => drop(process.terminate().await),
        }
    }

    /// Ends it in the middle of its work, with SIGKILL.
    pub async fn kill(self) {
        match self {
            Operator::InProcess(running) => running.kill().await,
            Operator::Process(process) => process.kill(),
        }
    }

    /// What only a process can do. For scenarios that are listed for real clusters alone.
    pub fn as_process(&self) -> &OperatorProcess {
        match self {
            Operator::InProcess(_) => panic!("this scenario needs an operator that is a process"),
            Operator::Process(process) => process,
        }
    }
}

fn figure(metrics: &str, name: &str) -> Option<f64> {
    let mut lines = metrics.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    rest?.trim().parse().ok()
}

async fn poll_until(what: &str, timeout: Duration, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + timeout;
    while !holds().await {
        assert!(
            Instant::now() < deadline,
            "timeout while waiting until {what}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
