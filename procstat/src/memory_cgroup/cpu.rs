//! A bound on the CPU time of the processes in a cgroup.
//!
//! Guarantees: in version 1, where CPU has a hierarchy of its own, the cgroup that is made there is removed when
//! this is dropped. Leaves to others: putting a process into it.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst` (cpu.max) and `Documentation/scheduler/sched-bwc.rst` of
//! the kernel.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::memory_cgroup::place::Place;
use crate::memory_cgroup::version::{Version, write};
use crate::memory_cgroup::{remove_abandoned, remove_empty};

/// The kernel's own default; a quota is a part of it.
const PERIOD_US: u64 = 100_000;
/// The least quota that the kernel takes.
const LEAST_QUOTA_US: f64 = 1_000.0;

/// A cgroup of version 1 beside one for memory.
#[derive(Debug)]
pub(crate) struct CpuCgroup {
    dir: PathBuf,
}

impl CpuCgroup {
    /// Makes one of this name, in which processes have so many cores together.
    ///
    /// # Errors
    /// `NoCgroup`, or `Write` where the kernel refuses.
    pub fn create(name: &str, cores: f64) -> Result<Self, Error> {
        let Place { dir, version } = Place::find("cpu")?;
        if version != Version::V1 {
            let why = "memory is in version 1, and CPU in version 2 of cgroups";
            return Err(Error::NoCgroup(why.into()));
        }
        remove_abandoned(&dir);
        let dir = dir.join(name);
        let made = std::fs::create_dir(&dir);
        made.map_err(|source| Error::Write {
            path: dir.clone(),
            source,
        })?;
        let cgroup = Self { dir };
        write(&cgroup.dir, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
        write(
            &cgroup.dir,
            "cpu.cfs_quota_us",
            &quota_us(cores).to_string(),
        )?;
        Ok(cgroup)
    }

    /// What a process writes its id to, to be in the cgroup.
    pub fn processes(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }
}

impl Drop for CpuCgroup {
    fn drop(&mut self) {
        remove_empty(&self.dir);
    }
}

/// The same in version 2, for a cgroup that is there.
///
/// # Errors
/// `Write` where the kernel refuses, or CPU is not passed on to the cgroup.
pub(crate) fn limit_v2(dir: &Path, cores: f64) -> Result<(), Error> {
    // Fails where others have decided; then `cpu.max` is not there.
    if let Some(parent) = dir.parent() {
        let _ = std::fs::write(parent.join("cgroup.subtree_control"), "+cpu");
    }
    write(dir, "cpu.max", &format!("{} {PERIOD_US}", quota_us(cores)))
}

fn quota_us(cores: f64) -> u64 {
    (cores * PERIOD_US as f64).round().max(LEAST_QUOTA_US) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_a_part_of_the_period() {
        for (cores, want) in [(0.5, 50_000), (2.0, 200_000), (0.0001, 1_000)] {
            assert_eq!(quota_us(cores), want, "{cores}");
        }
        let dir = std::env::temp_dir().join(format!("tare-cpu-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        limit_v2(&dir, 0.25).unwrap();
        let written = std::fs::read_to_string(dir.join("cpu.max")).unwrap();
        assert_eq!(written, "25000 100000");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
