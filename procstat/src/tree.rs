//! A process and all that it has started, measured as one.
//!
//! Guarantees: what a wrapper (`sh -c`, `uv run`, `npm`, a launcher of a JVM) starts counts, in whatever process group it
//! is. In a cgroup of its own these are the processes of the cgroup, so that one whose parent has ended counts as well;
//! without one they are the process and what descends from it. A process that ends while it is read is left out.
//! Leaves to others: ending them.

use std::path::PathBuf;

use crate::error::Error;
use crate::memory::{Memory, Resident};
use crate::memory_cgroup::{MemoryCgroup, members};

/// A process and all that it has started.
#[derive(Debug, Clone)]
pub struct Tree {
    pid: u32,
    /// The folder of its own cgroup.
    cgroup: Option<PathBuf>,
}

impl Tree {
    /// Of the process `pid`, which was started in `cgroup` if there is one.
    pub fn of(pid: u32, cgroup: Option<&MemoryCgroup>) -> Self {
        Self {
            pid,
            cgroup: cgroup.map(|cgroup| cgroup.path().to_owned()),
        }
    }

    /// All that are alive, the first one first.
    pub fn pids(&self) -> Vec<u32> {
        let Some(members) = self.cgroup.as_deref().and_then(members) else {
            let mut pids = vec![self.pid];
            let mut at = 0;
            while let Some(pid) = pids.get(at) {
                let more = children(*pid);
                pids.extend(more);
                at += 1;
            }
            return pids;
        };
        let others = members.into_iter().filter(|pid| *pid != self.pid);
        std::iter::once(self.pid).chain(others).collect()
    }

    /// Resident memory of all. Pages that several of them map count once in `pss_bytes` alone.
    ///
    /// # Errors
    /// As for [`crate::memory()`] of the first one, if none of the others can be read either.
    pub fn memory(&self) -> Result<Memory, Error> {
        self.sum(crate::memory::memory, |a, b| Memory {
            rss_bytes: a.rss_bytes + b.rss_bytes,
            pss_bytes: a.pss_bytes + b.pss_bytes,
            anon_bytes: a.anon_bytes + b.anon_bytes,
        })
    }

    /// The same by the kernel's running counters.
    ///
    /// # Errors
    /// As for [`Self::memory`].
    pub fn resident(&self) -> Result<Resident, Error> {
        self.sum(crate::memory::resident, |a, b| Resident {
            rss_bytes: a.rss_bytes + b.rss_bytes,
            anon_bytes: a.anon_bytes.zip(b.anon_bytes).map(|(a, b)| a + b),
        })
    }

    /// The sum of the highest RSS of each: they need not have been that large at the same time.
    ///
    /// # Errors
    /// As for [`Self::memory`].
    pub fn peak_bytes(&self) -> Result<u64, Error> {
        self.sum(crate::memory::peak_bytes, |a, b| a + b)
    }

    /// Starts all peaks anew.
    ///
    /// # Errors
    /// As for [`crate::reset_peak`] of the first one, if none of the others can be written either.
    pub fn reset_peak(&self) -> Result<(), Error> {
        self.sum(crate::memory::reset_peak, |(), ()| ())
    }

    /// CPU of all, and of those that have ended and were waited for by one of them.
    ///
    /// # Errors
    /// As for [`crate::cpu_seconds`] of the first one, if none of the others can be read either.
    pub fn cpu_seconds(&self) -> Result<f64, Error> {
        let spent = |pid| Ok(crate::cpu::cpu_seconds(pid)? + crate::cpu::waited_for_seconds(pid));
        self.sum(spent, |a, b| a + b)
    }

    /// Context switches of their threads that are alive.
    ///
    /// # Errors
    /// As for [`crate::context_switches`] of the first one, if none of the others can be read either.
    pub fn context_switches(&self) -> Result<u64, Error> {
        self.sum(crate::cpu::context_switches, |a, b| a + b)
    }

    fn sum<T>(
        &self,
        read: impl Fn(u32) -> Result<T, Error>,
        add: impl Fn(T, T) -> T,
    ) -> Result<T, Error> {
        let mut first_error = None;
        let mut sum = None;
        for pid in self.pids() {
            match (read(pid), sum.take()) {
                (Ok(read), None) => sum = Some(read),
                (Ok(read), Some(before)) => sum = Some(add(before, read)),
                (Err(error), before) => {
                    sum = before;
                    first_error.get_or_insert(error);
                }
            }
        }
        match (sum, first_error) {
            (Some(sum), _) => Ok(sum),
            (None, Some(error)) => Err(error),
            // The first one is always among them.
            (None, None) => Err(Error::Unsupported("a process tree")),
        }
    }
}

/// What the process has started itself and is alive, or was not waited for.
#[cfg(target_os = "linux")]
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(not(target_os = "linux"))]
fn children(_: u32) -> Vec<u32> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell that starts a process that holds 64 MiB and burns CPU, and waits for it.
    #[test]
    fn what_a_wrapper_starts_is_measured_with_it() {
        let worker = "head -c 64M /dev/zero | tail -c 64M | (sleep 0.2; head -c 1 >/dev/null; echo held; sleep 60)";
        let mut wrapper = Command::new("sh")
            .args(["-c", &format!("sh -c '{worker}'; true")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = wrapper.stdout.take().unwrap();
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        let alone = crate::memory(wrapper.id()).unwrap();
        let tree = Tree::of(wrapper.id(), None);
        let (pids, all) = (tree.pids(), tree.memory().unwrap());
        let peak = tree.peak_bytes().unwrap();
        let resident = tree.resident().unwrap();
        let cpu_s = tree.cpu_seconds().unwrap();
        for pid in pids.iter().rev() {
            let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        wrapper.wait().unwrap();
        assert!(pids.len() >= 3 && pids[0] == wrapper.id(), "{pids:?}");
        assert!(alone.rss_bytes < 8 << 20, "{alone:?}");
        // `tail` keeps what it has read until its reader takes it.
        assert!(all.anon_bytes > 60 << 20, "{all:?}");
        assert!(all.rss_bytes >= all.pss_bytes && resident.rss_bytes > 60 << 20);
        assert!(peak >= all.anon_bytes && cpu_s > 0.0);
        assert!(tree.memory().is_err(), "all of them are gone");
    }

    #[test]
    fn the_cpu_of_a_child_that_has_ended_stays_in_the_sum() {
        let tree = Tree::of(std::process::id(), None);
        let before = tree.cpu_seconds().unwrap();
        let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(
            Command::new("sh")
                .args(["-c", burn])
                .status()
                .unwrap()
                .success()
        );
        let spent = tree.cpu_seconds().unwrap() - before;
        assert!(spent > 0.02, "{spent} s");
    }
}
