//! How a controller runs.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use crate::model;
use crate::queue::Limits;

/// How a controller runs.
#[derive(Debug, Clone)]
pub struct Config {
    /// Only these namespaces; all of them where none is named. A child in another one is an error.
    pub namespaces: Vec<String>,
    /// Only owners with these labels.
    pub selector: Option<String>,
    /// Owners reconciled at once.
    pub concurrency: usize,
    /// Period of the full relist, jittered by a tenth. `None`: what the operator declares
    /// ([`DRIFT_PERIOD`](crate::api::Operator::DRIFT_PERIOD)), or else ten hours.
    pub resync: Option<Duration>,
    /// How long one reconcile may take.
    pub deadline: Duration,
    /// How long one request may take.
    pub request_deadline: Duration,
    /// How long a shutdown waits for reconciles in flight.
    pub drain: Duration,
    /// Bounds of the queue.
    pub limits: Limits,
    /// Idle owners at most that are compared again at a time of their own, about 150 bytes each.
    pub requeues: usize,
    /// Seed of the jitter.
    pub seed: u64,
    /// Called a few seconds after work, to give freed memory back to the kernel.
    pub trim: fn(),
    /// Told how long, in ms, the thread may sleep before it waits for its sockets, so that what comes meanwhile
    /// costs one wake-up. 0 while workers are free. Nothing depends on it.
    pub pause: fn(u64),
    /// Seconds since 1970, for the times in what is written. Nothing else depends on it.
    pub now_s: fn() -> u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            selector: None,
            concurrency: 16,
            resync: None,
            deadline: Duration::from_secs(30),
            request_deadline: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            limits: Limits::default(),
            requeues: 1_000,
            seed: random(),
            trim: || {},
            pause: |_| {},
            now_s: model::now_s,
        }
    }
}

/// From the operating system, by way of the keys of a hash map: a process in a container is always number 1.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_replicas_do_not_jitter_alike() {
        let seeds: Vec<u64> = (0..4).map(|_| Config::default().seed).collect();
        assert!(seeds.windows(2).all(|pair| pair[0] != pair[1]), "{seeds:?}");
    }
}
