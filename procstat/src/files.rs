//! Open files of a process, and what it writes to storage.

use crate::error::Error;

/// File descriptors that are open.
///
/// # Errors
/// `Read` when the process is gone or another user's.
#[cfg(target_os = "linux")]
pub fn open_files(pid: u32) -> Result<u64, Error> {
    let (process, path) = crate::error::process(pid, "fd")?;
    // Counted one by one: `fd_count` of procfs 0.18 counts `.` and `..` before Linux 6.2.
    match process.fd() {
        Ok(descriptors) => Ok(descriptors.count() as u64),
        Err(error) => Err(Error::of_procfs(path, "", error)),
    }
}

/// What the process has caused to be written to storage since its start: `write_bytes` of
/// `/proc/PID/io`, counted when a page becomes dirty, so without fsync too.
///
/// # Errors
/// As for [`open_files`].
#[cfg(target_os = "linux")]
pub fn storage_written_bytes(pid: u32) -> Result<u64, Error> {
    let (process, path) = crate::error::process(pid, "io")?;
    match process.io() {
        Ok(io) => Ok(io.write_bytes),
        Err(error) => Err(Error::of_procfs(path, "write_bytes", error)),
    }
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn open_files(_: u32) -> Result<u64, Error> {
    Err(Error::Unsupported("open files"))
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn storage_written_bytes(_: u32) -> Result<u64, Error> {
    Err(Error::Unsupported("bytes written"))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_this_process_are_counted() {
        let pid = std::process::id();
        assert!(open_files(pid).unwrap() >= 3);
        assert!(storage_written_bytes(pid).is_ok());
    }
}
