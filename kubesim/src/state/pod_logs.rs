//! The logs of containers, with the lines that a test gives.
//!
//! Guarantees: what is kept of a container is bounded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::model::record::Uid;

/// Beyond this size the oldest lines are dropped: where the kubelet begins a new file (`containerLogMaxSize`).
const KEPT_BYTES: usize = 10 * 1024 * 1024;

/// What containers have written.
#[derive(Default)]
pub(crate) struct PodLogs {
    containers: Mutex<HashMap<(Uid, String), Log>>,
    pub(crate) written: watch::Sender<()>,
}

#[derive(Default)]
pub(crate) struct Log {
    lines: VecDeque<String>,
    bytes: usize,
    /// How many lines were dropped.
    dropped: u64,
}

impl Log {
    pub(crate) fn end(&self) -> u64 {
        self.dropped + self.lines.len() as u64
    }

    pub(crate) fn append(&mut self, line: &str) {
        self.lines.push_back(format!("{line}\n"));
        self.bytes += line.len() + 1;
        while self.bytes > KEPT_BYTES
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len();
            self.dropped += 1;
        }
    }

    pub(crate) fn text_from(&self, position: u64) -> String {
        let skipped = position.saturating_sub(self.dropped);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        self.lines
            .iter()
            .skip(skipped)
            .map(String::as_str)
            .collect()
    }
}

impl PodLogs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<(Uid, String), Log>> {
        self.containers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
