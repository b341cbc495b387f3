//! What else the machine does while a run is timed.
//!
//! Guarantees: this process and all that it started, ended children and orphans included, are not counted
//! as others; what cannot be read is `None`. The probes lie outside the time that is accounted for.
//! Leaves to others: whether the run is valid ([`MachineUse::disturbed_by`]).

use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tare_procstat::{CpuAccount, adopt_orphans};

use crate::record::machine_use::MachineUse;

/// The fixed piece of work: SHA-256 over as many bytes, from the processor's cache.
const PROBE_BYTES: usize = 24 << 20;
const BLOCK_BYTES: usize = 16 << 10;
/// The fastest counts: it is the one that nothing interrupted.
const PROBES: usize = 5;

/// Taken when a run begins; [`MachineWatch::end`] says what was.
#[derive(Debug)]
pub struct MachineWatch {
    probe_before_ms: f64,
    began_at: Instant,
    /// `None` where the kernel does not tell.
    begin: Option<CpuAccount>,
}

impl MachineWatch {
    /// Works for about 200 ms. Subjects and servers are started after it, or are idle.
    pub async fn begin() -> Self {
        // Where the kernel refuses, a daemon that outlives its parent counts as another program.
        let _ = adopt_orphans();
        let probe_before_ms = probe().await;
        Self {
            probe_before_ms,
            began_at: Instant::now(),
            begin: CpuAccount::take().ok(),
        }
    }

    /// Works for about 200 ms, after the reading. Processes that the run started are still there or were
    /// waited for.
    pub async fn end(self) -> MachineUse {
        let wall_s = self.began_at.elapsed().as_secs_f64();
        let end = CpuAccount::take().ok();
        let spent = end.zip(self.begin).map(|(end, begin)| end.since(&begin));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        MachineUse {
            wall_s: spent.map_or(wall_s, |spent| spent.wall_s),
            cores: spent.map_or(u32::try_from(cores).unwrap_or(1), |spent| spent.cores),
            outside_cpu_s: spent.map(|spent| spent.outside_s()),
            steal_s: spent.map(|spent| spent.steal_s),
            cpu_pressure_share: spent.and_then(|spent| Some(spent.waited_s? / spent.wall_s)),
            probe_before_ms: self.probe_before_ms,
            probe_after_ms: probe().await,
        }
    }
}

/// The fastest of some equal pieces of work, ms. On a thread of its own, so that timers and watches of
/// this process go on.
async fn probe() -> f64 {
    let work = || (0..PROBES).map(|_| work(PROBE_BYTES)).min();
    let fastest = tokio::task::spawn_blocking(work).await;
    // It cannot panic; a probe of no time makes the run invalid.
    fastest
        .ok()
        .flatten()
        .unwrap_or(Duration::ZERO)
        .as_secs_f64()
        * 1e3
}

/// How long it takes to hash so many bytes. Each block holds the sum so far, so none can be left out.
fn work(bytes: usize) -> Duration {
    let mut block = [0x5a_u8; BLOCK_BYTES];
    let begin = Instant::now();
    for _ in 0..bytes / BLOCK_BYTES {
        let sum = Sha256::digest(block);
        block[..sum.len()].copy_from_slice(&sum);
    }
    std::hint::black_box(block);
    begin.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_work_takes_longer() {
        let fastest = |bytes| (0..3).map(|_| work(bytes)).min();
        assert!(fastest(BLOCK_BYTES * 64) > fastest(BLOCK_BYTES * 8));
    }

    #[tokio::test]
    async fn a_watch_says_how_long_it_was_and_what_the_work_took() {
        let used = MachineWatch::begin().await.end().await;
        assert!(
            used.probe_before_ms > 0.0 && used.probe_after_ms > 0.0,
            "{used:?}"
        );
        assert!(used.wall_s > 0.0 && used.cores >= 1, "{used:?}");
        #[cfg(target_os = "linux")]
        assert!(
            used.outside_cpu_s.is_some() && used.steal_s.is_some(),
            "{used:?}"
        );
    }
}
