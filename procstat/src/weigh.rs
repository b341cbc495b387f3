//! What a process weighs, and what machine it is weighed on.
//!
//! Guarantees: every figure is read from the kernel at the moment of the call and carries its unit
//! in its name; what cannot be read is an error or `None`, never 0.
//! Leaves to others: when to weigh, and what is settled. Processes can be weighed on Linux only;
//! elsewhere every call answers [`Error::Unsupported`].

mod machine;
mod parse;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crate::weigh::machine::{Cgroup, Machine, filesystem, machine};

/// Resident memory of a process.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Every resident page in full, shared ones too.
    pub rss_bytes: u64,
    /// Shared pages divided by the number of processes that map them.
    pub pss_bytes: u64,
    /// Pages that no file backs: heap, stacks, relocated data.
    pub anon_bytes: u64,
}

/// Why a figure could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: no {field} that can be read", path.display())]
    Field { path: PathBuf, field: &'static str },
    #[error("cannot read the CPU clock of process {pid}: {source}")]
    Clock { pid: u32, source: io::Error },
    #[error("{0} can be measured on Linux only")]
    Unsupported(&'static str),
}

/// Resident memory now, from `/proc/PID/smaps_rollup`.
///
/// # Errors
/// `Read` when the process is gone or another user's, `Field` when the kernel says less.
pub fn memory(pid: u32) -> Result<Memory, Error> {
    let (path, text) = read(pid, "smaps_rollup", "memory")?;
    parse::smaps_rollup(&text).map_err(|field| Error::Field { path, field })
}

/// Starts the peak anew from the present RSS (`5` into `/proc/PID/clear_refs`).
///
/// # Errors
/// `Write` when the process is gone, is another user's, or the kernel lacks the file.
pub fn reset_peak(pid: u32) -> Result<(), Error> {
    let path = proc_file(pid, "clear_refs", "peak memory")?;
    std::fs::write(&path, "5").map_err(|source| Error::Write { path, source })
}

/// The highest RSS since the start or the last [`reset_peak`] (`VmHWM`).
///
/// # Errors
/// As for [`memory`].
pub fn peak_bytes(pid: u32) -> Result<u64, Error> {
    let (path, text) = read(pid, "status", "peak memory")?;
    parse::kib_field(&text, "VmHWM:").map_err(|field| Error::Field { path, field })
}

/// User and system time of all threads, ended ones included.
///
/// Read from the process's CPU clock (`clock_getcpuclockid`), which counts nanoseconds:
/// `/proc/PID/stat` counts ticks of 10 ms, and `schedstat` forgets threads that have ended.
///
/// # Errors
/// `Clock` when the process is gone.
#[cfg(target_os = "linux")]
pub fn cpu_seconds(pid: u32) -> Result<f64, Error> {
    let clock = || {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).map_err(|_| nix::Error::ESRCH)?);
        nix::time::clock_getcpuclockid(pid)?.now()
    };
    let spent = clock().map_err(|errno| Error::Clock {
        pid,
        source: errno.into(),
    })?;
    Ok(std::time::Duration::from(spent).as_secs_f64())
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn cpu_seconds(_: u32) -> Result<f64, Error> {
    Err(Error::Unsupported("CPU time"))
}

/// Voluntary and involuntary context switches of the threads that are alive.
///
/// A thread that ends takes its count with it, so the figure can go down.
///
/// # Errors
/// As for [`memory`].
pub fn context_switches(pid: u32) -> Result<u64, Error> {
    let tasks = proc_file(pid, "task", "context switches")?;
    let mut sum = 0;
    for task in entries(&tasks)? {
        let path = task.join("status");
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                sum +=
                    parse::context_switches(&text).map_err(|field| Error::Field { path, field })?;
            }
            // The thread ended between the listing and the reading.
            Err(_) if !task.exists() => {}
            Err(source) => return Err(Error::Read { path, source }),
        }
    }
    Ok(sum)
}

/// Threads that are alive.
///
/// # Errors
/// As for [`memory`].
pub fn threads(pid: u32) -> Result<u64, Error> {
    let (path, text) = read(pid, "status", "threads")?;
    parse::number_field(&text, "Threads:").map_err(|field| Error::Field { path, field })
}

/// File descriptors that are open.
///
/// # Errors
/// As for [`memory`].
pub fn open_files(pid: u32) -> Result<u64, Error> {
    let descriptors = proc_file(pid, "fd", "open files")?;
    Ok(entries(&descriptors)?.len() as u64)
}

/// What the process has caused to be written to storage since its start: `write_bytes` of
/// `/proc/PID/io`, counted when a page becomes dirty, so without fsync too.
///
/// # Errors
/// As for [`memory`].
pub fn storage_written_bytes(pid: u32) -> Result<u64, Error> {
    let (path, text) = read(pid, "io", "bytes written")?;
    parse::number_field(&text, "write_bytes:").map_err(|field| Error::Field { path, field })
}

fn read(pid: u32, file: &str, figure: &'static str) -> Result<(PathBuf, String), Error> {
    let path = proc_file(pid, file, figure)?;
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(source) => Err(Error::Read { path, source }),
    }
}

fn proc_file(pid: u32, file: &str, figure: &'static str) -> Result<PathBuf, Error> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from(format!("/proc/{pid}/{file}")))
    } else {
        Err(Error::Unsupported(figure))
    }
}

fn entries(folder: &std::path::Path) -> Result<Vec<PathBuf>, Error> {
    std::fs::read_dir(folder)
        .and_then(|list| list.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|source| Error::Read {
            path: folder.to_owned(),
            source,
        })
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_weighed() {
        let pid = std::process::id();
        let memory = memory(pid).unwrap();
        assert!(memory.rss_bytes >= memory.pss_bytes && memory.pss_bytes >= memory.anon_bytes);
        assert!(memory.anon_bytes > 0);
        assert!(threads(pid).unwrap() >= 1);
        assert!(open_files(pid).unwrap() >= 3);
        assert!(context_switches(pid).unwrap() > 0);
    }

    #[test]
    fn a_peak_is_kept_until_it_is_reset() {
        const BLOCK: u64 = 64 << 20;
        let pid = std::process::id();
        let block = vec![1_u8; BLOCK as usize];
        assert!(std::hint::black_box(&block)[4096] == 1);
        drop(block);
        let peak = peak_bytes(pid).unwrap();
        assert!(peak >= memory(pid).unwrap().rss_bytes + BLOCK / 2);
        reset_peak(pid).unwrap();
        assert!(peak_bytes(pid).unwrap() < peak - BLOCK / 2);
    }

    #[test]
    fn cpu_time_grows_with_work_and_counts_ended_threads() {
        let pid = std::process::id();
        let before = cpu_seconds(pid).unwrap();
        std::thread::spawn(|| {
            let start = std::time::Instant::now();
            while start.elapsed().as_millis() < 30 {}
        })
        .join()
        .unwrap();
        let spent = cpu_seconds(pid).unwrap() - before;
        assert!(spent > 0.001, "{spent} s");
    }

    #[test]
    fn a_process_that_is_gone_is_an_error_that_names_the_file() {
        let message = memory(u32::MAX).unwrap_err().to_string();
        assert!(
            message.contains("/proc/4294967295/smaps_rollup"),
            "{message}"
        );
        assert!(cpu_seconds(u32::MAX).is_err());
    }
}
