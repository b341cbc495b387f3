//! The readings of Linux: `/proc/stat`, `/proc/PID/stat`, and cgroup v1 where it counts more exactly.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use procfs::process::Stat;
use procfs::{Current, CurrentSI};

use crate::cpu_account::CpuAccount;
use crate::error::Error;

/// The thread of the kernel that starts all others of it.
const KTHREADD: i32 = 2;
/// `PF_KTHREAD` of the kernel's `sched.h`, in the flags of a process.
const PF_KTHREAD: u32 = 0x0020_0000;
/// How far two ways to count the same may be apart since the machine started.
const SAME_MACHINE: f64 = 0.1;

pub(crate) fn account() -> Result<CpuAccount, Error> {
    let failed = |error| Error::of_procfs("/proc/stat".into(), "cpu", error);
    let totals = procfs::KernelStats::current().map_err(failed)?;
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let total = &totals.total;
    let ticks = total.user
        + total.nice
        + total.system
        + total.irq.unwrap_or(0)
        + total.softirq.unwrap_or(0);
    let busy_s = ticks as f64 / ticks_per_s;
    let processes = processes()?;
    Ok(CpuAccount {
        at: Instant::now(),
        cores: u32::try_from(totals.cpu_time.len()).unwrap_or(u32::MAX),
        busy_s,
        counted_s: counted_s().filter(|s| is_same(*s, busy_s)),
        steal_s: total.steal.unwrap_or(0) as f64 / ticks_per_s,
        waited_s: procfs::CpuPressure::current()
            .ok()
            .map(|pressure| pressure.some.total as f64 / 1e6),
        own_s: own_s(&processes),
        kernel_threads: kernel_threads(&processes),
    })
}

/// One process or thread of the kernel.
struct Entry {
    stat: Stat,
    /// Its own time and that of its ended children.
    spent_s: f64,
}

fn processes() -> Result<Vec<Entry>, Error> {
    let failed = |error| Error::of_procfs("/proc".into(), "", error);
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let all = procfs::process::all_processes().map_err(failed)?;
    // One that ended since it was listed has left its time with its parent.
    let stats = all.filter_map(|process| process.and_then(|process| process.stat()).ok());
    Ok(stats
        .map(|stat| {
            let ticks = (stat.utime + stat.stime) as f64 / ticks_per_s;
            let pid = u32::try_from(stat.pid).unwrap_or(u32::MAX);
            // The clock counts nanoseconds, the file ticks.
            let own_s = crate::cpu::cpu_seconds(pid).unwrap_or(ticks);
            let children = (stat.cutime + stat.cstime) as f64 / ticks_per_s;
            Entry {
                spent_s: own_s + children,
                stat,
            }
        })
        .collect())
}

/// The time of this process and its descendants.
fn own_s(processes: &[Entry]) -> f64 {
    let parents = processes
        .iter()
        .map(|entry| (entry.stat.pid, entry.stat.ppid));
    let own = descendants(rustix::process::getpid().as_raw_nonzero().get(), parents);
    let ours = processes
        .iter()
        .filter(|entry| own.contains(&entry.stat.pid));
    ours.map(|entry| entry.spent_s).sum()
}

/// A process and all below it; `parents` pairs each process with its parent.
fn descendants(root: i32, parents: impl Iterator<Item = (i32, i32)>) -> HashSet<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, parent) in parents {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = HashSet::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        if found.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

fn kernel_threads(processes: &[Entry]) -> Option<HashMap<(i32, u64), f64>> {
    let is_kernels = |entry: &&Entry| entry.stat.flags & PF_KTHREAD != 0;
    let threads: HashMap<_, _> = processes
        .iter()
        .filter(is_kernels)
        .map(|entry| ((entry.stat.pid, entry.stat.starttime), entry.spent_s))
        .collect();
    threads
        .keys()
        .any(|(pid, _)| *pid == KTHREADD)
        .then_some(threads)
}

/// The time of all tasks, counted in nanoseconds, where cgroup v1 has the controller for it. The totals of
/// `/proc/stat` are samples: each tick goes to whatever runs at that moment.
fn counted_s() -> Option<f64> {
    let usage = std::fs::read_to_string("/sys/fs/cgroup/cpuacct/cpuacct.usage").ok()?;
    Some(usage.trim().parse::<u64>().ok()? as f64 / 1e9)
}

/// Whether both are the whole machine's: in a container the cgroup may be the container's own.
fn is_same(counted_s: f64, sampled_s: f64) -> bool {
    (counted_s - sampled_s).abs() <= SAME_MACHINE * sampled_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_children_of_children_and_no_others() {
        let parents = [
            (1, 0),
            (2, 0),
            (10, 1),
            (11, 10),
            (12, 11),
            (20, 1),
            (21, 20),
        ];
        let own = descendants(10, parents.into_iter());
        assert_eq!(own, HashSet::from([10, 11, 12]));
    }

    #[test]
    fn a_cgroup_of_the_container_is_not_the_machine() {
        assert!(is_same(1_020.0, 1_000.0));
        assert!(!is_same(40.0, 1_000.0));
    }
}
