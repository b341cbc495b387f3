//! A memory cgroup for one process and its children: memory as a node accounts for it.
//!
//! Guarantees: a cgroup is removed when it is dropped, and what is still in it is killed; one that a killed program left
//! behind is removed by the next program that makes one. Nothing else in the hierarchy is changed, except that a cgroup of
//! our own may be told to account for memory and CPU.
//! Leaves to others: starting a process in it ([`crate::process::Process::spawn_in`]).
//!
//! # What is in it
//! Pages of the processes, their sockets and what the kernel holds for them. A page of a file is charged to
//! the cgroup whose process read it first, and stays charged there: a program that somebody else has read
//! before is not in its own cgroup.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;

mod cpu;
mod place;
mod version;

use cpu::CpuCgroup;
use place::Place;
use version::Version;

/// Begins the name of every cgroup of ours; the process that made it and a number follow.
const PREFIX: &str = "tare-";
/// Cgroups of this process so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A cgroup is busy until its last process was reaped.
const EMPTIES: [Duration; 4] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(200),
];

/// Memory of a cgroup at one moment.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CgroupMemory {
    /// What the kubelet compares with limits and evicts by: usage without the file pages that are not in
    /// use (`container_memory_working_set_bytes` of cAdvisor, `setMemoryStats` in
    /// `container/libcontainer/handler.go`).
    pub working_set_bytes: u64,
    /// Anonymous memory that is mapped: that of all its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anon_bytes: Option<u64>,
    /// Highest usage, file pages included: at the limit of a container its processes are killed.
    pub peak_bytes: Option<u64>,
    /// Of the kernel, for these processes: page tables, stacks, open files.
    pub kernel_bytes: Option<u64>,
    /// In buffers of sockets.
    pub socket_bytes: Option<u64>,
}

/// A cgroup of our own.
#[derive(Debug)]
pub struct MemoryCgroup {
    dir: PathBuf,
    version: Version,
    /// Where a peak was reset in cgroup v2: only this open file says the peak since then.
    peak: Option<File>,
    /// Where CPU is limited in cgroup v1.
    cpu: Option<CpuCgroup>,
}

impl MemoryCgroup {
    /// Makes one beside or below that of this process.
    ///
    /// # Errors
    /// `NoCgroup` says why this machine or this user cannot have one.
    pub fn create() -> Result<Self, Error> {
        let Place { dir, version } = Place::find("memory")?;
        remove_abandoned(&dir);
        // A login or a container that is gone may have had a cgroup beside this one.
        for beside in folders(dir.parent()) {
            remove_abandoned(&beside);
        }
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let dir = dir.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let made = std::fs::create_dir(&dir);
        made.map_err(|source| Error::Write {
            path: dir.clone(),
            source,
        })?;
        Ok(Self {
            dir,
            version,
            peak: None,
            cpu: None,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// What a process writes its id to, to be in the cgroup.
    pub(crate) fn processes(&self) -> Vec<PathBuf> {
        let of_cpu = self.cpu.as_ref().map(CpuCgroup::processes);
        [self.dir.join("cgroup.procs")]
            .into_iter()
            .chain(of_cpu)
            .collect()
    }

    /// # Errors
    /// `Read` or `Field`.
    pub fn memory(&self) -> Result<CgroupMemory, Error> {
        self.version.memory(&self.dir, self.peak.as_ref())
    }

    /// The most memory that it may have, without swap. Its processes are killed where they need more.
    ///
    /// # Errors
    /// `Write` where the kernel refuses, such as a limit below what is used.
    pub fn limit(&self, bytes: u64) -> Result<(), Error> {
        self.version.limit(&self.dir, bytes)
    }

    /// The most cores that processes which are started in it from here on may use together: they wait where they
    /// need more.
    ///
    /// # Errors
    /// `NoCgroup` or `Write` where CPU cannot be limited.
    pub fn limit_cpu(&mut self, cores: f64) -> Result<(), Error> {
        match self.version {
            Version::V1 => {
                let name = self.dir.file_name().unwrap_or_default().to_string_lossy();
                self.cpu = Some(CpuCgroup::create(&name, cores)?);
                Ok(())
            }
            Version::V2 => cpu::limit_v2(&self.dir, cores),
        }
    }

    /// How many of its processes the kernel has killed for memory.
    ///
    /// # Errors
    /// `Read` or `Field`.
    pub fn kills(&self) -> Result<u64, Error> {
        self.version.kills(&self.dir)
    }

    /// Kills every process that is in it.
    pub fn kill_all(&self) {
        // What is forked meanwhile is found the next time.
        for pause in EMPTIES {
            let pids = members(&self.dir).unwrap_or_default();
            if pids.is_empty() {
                return;
            }
            let pids = pids.into_iter().filter_map(|pid| i32::try_from(pid).ok());
            for pid in pids.filter_map(rustix::process::Pid::from_raw) {
                // One that has ended meanwhile is what was asked for.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            std::thread::sleep(pause);
        }
    }

    /// From here on the next peak counts.
    ///
    /// # Errors
    /// `Write` where the kernel has no such thing (cgroup v2 before Linux 6.12).
    pub fn reset_peak(&mut self) -> Result<(), Error> {
        self.peak = self.version.reset_peak(&self.dir)?;
        Ok(())
    }
}

/// The processes in the cgroup at `dir`; `None` where it is gone.
pub(crate) fn members(dir: &Path) -> Option<Vec<u32>> {
    let listed = std::fs::read_to_string(dir.join("cgroup.procs")).ok()?;
    let pids = listed.lines().filter_map(|line| line.parse().ok());
    Some(pids.collect())
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        self.kill_all();
        remove_empty(&self.dir);
    }
}

/// What is busy for longer is removed by the next program.
fn remove_empty(dir: &Path) {
    for pause in EMPTIES {
        match std::fs::remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(pause),
            _ => return,
        }
    }
}

fn folders(parent: Option<&Path>) -> Vec<PathBuf> {
    let entries = parent.and_then(|parent| std::fs::read_dir(parent).ok());
    let paths = entries.into_iter().flatten().flatten();
    let paths = paths.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Removes the cgroups of processes that are gone. One that still has processes stays.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(maker).is_some_and(is_gone) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The process that made the cgroup, if it is one of ours.
fn maker(name: &str) -> Option<rustix::process::Pid> {
    let (pid, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u64>().ok()?;
    let pid = pid.parse::<i32>().ok().filter(|pid| *pid > 0)?;
    rustix::process::Pid::from_raw(pid)
}

fn is_gone(pid: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_named_by_its_process() {
        let pid = rustix::process::Pid::from_raw;
        for (name, want) in [
            ("tare-17-0", pid(17)),
            ("tare-17-12", pid(17)),
            ("tare-17", None),
            ("tare-17-x", None),
            ("tare-0-1", None),
            ("other-17-0", None),
        ] {
            assert_eq!(maker(name), want, "{name}");
        }
    }
}
