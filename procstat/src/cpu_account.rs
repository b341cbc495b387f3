//! Who spent the processors' time: this program with what it started, the kernel's own threads, others.
//!
//! Guarantees: processes that lived only between two readings are in the sums. Time that a hypervisor
//! took away is apart. What the kernel does not tell is `None`.
//! Leaves to others: how much is too much.
//!
//! # Method
//! The time of the whole machine comes from the kernel's totals, and what is ours is taken from it.
//! A sum over the processes that are alive would miss a compiler that starts and ends thousands.
//! Ours is this process with all its descendants: their own time, and that of the children they have
//! waited for. [`adopt_orphans`] keeps a daemon whose parent has ended among them.
//!
//! # Limits
//! In a process namespace of its own a program does not see the kernel's threads; their time then counts
//! as other programs'. A process of ours that ended without being waited for (its parent ignores
//! `SIGCHLD`) counts as others' too.

#[cfg(target_os = "linux")]
mod read;

use std::collections::HashMap;
use std::time::Instant;

use crate::error::Error;

/// Totals since the machine started, at one moment.
#[derive(Debug, Clone)]
pub struct CpuAccount {
    at: Instant,
    cores: u32,
    /// In samples of one tick.
    busy_s: f64,
    /// The same, counted in nanoseconds, where there is such a counter.
    counted_s: Option<f64>,
    steal_s: f64,
    /// Time in which some task waited for a processor.
    waited_s: Option<f64>,
    own_s: f64,
    /// By id and start, which no two threads have in common; `None` where they cannot be seen.
    kernel_threads: Option<HashMap<(i32, u64), f64>>,
}

/// CPU time between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuSpent {
    pub wall_s: f64,
    /// Processors that are online.
    pub cores: u32,
    /// Of the whole machine.
    pub busy_s: f64,
    /// Of this process and all that it started.
    pub own_s: f64,
    /// Of the kernel's threads; `None` where they cannot be seen.
    pub kernel_s: Option<f64>,
    /// Taken away by the hypervisor; not in `busy_s`.
    pub steal_s: f64,
    /// In which some task waited for a processor; `None` without `/proc/pressure`.
    pub waited_s: Option<f64>,
}

impl CpuSpent {
    /// What other programs used.
    pub fn outside_s(&self) -> f64 {
        (self.busy_s - self.own_s - self.kernel_s.unwrap_or(0.0)).max(0.0)
    }
}

impl CpuAccount {
    /// Reads all of `/proc`: some milliseconds.
    ///
    /// # Errors
    /// `Read` or `Field` when the kernel does not tell, `Unsupported` elsewhere than on Linux.
    pub fn take() -> Result<Self, Error> {
        #[cfg(target_os = "linux")]
        return read::account();
        #[cfg(not(target_os = "linux"))]
        Err(Error::Unsupported("the CPU time of the machine"))
    }

    /// What was spent since an earlier reading.
    pub fn since(&self, earlier: &Self) -> CpuSpent {
        let threads = self
            .kernel_threads
            .as_ref()
            .zip(earlier.kernel_threads.as_ref());
        CpuSpent {
            wall_s: (self.at - earlier.at).as_secs_f64(),
            cores: self.cores,
            busy_s: match (self.counted_s, earlier.counted_s) {
                (Some(now), Some(then)) => now - then,
                _ => self.busy_s - earlier.busy_s,
            },
            own_s: self.own_s - earlier.own_s,
            kernel_s: threads.map(|(now, then)| {
                let before = |thread| then.get(thread).copied().unwrap_or(0.0);
                now.iter().map(|(thread, s)| s - before(thread)).sum()
            }),
            steal_s: self.steal_s - earlier.steal_s,
            waited_s: self
                .waited_s
                .zip(earlier.waited_s)
                .map(|(now, then)| now - then),
        }
    }
}

/// From now on a process whose parent has ended becomes a child of this one, not of process 1
/// (`PR_SET_CHILD_SUBREAPER`). When such a process ends it stays a zombie until this process ends.
///
/// # Errors
/// `Adopt` when the kernel refuses, `Unsupported` elsewhere than on Linux.
pub fn adopt_orphans() -> Result<(), Error> {
    #[cfg(target_os = "linux")]
    // Any process id says yes.
    return rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|errno| Error::Adopt(errno.into()));
    #[cfg(not(target_os = "linux"))]
    Err(Error::Unsupported("orphaned processes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_others() {
        let spent = CpuSpent {
            wall_s: 10.0,
            cores: 2,
            busy_s: 12.0,
            own_s: 11.0,
            kernel_s: Some(0.25),
            steal_s: 0.0,
            waited_s: None,
        };
        assert_eq!(spent.outside_s(), 0.75);
        // Ticks and nanoseconds differ a little: no time is less than none.
        let rounded = CpuSpent {
            own_s: 12.5,
            ..spent
        };
        assert_eq!(rounded.outside_s(), 0.0);
    }
}
