//! The folder of one running control plane, and the removal of folders that killed ones have left.
//!
//! Guarantees: a process holds a lock on the file `lock` in its folder; the kernel releases the lock
//! when the process ends. A folder whose lock can be taken has no owner and is removed. Only the user
//! can read a folder, because it holds credentials.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

const PREFIX: &str = "loadgen-control-plane-";
const LOCK: &str = "lock";
/// The file in a folder that holds the path of the kubeconfig written for the user.
const ELSEWHERE: &str = "kubeconfig-elsewhere";

/// Removed when dropped, unless it is kept.
pub(crate) struct Folder {
    path: PathBuf,
    kept: bool,
    _lock: File,
}

impl Folder {
    pub(crate) fn create(parent: &Path) -> anyhow::Result<Folder> {
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        let what = || {
            format!(
                "cannot make {} for credentials and data; set TMPDIR",
                path.display()
            )
        };
        // Created and locked under another name: under its own name another start could find it unlocked
        // and remove it.
        let young = parent.join(format!(".{PREFIX}{}", std::process::id()));
        for stale in [&young, &path] {
            // An earlier process with the same pid may have left one; that process has ended.
            let _ = std::fs::remove_dir_all(stale);
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&young)
            .with_context(what)?;
        let lock = File::create(young.join(LOCK)).with_context(what)?;
        lock.lock().with_context(what)?;
        std::fs::rename(&young, &path).with_context(what)?;
        Ok(Folder {
            path,
            kept: false,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder, for its logs; the next start removes it.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }

    /// Writes the user's kubeconfig to a new file, and its path into this folder.
    pub(crate) fn write_elsewhere(&self, path: &Path, text: &str) -> anyhow::Result<Elsewhere> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let what = || {
            format!(
                "cannot write --kubeconfig {}: its folder must exist, and the file must not",
                path.display()
            )
        };
        let new = std::fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(path);
        let mut file = new.with_context(what)?;
        let written = Elsewhere {
            path: std::path::absolute(path).with_context(what)?,
            text: text.to_owned(),
        };
        file.write_all(text.as_bytes()).with_context(what)?;
        let note = written.path.as_os_str().as_encoded_bytes();
        std::fs::write(self.path.join(ELSEWHERE), note).with_context(what)?;
        // After a crash the next start removes the user's file only if it still equals this copy.
        std::fs::write(self.path.join(format!("{ELSEWHERE}.copy")), text).with_context(what)?;
        Ok(written)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            // The next start removes what cannot be removed now.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A file outside of the folder; removed when dropped, unless it was changed.
pub(crate) struct Elsewhere {
    path: PathBuf,
    text: String,
}

impl Elsewhere {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        remove_if_ours(&self.path, &self.text);
    }
}

fn remove_if_ours(path: &Path, text: &str) {
    if std::fs::read_to_string(path).is_ok_and(|now| now == text) {
        let _ = std::fs::remove_file(path);
    }
}

/// Removes the folders that killed processes have left, and returns their paths.
pub(crate) fn clear_leftovers(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut cleared = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        let ours = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
        // The lock file of another user cannot be opened; that of a running process cannot be locked.
        let lock = ours.then(|| File::options().write(true).open(path.join(LOCK)));
        let Some(Ok(lock)) = lock else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let note = std::fs::read_to_string(path.join(ELSEWHERE));
        let copy = std::fs::read_to_string(path.join(format!("{ELSEWHERE}.copy")));
        if let (Ok(note), Ok(copy)) = (note, copy) {
            remove_if_ours(Path::new(&note), &copy);
        }
        if std::fs::remove_dir_all(&path).is_ok() {
            cleared.push(path);
        }
    }
    cleared
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn parent(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lgf-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary folder");
        path
    }

    #[test]
    fn a_live_one_stays_and_a_dead_ones_is_removed_with_its_credentials() {
        let parent = parent("leftovers");
        let folder = Folder::create(&parent).expect("a folder");
        let credentials = parent.join("kubeconfig");
        let elsewhere = folder
            .write_elsewhere(&credentials, "secret")
            .expect("written");
        let mode = |path: &Path| {
            let file = std::fs::metadata(path).expect("there");
            file.permissions().mode() & 0o777
        };
        assert_eq!((mode(folder.path()), mode(&credentials)), (0o700, 0o600));
        assert_eq!(clear_leftovers(&parent), Vec::<PathBuf>::new());
        // As after SIGKILL: nothing is dropped, and the lock is released.
        std::mem::forget(elsewhere);
        let path = folder.path().to_owned();
        folder.keep();
        assert!(path.exists() && credentials.exists());
        assert_eq!(clear_leftovers(&parent), std::slice::from_ref(&path));
        assert!(!path.exists() && !credentials.exists());
        std::fs::remove_dir_all(&parent).expect("removed");
    }

    #[test]
    fn a_file_that_somebody_else_wrote_is_neither_overwritten_nor_removed() {
        let parent = parent("foreign");
        let folder = Folder::create(&parent).expect("a folder");
        let path = parent.join("config");
        std::fs::write(&path, "mine").expect("written");
        let refusal = folder
            .write_elsewhere(&path, "secret")
            .err()
            .expect("refused");
        assert!(
            format!("{refusal:#}").contains("the file must not"),
            "{refusal:#}"
        );
        let other = parent.join("other");
        let written = folder.write_elsewhere(&other, "secret").expect("written");
        std::fs::write(&other, "mine now").expect("written");
        drop(written);
        drop(folder);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "mine");
        assert_eq!(std::fs::read_to_string(&other).expect("there"), "mine now");
        std::fs::remove_dir_all(&parent).expect("removed");
    }
}
