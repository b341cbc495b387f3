//! The bounds of the queue, and how long a failing owner waits.
//!
//! Guarantees: pure; randomness comes in as the state of a generator.

/// The bounds and delays of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Entries at most, in any state.
    pub entries: usize,
    /// Bytes of specs that wait for a worker at most.
    pub spec_bytes: usize,
    /// Bytes of specs at most of owners that wait for anything else.
    pub waiting_spec_bytes: usize,
    /// Bytes at most of large owners that workers have at once; one is let in always.
    pub large_bytes: usize,
    /// First delay after a failure, ms.
    pub backoff_base_ms: u64,
    /// Longest delay after a failure, ms.
    pub backoff_max_ms: u64,
    /// How long events of children of an idle owner are merged, ms.
    pub merge_ms: u64,
    /// How long a status that is not final yields to the work of others before it waits for a worker, ms.
    pub yield_ms: u64,
    /// How long an owner that is not ready is kept, ms: its progress deadline.
    pub progress_ms: u64,
    /// How long an owner is kept at most for a watch to show our last write, ms.
    pub confirm_ms: u64,
}

impl Default for Limits {
    /// Measured with 5,000 objects that never become ready, which fill every bound: 640 entries and 192 KiB of
    /// specs that wait for their children are 0.8 to 0.9 MB above what healthy ones leave (896 and 256: 1.0 to
    /// 1.1; 3,584: 2.6), and a burst costs no more reads. An owner that waits without its spec costs one read. 256 KiB of
    /// specs that wait for a worker: 16 workers with 10 each of 1.5 KB behind them.
    /// A second of yielding, and then the last place of those that wait for a worker: in a burst that is another second
    /// or two, in which pods that take two are ready (docs/design-notes/writes.md has the figures), and no time where a worker is
    /// free. More room would save more writes, at a higher peak where the server answers at once.
    /// 600 s is the default `progressDeadlineSeconds` of a Deployment. Back-off as client-go's
    /// default limiter, which starts lower (5 ms) and ends at 1000 s; at the edge the server is slow.
    fn default() -> Self {
        Self {
            entries: 640,
            spec_bytes: 256 << 10,
            waiting_spec_bytes: 192 << 10,
            large_bytes: 256 << 10,
            backoff_base_ms: 500,
            backoff_max_ms: 300_000,
            merge_ms: 1_000,
            yield_ms: 1_000,
            progress_ms: 600_000,
            confirm_ms: 60_000,
        }
    }
}

impl Limits {
    /// New owners that wait for a worker at most: half of the entries; the rest is for those that
    /// wait for their children.
    pub(crate) fn queued(&self) -> usize {
        (self.entries / 2).max(1)
    }
}

/// Exponential back-off with jitter: between half of the step and the whole of it, or, where the
/// failure or the server named a delay, between that delay and one and a half of it.
pub(crate) fn backoff_ms(
    limits: &Limits,
    attempts: u8,
    base_ms: Option<u64>,
    random: &mut u64,
) -> u64 {
    let base = base_ms.unwrap_or(limits.backoff_base_ms).max(1);
    let step = base.saturating_mul(1 << u32::from(attempts.saturating_sub(1)).min(20));
    let step = step.min(limits.backoff_max_ms.max(base));
    // xorshift64 (Marsaglia 2003): good enough to spread retries.
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let least = match base_ms {
        Some(_) => step,
        None => step / 2,
    };
    least + *random % (step / 2 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_was_named_is_not_undercut_and_grows() {
        let (limits, mut random) = (Limits::default(), 7);
        for (attempts, step_ms) in [(1, 10_000), (2, 20_000), (3, 40_000), (20, 300_000)] {
            for _ in 0..100 {
                let ms = backoff_ms(&limits, attempts, Some(10_000), &mut random);
                assert!(
                    (step_ms..=step_ms * 3 / 2).contains(&ms),
                    "{attempts}: {ms} ms"
                );
            }
        }
        // The server may ask for more than the longest delay of our own.
        let ms = backoff_ms(&limits, 1, Some(600_000), &mut random);
        assert!(ms >= 600_000, "{ms} ms");
    }
}
