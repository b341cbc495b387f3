//! A temporary directory that goes with the process that made it.
//!
//! Guarantees: closed to other users, empty at first, removed when dropped. The name ends in the id of the
//! process. A directory that a killed process of this user left behind is removed by the next one of the same
//! name; those of other users stay, so that the directory may be in a folder that many share.
//! Leaves to others: ending what still writes into it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getpid, getuid, test_kill_process};

/// A directory that is removed, with what is in it, when it is dropped.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes `NAME-PID` in `base`, which is made too. A process has one of a name at most.
    ///
    /// # Errors
    /// The directory cannot be made, or one that was left behind cannot be read or removed.
    pub fn create(base: &Path, name: &str) -> io::Result<TempDir> {
        std::fs::create_dir_all(base)?;
        remove_abandoned(base, name)?;
        let dir = base.join(format!("{name}-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(TempDir(dir))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one of this name.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes the directories of this name that belong to this user and whose processes are gone.
fn remove_abandoned(base: &Path, name: &str) -> io::Result<()> {
    let user = getuid().as_raw();
    for entry in std::fs::read_dir(base)? {
        let entry = entry?;
        let of = entry.file_name().to_str().and_then(|it| owner(it, name));
        if !of.is_some_and(is_abandoned) {
            continue;
        }
        // Not followed where it is a link. An error: another process has removed it.
        let is_ours = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_ours {
            continue;
        }
        match std::fs::remove_dir_all(entry.path()) {
            // Another process removes it too.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the process is gone. Our own id: an earlier process had it, because this one has no directory of
/// that name yet. A process that cannot be asked counts as alive.
fn is_abandoned(pid: Pid) -> bool {
    pid == getpid() || test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

/// The process that made the directory, if it has that name.
fn owner(folder: &str, name: &str) -> Option<Pid> {
    let pid: i32 = folder.strip_prefix(name)?.strip_prefix('-')?.parse().ok()?;
    // Zero and less name groups of processes.
    if pid > 0 { Pid::from_raw(pid) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_its_process() {
        let pid = |raw| Pid::from_raw(raw);
        for (folder, want) in [
            ("plane-17", pid(17)),
            ("plane-etcd-17", None),
            ("plane", None),
            ("plane-", None),
            ("plane-0", None),
            ("plane--3", None),
            ("other-17", None),
        ] {
            assert_eq!(owner(folder, "plane"), want, "{folder}");
        }
    }

    #[test]
    fn it_goes_when_dropped_and_what_the_dead_left_goes_with_the_next() {
        let base = std::env::temp_dir().join(format!("tare-temp-dir-{}", std::process::id()));
        // Of a process that was reaped nothing is alive.
        let mut dead = std::process::Command::new("true").spawn().expect("spawn");
        dead.wait().expect("wait");
        let left = base.join(format!("plane-{}", dead.id()));
        let earlier = base.join(format!("plane-{}", std::process::id()));
        let (parents, others) = (std::os::unix::process::parent_id(), base.join("mine"));
        let alive = base.join(format!("plane-{parents}"));
        for dir in [
            &left,
            &alive,
            &others,
            &earlier.join("of-an-earlier-process"),
        ] {
            std::fs::create_dir_all(dir).expect("make it");
        }
        let temp_dir = TempDir::create(&base, "plane").expect("a folder");
        let mut inside = std::fs::read_dir(temp_dir.path()).expect("read it");
        assert!(
            inside.next().is_none(),
            "empty, although the id was used before"
        );
        assert!(!left.exists(), "its process is gone");
        assert!(alive.exists() && others.exists(), "not ours to remove");
        let path = temp_dir.path().to_owned();
        drop(temp_dir);
        assert!(!path.exists());
        std::fs::remove_dir_all(&base).expect("clean up");
    }
}
