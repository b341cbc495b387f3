//! A temporary directory that goes with the process that made it.
//!
//! Guarantees: closed to other users, empty at first, removed when dropped. The name ends in the id of the
//! process, which holds a lock on the directory; the kernel releases it when the process ends. A directory that a
//! killed process of this user left behind is removed by the next one of the same name; those of other users stay,
//! so that the directory may be in a folder that many share.
//! Leaves to others: ending what still writes into it.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getuid};

/// A directory that is removed, with what is in it, when it is dropped.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
    is_kept: bool,
    _lock: File,
}

impl TempDir {
    /// Makes `NAME-PID` in `base`, which is made too. A process has one of a name at most.
    ///
    /// # Errors
    /// The directory cannot be made, or the process has one of that name.
    pub fn create(base: &Path, name: &str) -> io::Result<TempDir> {
        std::fs::create_dir_all(base)?;
        drop(Self::abandoned(base, name)?);
        let named = format!("{name}-{}", std::process::id());
        let (young, path) = (base.join(format!(".{named}")), base.join(named));
        // An empty one would be replaced.
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // Of a process that had this id and was killed just here.
        let _ = std::fs::remove_dir_all(&young);
        DirBuilder::new().mode(0o700).create(&young)?;
        // Under its own name another process could find it without its lock.
        let lock = File::open(&young)?;
        lock.lock()?;
        std::fs::rename(&young, &path)?;
        Ok(TempDir {
            path,
            is_kept: false,
            _lock: lock,
        })
    }

    /// The directories of this name that belong to this user and whose processes are gone; they are removed when they are
    /// dropped.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn abandoned(base: &Path, name: &str) -> io::Result<Vec<TempDir>> {
        let entries = std::fs::read_dir(base)?.flatten();
        let named = entries.filter(|entry| {
            let name = entry.file_name().to_str().and_then(|it| owner(it, name));
            name.is_some()
        });
        Ok(named.filter_map(|entry| taken_over(entry.path())).collect())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it there; the next one of this name removes it.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed now is removed by the next one of this name.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Where it is a directory of this user that no process holds.
fn taken_over(path: PathBuf) -> Option<TempDir> {
    // A link is not followed.
    let found = std::fs::symlink_metadata(&path).ok()?;
    if !found.is_dir() || found.uid() != getuid().as_raw() {
        return None;
    }
    let lock = File::open(&path).ok()?;
    lock.try_lock().ok()?;
    // Another process may have removed it meanwhile, and a third have made a new one.
    let locked = lock.metadata().ok()?;
    let is_there = std::fs::symlink_metadata(&path).is_ok_and(|it| it.ino() == locked.ino());
    is_there.then_some(TempDir {
        path,
        is_kept: false,
        _lock: lock,
    })
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
        let (left, others) = (base.join("plane-7"), base.join("mine"));
        let earlier = base.join(format!("plane-{}", std::process::id()));
        let alive = base.join("plane-8");
        for dir in [
            &left,
            &alive,
            &others,
            &earlier.join("of-an-earlier-process"),
        ] {
            std::fs::create_dir_all(dir).expect("make it");
        }
        // As another process holds it: a lock belongs to the open file.
        let held = File::open(&alive).expect("open it");
        held.lock().expect("lock it");
        let temp_dir = TempDir::create(&base, "plane").expect("a folder");
        let mut inside = std::fs::read_dir(temp_dir.path()).expect("read it");
        assert!(
            inside.next().is_none(),
            "empty, although the id was used before"
        );
        assert!(!left.exists(), "its process is gone");
        assert!(alive.exists() && others.exists(), "not ours to remove");
        TempDir::create(&base, "plane").expect_err("one of a name");
        let path = temp_dir.path().to_owned();
        assert!(path.exists(), "the second one has not removed it");
        drop(temp_dir);
        assert!(!path.exists());
        let kept = TempDir::create(&base, "plane").expect("a folder");
        kept.keep();
        assert!(path.exists());
        drop(TempDir::abandoned(&base, "plane").expect("read it"));
        assert!(!path.exists() && alive.exists());
        std::fs::remove_dir_all(&base).expect("clean up");
    }
}
