//! What the metrics say of queue and cache as they are now.

use std::sync::atomic::Ordering::Relaxed;

use crate::metrics::Metrics;
use crate::queue::Queue;

/// Sets the gauges.
pub(crate) fn set(metrics: &Metrics, queue: &Queue, cached_owners: usize) {
    let count = |value: usize| value as u64;
    metrics.queue_depth.store(count(queue.depth()), Relaxed);
    metrics.in_flight.store(count(queue.in_flight()), Relaxed);
    metrics.entries.store(count(queue.len()), Relaxed);
    metrics.cached_owners.store(count(cached_owners), Relaxed);
    metrics.spec_bytes.store(count(queue.spec_bytes()), Relaxed);
}
