//! A cgroup of a node's own in every hierarchy: version 1, version 2, or both at once.
//!
//! Guarantees: named after the process that made it, removed with everything below it, or by the next
//! node when that process was killed. Leaves to others: limits are the pods'.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};

use crate::node::Error;

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "tare-node-";
/// Version 2 lets no process be where others' cgroups are.
const LEAF: &str = "components";
/// Killed processes leave their cgroups a moment later.
const EMPTY_WITHIN: Duration = Duration::from_secs(10);
const POLL_EVERY: Duration = Duration::from_millis(20);

pub(crate) struct Cgroups {
    /// From the root of each hierarchy, as a kubelet is told.
    name: String,
    own: Vec<Own>,
}

/// The cgroup in one hierarchy.
struct Own {
    path: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Cgroups {
    pub(crate) fn create() -> Result<Cgroups, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{count}", std::process::id());
        let mounts = std::fs::read_to_string("/proc/self/mounts");
        let hierarchies = hierarchies(&mounts.map_err(Error::file("/proc/self/mounts"))?);
        let mut cgroups = Cgroups {
            name: format!("/{name}"),
            own: Vec::new(),
        };
        let deadline = Instant::now() + EMPTY_WITHIN;
        for (root, version) in hierarchies {
            remove_abandoned(&root, deadline);
            let path = root.join(&name);
            std::fs::create_dir(&path).map_err(Error::cgroup(&path))?;
            cgroups.own.push(Own { path, version });
            match version {
                Version::One => cpuset(&root, &root.join(&name))?,
                Version::Two => controllers(&root, &root.join(&name))?,
            }
        }
        match cgroups.own.is_empty() {
            true => Err(Error::NoCgroups),
            false => Ok(cgroups),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The files that a process writes itself into.
    pub(crate) fn procs(&self) -> impl Iterator<Item = PathBuf> {
        self.own.iter().map(|own| match own.version {
            Version::One => own.path.join("cgroup.procs"),
            Version::Two => own.path.join(LEAF).join("cgroup.procs"),
        })
    }

    pub(crate) fn processes(&self, name: &str) -> Result<Vec<i32>, Error> {
        let mut pids = Vec::new();
        if let Some(own) = self.own.first() {
            collect(&own.path, &mut pids).map_err(Error::cgroup(&own.path))?;
        }
        pids.retain(|pid| {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            comm.is_ok_and(|comm| comm.trim() == name)
        });
        Ok(pids)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let deadline = Instant::now() + EMPTY_WITHIN;
        for own in &self.own {
            // What cannot be removed now is removed by the next node.
            let _ = remove(&own.path, deadline);
        }
    }
}

/// The mount points of all hierarchies, from `/proc/self/mounts`.
fn hierarchies(mounts: &str) -> Vec<(PathBuf, Version)> {
    let hierarchy = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?, words.next()?);
        let version = match kind {
            "cgroup" => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        let at = Path::new(at);
        at.starts_with(ROOT).then(|| (at.to_owned(), version))
    };
    mounts.lines().filter_map(hierarchy).collect()
}

/// A cpuset has no processors and no memory of its own accord.
fn cpuset(root: &Path, own: &Path) -> Result<(), Error> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let to = own.join(file);
        if to.exists() {
            let from = root.join(file);
            let value = std::fs::read_to_string(&from).map_err(Error::cgroup(&from))?;
            std::fs::write(&to, value.trim()).map_err(Error::cgroup(&to))?;
        }
    }
    Ok(())
}

/// Lets the kubelet use below `own` whatever there is at the root.
fn controllers(root: &Path, own: &Path) -> Result<(), Error> {
    let leaf = own.join(LEAF);
    std::fs::create_dir(&leaf).map_err(Error::cgroup(&leaf))?;
    let file = root.join("cgroup.controllers");
    let names = std::fs::read_to_string(&file).map_err(Error::cgroup(&file))?;
    for parent in [root, own] {
        let file = parent.join("cgroup.subtree_control");
        for name in names.split_whitespace() {
            std::fs::write(&file, format!("+{name}")).map_err(Error::cgroup(&file))?;
        }
    }
    Ok(())
}

/// Removes what killed processes have left, once what is dying in it is gone.
fn remove_abandoned(root: &Path, deadline: Instant) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let of = entry.file_name().to_str().and_then(owner);
        if of.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH)) {
            // A shell may have been moved into it: then it stays.
            let _ = remove(&entry.path(), deadline);
        }
    }
}

/// The process that made a cgroup of this name.
fn owner(name: &str) -> Option<Pid> {
    let (pid, count) = name.strip_prefix(PREFIX)?.split_once('-')?;
    count.parse::<u32>().ok()?;
    let pid: i32 = pid.parse().ok()?;
    // Zero and less name groups of processes.
    if pid > 0 { Pid::from_raw(pid) } else { None }
}

/// Removes a cgroup as soon as it is empty.
fn remove(path: &Path, deadline: Instant) -> Result<(), Error> {
    while let Err(cause) = remove_tree(path) {
        if Instant::now() > deadline {
            return Err(Error::cgroup(path)(cause));
        }
        std::thread::sleep(POLL_EVERY);
    }
    Ok(())
}

/// Removes a cgroup after those below it; what is gone already is no error.
fn remove_tree(path: &Path) -> io::Result<()> {
    let absent_is_fine = |done: io::Result<()>| match done {
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    };
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(cause) => return absent_is_fine(Err(cause)),
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path())?;
        }
    }
    absent_is_fine(std::fs::remove_dir(path))
}

fn collect(path: &Path, pids: &mut Vec<i32>) -> io::Result<()> {
    let text = std::fs::read_to_string(path.join("cgroup.procs"))?;
    pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            match collect(&entry.path(), pids) {
                // A pod that went meanwhile; a threaded cgroup, which tells no processes.
                Err(cause) if cause.kind() == ErrorKind::NotFound => {}
                Err(cause) if cause.raw_os_error() == Some(95) => {}
                done => done?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hierarchy_is_found() {
        let one = (PathBuf::from("/sys/fs/cgroup/memory"), Version::One);
        let both = (PathBuf::from("/sys/fs/cgroup/unified"), Version::Two);
        for (name, mounts, want) in [
            (
                "version 2",
                "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\nproc /proc proc rw 0 0\n",
                vec![(PathBuf::from("/sys/fs/cgroup"), Version::Two)],
            ),
            (
                "both",
                "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                 cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                 cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
                vec![one, both],
            ),
            ("another's", "cgroup2 /mnt/x cgroup2 rw 0 0\n", vec![]),
        ] {
            assert_eq!(hierarchies(mounts), want, "{name}");
        }
    }

    #[test]
    fn a_cgroup_is_named_by_its_process() {
        for (name, want) in [
            ("tare-node-17-0", Pid::from_raw(17)),
            ("tare-node-17", None),
            ("tare-node-0-1", None),
            ("tare-node-17-x", None),
            ("other-17-0", None),
        ] {
            assert_eq!(owner(name), want, "{name}");
        }
    }
}
