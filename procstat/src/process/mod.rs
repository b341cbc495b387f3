//! Child processes that end with their parent, whatever happens to it.
//!
//! Guarantees: on Linux the kernel kills the child when this process dies, SIGKILL included; the
//! child has a process group of its own, which is killed and reaped on drop; its output goes to a
//! file. On macOS a parent killed with SIGKILL leaves its children behind: there is no such signal.
//! Leaves to others: readiness, and what a child's exit means. A process that leaves its group
//! (`setsid`) is on its own, and so are grandchildren of a parent killed with SIGKILL.

mod log_tail;
mod spawner;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::watch;

use crate::memory_cgroup::MemoryCgroup;

/// How often it is looked whether a group has ended.
const GROUP_LOOK: Duration = Duration::from_millis(20);

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What messages call it.
    pub name: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Where it starts; where the parent is, without. A relative `program` with a slash is looked for from there.
    pub folder: Option<PathBuf>,
    /// Added to the parent's environment, or all there is with `clear_env`.
    pub env: Vec<(String, String)>,
    /// Starts from an empty environment instead of the parent's.
    pub clear_env: bool,
    /// Standard output and error are appended to it; its folder is created.
    pub log: PathBuf,
}

/// A running child, or one that ended and whose status is kept.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    pid: Pid,
    spawned_at: Instant,
    child: Child,
    /// Set when the child was reaped.
    status: Option<ExitStatus>,
    /// Turns true when the child has ended; it stays a zombie, so that its pid is still its own,
    /// until it is reaped under `&mut self`.
    ended: watch::Receiver<bool>,
}

