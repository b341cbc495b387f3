//! The folder of one running control plane, and the kubeconfig outside of it.
//!
//! Guarantees: a file that somebody else wrote is neither overwritten nor removed; what a killed control plane left
//! goes with the next one, its kubeconfig too. Leaves to others: the folder itself (`tare_procstat::temp_dir`).

use std::path::{Path, PathBuf};

use anyhow::Context;
use tare_procstat::temp_dir::TempDir;

const NAME: &str = "loadgen-control-plane";
/// The file in a folder that holds the path of the kubeconfig written for the user.
const ELSEWHERE: &str = "kubeconfig-elsewhere";

pub(crate) fn create(parent: &Path) -> anyhow::Result<TempDir> {
    TempDir::create(parent, NAME).with_context(|| {
        let parent = parent.display();
        format!("cannot make a folder in {parent} for credentials and data; set TMPDIR")
    })
}

/// Writes the user's kubeconfig to a new file, and its path into the folder.
pub(crate) fn write_elsewhere(
    folder: &TempDir,
    path: &Path,
    text: &str,
) -> anyhow::Result<Elsewhere> {
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
    std::fs::write(folder.path().join(ELSEWHERE), note).with_context(what)?;
    // After a crash the next start removes the user's file only if it still equals this copy.
    std::fs::write(folder.path().join(format!("{ELSEWHERE}.copy")), text).with_context(what)?;
    Ok(written)
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
    // A folder that cannot be read has none that could be removed.
    let left = TempDir::abandoned(parent, NAME).unwrap_or_default();
    let cleared = left.into_iter().map(|folder| {
        let path = folder.path().to_owned();
        let note = std::fs::read_to_string(path.join(ELSEWHERE));
        let copy = std::fs::read_to_string(path.join(format!("{ELSEWHERE}.copy")));
        if let (Ok(note), Ok(copy)) = (note, copy) {
            remove_if_ours(Path::new(&note), &copy);
        }
        drop(folder);
        path
    });
    cleared.filter(|path| !path.exists()).collect()
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
        let folder = create(&parent).expect("a folder");
        let credentials = parent.join("kubeconfig");
        let elsewhere = write_elsewhere(&folder, &credentials, "secret").expect("written");
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
        let folder = create(&parent).expect("a folder");
        let path = parent.join("config");
        std::fs::write(&path, "mine").expect("written");
        let refusal = write_elsewhere(&folder, &path, "secret").err();
        let refusal = refusal.expect("refused");
        assert!(
            format!("{refusal:#}").contains("the file must not"),
            "{refusal:#}"
        );
        let other = parent.join("other");
        let written = write_elsewhere(&folder, &other, "secret").expect("written");
        std::fs::write(&other, "mine now").expect("written");
        drop(written);
        drop(folder);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "mine");
        assert_eq!(std::fs::read_to_string(&other).expect("there"), "mine now");
        std::fs::remove_dir_all(&parent).expect("removed");
    }
}
