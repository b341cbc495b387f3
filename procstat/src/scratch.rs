//! A folder that goes with the process that made it.
//!
//! Guarantees: closed to other users, empty at first, removed when dropped; one that a killed
//! process left behind is removed by the next of the same name. Its name ends in the process's id:
//! a folder whose process is gone is nobody's.
//! Leaves to others: ending what still writes into it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};

/// Removed, with what is in it, when it is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes `NAME-PID` in `base`. A process has one of a name at most.
    ///
    /// # Errors
    /// The folder cannot be made, or what was left behind cannot be looked at or removed.
    pub fn create(base: &Path, name: &str) -> io::Result<Scratch> {
        std::fs::create_dir_all(base)?;
        sweep(base, name)?;
        let dir = base.join(format!("{name}-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Scratch(dir))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind it is the next one's to remove.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of this name whose processes are gone.
fn sweep(base: &Path, name: &str) -> io::Result<()> {
    for entry in std::fs::read_dir(base)? {
        let entry = entry?;
        let of = entry.file_name().to_str().and_then(|it| owner(it, name));
        if of.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH)) {
            match std::fs::remove_dir_all(entry.path()) {
                // Another one sweeps too.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The process whose folder of that name it is.
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
        let base = std::env::temp_dir().join(format!("tare-scratch-{}", std::process::id()));
        // Of a process that was reaped nothing is alive.
        let mut dead = std::process::Command::new("true").spawn().expect("spawn");
        dead.wait().expect("wait");
        let left = base.join(format!("plane-{}", dead.id()));
        let (parents, others) = (std::os::unix::process::parent_id(), base.join("mine"));
        let alive = base.join(format!("plane-{parents}"));
        for dir in [&left, &alive, &others] {
            std::fs::create_dir_all(dir).expect("make it");
        }
        let scratch = Scratch::create(&base, "plane").expect("a folder");
        assert!(scratch.path().is_dir());
        assert!(!left.exists(), "its process is gone");
        assert!(alive.exists() && others.exists(), "not ours to remove");
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
        std::fs::remove_dir_all(&base).expect("clean up");
    }
}
