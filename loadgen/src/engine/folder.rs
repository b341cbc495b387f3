//! The temporary folder of one run.
//!
//! Guarantees: its path is short, whatever the subject is called, because the kernel takes only short paths of sockets,
//! and that of the datastore is in it; no two runs of a process have the same. Leaves to others: making and removing it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder within `temp_dir` that no other run has.
pub fn next(temp_dir: &Path) -> PathBuf {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    temp_dir.join(RUNS.fetch_add(1, Ordering::Relaxed).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_short_folder_of_its_own() {
        let temp_dir = Path::new("/tmp/loadgen-4194304");
        let (one, other) = (next(temp_dir), next(temp_dir));
        assert_ne!(one, other);
        for folder in [one, other] {
            assert_eq!(folder.parent(), Some(temp_dir));
            let name = folder.file_name().expect("named").len();
            assert!(name <= 10, "{}", folder.display());
        }
    }
}
