//! A folder for credentials and data that nobody else can read.
//!
//! Guarantees: removed in the end; what a killed bench left behind is removed by the next one.
//! Leaves to others: what is in it.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Followed by the number of the process that the folder belongs to.
const PREFIX: &str = "loadgen-";

#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn create() -> anyhow::Result<Self> {
        let parent = std::env::temp_dir();
        remove_leftovers(&parent);
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| {
            format!("cannot make {} for credentials; set TMPDIR", path.display())
        })?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // The credentials in it died with their servers.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Folders of processes that are gone: a kill leaves credentials of dead servers and their data.
fn remove_leftovers(parent: &Path) {
    let own = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = pid_of(&name.to_string_lossy()) else {
            continue;
        };
        let ours = entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == own);
        let this = pid == std::process::id();
        if ours && (this || !is_alive(pid)) {
            // What cannot be removed stays closed to others.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn pid_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

/// A process that cannot be asked counts as alive.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| {
        !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folders_of_dead_processes_are_leftovers() {
        let parent = std::env::temp_dir().join(format!("leftovers-{}", std::process::id()));
        let mut ended = std::process::Command::new("true")
            .spawn()
            .expect("true starts");
        ended.wait().expect("it ends");
        let dead = format!("{PREFIX}{}", ended.id());
        let alive = format!("{PREFIX}1");
        let other = format!("{PREFIX}bench-5");
        for name in [&dead, &alive, &other] {
            fs::create_dir_all(parent.join(name).join("data")).expect("temporary folder");
        }
        remove_leftovers(&parent);
        let there = [&dead, &alive, &other].map(|name| parent.join(name).exists());
        assert_eq!(there, [false, true, true]);
        fs::remove_dir_all(parent).expect("ours");
    }
}
