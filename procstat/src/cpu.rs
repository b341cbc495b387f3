//! CPU time, threads and context switches of a process.

use crate::error::Error;

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

/// User and system time of the children of a process that have ended and were waited for, and of theirs: in ticks of 10 ms,
/// 0 where it cannot be read.
#[cfg(target_os = "linux")]
pub(crate) fn waited_for_seconds(pid: u32) -> f64 {
    let stat = crate::error::process(pid, "stat")
        .ok()
        .and_then(|(process, _)| process.stat().ok());
    let ticks = stat.map_or(0, |stat| stat.cutime.saturating_add(stat.cstime));
    ticks.max(0) as f64 / procfs::ticks_per_second() as f64
}

/// Voluntary and involuntary context switches of the threads that are alive.
///
/// A thread that ends takes its count with it, so the figure can go down.
///
/// # Errors
/// `Read` when the process is gone or another user's, `Field` when the kernel says less.
#[cfg(target_os = "linux")]
pub fn context_switches(pid: u32) -> Result<u64, Error> {
    const FIELD: &str = "voluntary_ctxt_switches";
    let (process, path) = crate::error::process(pid, "task")?;
    let failed = |error| Error::of_procfs(path.clone(), FIELD, error);
    let mut sum = 0;
    for task in process.tasks().map_err(failed)? {
        match task.and_then(|task| task.status()) {
            Ok(status) => {
                let switches = status
                    .voluntary_ctxt_switches
                    .zip(status.nonvoluntary_ctxt_switches);
                let (voluntary, involuntary) = switches.ok_or_else(|| Error::Field {
                    path: path.clone(),
                    field: FIELD,
                })?;
                sum += voluntary + involuntary;
            }
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(sum)
}

/// Whether the thread ended between the listing and the reading.
#[cfg(target_os = "linux")]
fn has_ended(error: &procfs::ProcError) -> bool {
    match error {
        procfs::ProcError::NotFound(_) => true,
        procfs::ProcError::Io(source, _) => {
            source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
        }
        _ => false,
    }
}

/// Threads that are alive.
///
/// # Errors
/// As for [`context_switches`].
#[cfg(target_os = "linux")]
pub fn threads(pid: u32) -> Result<u64, Error> {
    let (process, path) = crate::error::process(pid, "status")?;
    match process.status() {
        Ok(status) => Ok(status.threads),
        Err(error) => Err(Error::of_procfs(path, "Threads", error)),
    }
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn cpu_seconds(_: u32) -> Result<f64, Error> {
    Err(Error::Unsupported("CPU time"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn waited_for_seconds(_: u32) -> f64 {
    0.0
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn context_switches(_: u32) -> Result<u64, Error> {
    Err(Error::Unsupported("context switches"))
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn threads(_: u32) -> Result<u64, Error> {
    Err(Error::Unsupported("threads"))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_switches_of_this_process_are_read() {
        let pid = std::process::id();
        assert!(threads(pid).unwrap() >= 1);
        assert!(context_switches(pid).unwrap() > 0);
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
    fn a_process_that_is_gone_has_no_clock() {
        assert!(cpu_seconds(u32::MAX).is_err());
        assert!(context_switches(u32::MAX).is_err());
    }
}