/// Why a process could not be started, watched or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{name}: cannot write its log {}: {source}", path.display())]
    Log {
        name: String,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{name}: cannot put it into the cgroup of {}: {source}", path.display())]
    Cgroup {
        name: String,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{name}: cannot start {}: {source}", program.display())]
    Spawn {
        name: String,
        program: PathBuf,
        source: io::Error,
    },
    #[error("{name}: cannot wait for it: {source}")]
    Wait { name: String, source: io::Error },
    #[error("{name}: cannot send it {signal}: {source}")]
    Signal {
        name: String,
        signal: &'static str,
        source: io::Error,
    },
}

impl Process {
    /// Starts the child and returns as soon as the kernel has accepted the program.
    ///
    /// # Errors
    /// `Log` when the log cannot be opened, `Spawn` when the program cannot be executed, `Wait`
    /// when the thread that waits for its end cannot be started (the child is then killed).
    pub async fn spawn(spec: Spec) -> Result<Process, Error> {
        Self::spawn_with(spec, Vec::new()).await
    }

    /// The same in a cgroup: the child is in it before it runs, so that all its memory is.
    ///
    /// # Errors
    /// `Cgroup` when its file cannot be opened, else as for [`Process::spawn`].
    pub async fn spawn_in(spec: Spec, cgroup: &MemoryCgroup) -> Result<Process, Error> {
        let opened = cgroup.processes().into_iter().map(|path| {
            let file = OpenOptions::new().write(true).open(&path);
            file.map_err(|source| Error::Cgroup {
                name: spec.name.clone(),
                path,
                source,
            })
        });
        let files = opened.collect::<Result<Vec<File>, Error>>()?;
        Self::spawn_with(spec, files).await
    }

    async fn spawn_with(spec: Spec, cgroups: Vec<File>) -> Result<Process, Error> {
        let command = command(&spec)?;
        let failed = |source| Error::Spawn {
            name: spec.name.clone(),
            program: spec.program.clone(),
            source,
        };
        let spawned = spawner::spawn(command, cgroups).await;
        let (mut child, spawned_at) = spawned.map_err(failed)?;
        let pid = Pid::from_child(&child);
        let ended = match watch_end(pid) {
            Ok(ended) => ended,
            Err(source) => {
                let _ = end_group(pid, &mut child);
                let name = spec.name;
                return Err(Error::Wait { name, source });
            }
        };
        Ok(Process {
            name: spec.name,
            log: spec.log,
            pid,
            spawned_at,
            child,
            status: None,
            ended,
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Taken right before the fork.
    pub fn spawned_at(&self) -> Instant {
        self.spawned_at
    }

    /// The status if the child has ended; does not block.
    ///
    /// # Errors
    /// `Wait` when the kernel refuses, which is a bug of the caller.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>, Error> {
        if !self.has_ended() {
            return Ok(None);
        }
        self.reap().map(Some)
    }

    /// Waits until the child ends; cancel safe.
    ///
    /// # Errors
    /// As for [`Process::exited`].
    pub async fn wait(&mut self) -> Result<ExitStatus, Error> {
        // An error means that the watching thread is gone, and it only goes when the child has ended.
        let _ = self.ended.wait_for(|ended| *ended).await;
        self.reap()
    }

    /// Asks the group to end with SIGTERM, and kills what is left of it after `grace`.
    ///
    /// # Errors
    /// `Signal` when the kernel refuses a signal, `Wait` as for [`Process::exited`].
    pub async fn terminate(&mut self, grace: Duration) -> Result<ExitStatus, Error> {
        if let Some(status) = self.exited()? {
            return Ok(status);
        }
        self.signal(Signal::TERM, "SIGTERM")?;
        let until_ended = async {
            // As for `wait`.
            let _ = self.ended.wait_for(|ended| *ended).await;
            // What a wrapper has started ends in its own time.
            while others_in_group(self.pid) {
                tokio::time::sleep(GROUP_LOOK).await;
            }
        };
        if tokio::time::timeout(grace, until_ended).await.is_err() {
            self.signal(Signal::KILL, "SIGKILL")?;
        }
        self.wait().await
    }

    /// The last lines of the log, at most `n` and at most 64 KiB of them; none if it is unreadable.
    pub fn last_log_lines(&self, n: usize) -> Vec<String> {
        log_tail::last_lines(&self.log, n).unwrap_or_default()
    }

    fn has_ended(&self) -> bool {
        // A closed channel counts as ended, see `wait`.
        *self.ended.borrow() || self.ended.has_changed().is_err()
    }

    /// Takes the status of an ended child, and the rest of its group down with it.
    fn reap(&mut self) -> Result<ExitStatus, Error> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = end_group(self.pid, &mut self.child).map_err(|source| Error::Wait {
            name: self.name.clone(),
            source,
        })?;
        self.status = Some(status);
        Ok(status)
    }

    fn signal(&self, signal: Signal, label: &'static str) -> Result<(), Error> {
        match kill_process_group(self.pid, signal) {
            // Gone, or (macOS says EPERM) a group of zombies: its end is what was asked for.
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(rustix::io::Errno::PERM) if self.has_ended() => Ok(()),
            Err(errno) => Err(Error::Signal {
                name: self.name.clone(),
                signal: label,
                source: errno.into(),
            }),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure; the kernel's parent-death signal is still armed.
        let _ = self.reap();
    }
}

/// Whether somebody else than its leader is alive in the group of `leader`, which was not reaped yet.
#[cfg(target_os = "linux")]
fn others_in_group(leader: Pid) -> bool {
    let leader = leader.as_raw_nonzero().get();
    let processes = procfs::process::all_processes()
        .into_iter()
        .flatten()
        .flatten();
    let mut stats = processes.filter_map(|process| process.stat().ok());
    stats.any(|stat| stat.pgrp == leader && stat.pid != leader && stat.state != 'Z')
}

/// They are killed with it.
#[cfg(not(target_os = "linux"))]
fn others_in_group(_: Pid) -> bool {
    false
}

/// The command of a spec, with its output going to the log.
fn command(spec: &Spec) -> Result<Command, Error> {
    let failed = |source| Error::Log {
        name: spec.name.clone(),
        path: spec.log.clone(),
        source,
    };
    let output = open_log(&spec.log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut command = Command::new(&spec.program);
    if spec.clear_env {
        command.env_clear();
    }
    if let Some(folder) = &spec.folder {
        command.current_dir(folder);
    }
    command
        .args(&spec.args)
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    Ok(command)
}

fn open_log(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}

/// Starts the thread that reports the child's end without reaping it.
fn watch_end(pid: Pid) -> io::Result<watch::Receiver<bool>> {
    let (report, ended) = watch::channel(false);
    std::thread::Builder::new()
        .name(format!("wait-{}", pid.as_raw_nonzero()))
        .stack_size(64 * 1024)
        .spawn(move || {
            let until_ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), until_ended) {}
            report.send_replace(true);
        })?;
    Ok(ended)
}

/// Kills and reaps the child with all of its group. Only for a child that was not reaped yet:
/// until then its pid, and with it the number of its group, cannot be another's.
fn end_group(pid: Pid, child: &mut Child) -> io::Result<ExitStatus> {
    let _ = kill_process_group(pid, Signal::KILL);
    child.wait()
}
