//! One process of the control plane, from its start until it answers.
//!
//! Guarantees: ends at once when the process ends, and by a deadline otherwise; the error has the
//! last lines of the log.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Error;
use tare_procstat::process::{Process, Spec};

const POLL_EVERY: Duration = Duration::from_millis(20);
const TAIL_LINES: usize = 3;

/// One process of the control plane.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) name: &'static str,
    pub(crate) process: Process,
    pub(crate) log: PathBuf,
}

impl Component {
    pub(crate) async fn spawn(name: &'static str, spec: Spec) -> Result<Component, Error> {
        let log = spec.log.clone();
        let process = Process::spawn(spec).await?;
        Ok(Component { name, process, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Polls until the answer is `Ok`; the last refusal is part of the error.
    pub(crate) async fn until<F, T>(
        &mut self,
        within: Duration,
        mut poll: impl FnMut() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, String>>,
    {
        let deadline = Instant::now() + within;
        loop {
            let polled = tokio::time::timeout_at(deadline, poll()).await;
            let answer = match polled {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(refusal)) => refusal,
                Err(_) => "no answer".to_owned(),
            };
            if let Some(status) = self.process.exited()? {
                return Err(Error::Ended {
                    component: self.name,
                    status,
                    log_tail: self.log_tail(),
                    log: self.log.clone(),
                });
            }
            if Instant::now() >= deadline {
                return Err(Error::NotReady {
                    component: self.name,
                    waited: within,
                    answer,
                    log_tail: self.log_tail(),
                    log: self.log.clone(),
                });
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }

    fn log_tail(&self) -> String {
        let lines = self.process.last_log_lines(TAIL_LINES);
        if lines.is_empty() {
            return "its log is empty".to_owned();
        }
        lines.join(" | ")
    }
}
