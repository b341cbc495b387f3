//! Folders and files that hold credentials.
//!
//! Guarantees: only their owner can read them.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::Error;

/// Makes the folder, or checks that one that is there is closed to others.
pub(crate) fn folder(dir: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(Error::file(dir))?;
    let mode = std::fs::metadata(dir)
        .map_err(Error::file(dir))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(Error::Open { dir: dir.into() });
    }
    Ok(())
}

pub(crate) fn file(path: &Path, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(Error::file(path))
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    folder(to)?;
    for entry in std::fs::read_dir(from).map_err(Error::file(from))? {
        let entry = entry.map_err(Error::file(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(Error::file(&source))?.is_dir() {
            copy(&source, &target)?;
        } else {
            std::fs::copy(&source, &target).map_err(Error::file(&source))?;
        }
    }
    Ok(())
}

/// What the files below a folder hold, in bytes.
pub(crate) fn size_bytes(dir: &Path) -> Result<u64, Error> {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
        let path = entry.map_err(Error::file(dir))?.path();
        match std::fs::symlink_metadata(&path) {
            Ok(entry) if entry.is_dir() => sum += size_bytes(&path)?,
            Ok(entry) => sum += entry.len(),
            // etcd and SQLite remove files while they run.
            Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::File { path, cause }),
        }
    }
    Ok(sum)
}
