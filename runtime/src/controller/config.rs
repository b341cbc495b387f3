//! How an operator is run: what its command line sets, and what it leaves alone.

use std::time::Duration;

use crate::queue::Limits;

/// How an operator is run.
#[derive(Debug, Clone)]
pub struct Config {
    /// Only this namespace; all of them without.
    pub namespace: Option<String>,
    /// Only owners with these labels.
    pub selector: Option<String>,
    /// Owners worked on at once.
    pub concurrency: usize,
    /// Period of the full join, jittered by a tenth. `None`: 600 s, or 10 ms for each object that one reads,
    /// whichever is longer.
    pub resync: Option<Duration>,
    /// Returns free memory to the kernel; called when the work of a burst is done.
    pub trim: fn(),
    /// How long one reconcile may take.
    pub deadline: Duration,
    /// How long one request may take.
    pub request_deadline: Duration,
    /// How long work in flight is given at shutdown.
    pub drain: Duration,
    /// Bounds of the queue.
    pub limits: Limits,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespace: None,
            selector: None,
            concurrency: 16,
            resync: None,
            trim: || (),
            deadline: Duration::from_secs(30),
            request_deadline: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            limits: Limits::default(),
            seed: u64::from(std::process::id()),
        }
    }
}
