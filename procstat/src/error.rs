//! Why a figure could not be read.

use std::io;
use std::path::PathBuf;

/// Why a figure could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process is gone or belongs to another user, or the kernel lacks the file.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// As for `Read`.
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The kernel says less than is needed: a zombie, or an old kernel.
    #[error("{}: no field {field}", path.display())]
    Field { path: PathBuf, field: &'static str },
    /// The process is gone.
    #[error("cannot read the CPU clock of process {pid}: {source}")]
    Clock { pid: u32, source: io::Error },
    /// The kernel is older than Linux 3.4.
    #[error("cannot keep orphaned processes among its own: {0}")]
    Adopt(io::Error),
    /// The machine has no memory controller, or this user no part of it.
    #[error("no memory cgroup can be made: {0}")]
    NoCgroup(String),
    #[error("{0} can be measured on Linux only")]
    Unsupported(&'static str),
}

#[cfg(target_os = "linux")]
impl Error {
    /// An error of `procfs` about a file of a process; `field` is what was looked for in it.
    pub(crate) fn of_procfs(path: PathBuf, field: &'static str, error: procfs::ProcError) -> Error {
        use procfs::ProcError;

        let source = match error {
            ProcError::NotFound(_) => io::ErrorKind::NotFound.into(),
            ProcError::PermissionDenied(_) => io::ErrorKind::PermissionDenied.into(),
            ProcError::Io(source, _) => source,
            ProcError::Incomplete(_) | ProcError::Other(_) | ProcError::InternalError(_) => {
                return Error::Field { path, field };
            }
        };
        Error::Read { path, source }
    }
}

/// The process's folder below `/proc`.
///
/// # Errors
/// `Read` with the path of `file` when there is no such process.
#[cfg(target_os = "linux")]
pub(crate) fn process(pid: u32, file: &str) -> Result<(procfs::process::Process, PathBuf), Error> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let path = folder.join(file);
    match procfs::process::Process::new_with_root(folder) {
        Ok(process) => Ok((process, path)),
        Err(error) => Err(Error::of_procfs(path, "", error)),
    }
}
