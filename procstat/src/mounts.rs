//! What is mounted where, from `/proc/self/mountinfo`.

use std::path::{Path, PathBuf};

use procfs::process::{MountInfos, Process};

/// The mounts that this process sees; `None` where they cannot be read.
pub(crate) fn mounts() -> Option<MountInfos> {
    Process::myself().ok()?.mountinfo().ok()
}

/// The type of the filesystem that an absolute path is on: the longest mount point above it, and
/// of several on one point the last, which hides the others.
pub(crate) fn filesystem(mounts: &MountInfos, path: &Path) -> Option<String> {
    mounts
        .iter()
        .map(|mount| (unescape(&mount.mount_point), &mount.fs_type))
        .filter(|(point, _)| path.starts_with(point))
        .max_by_key(|(point, _)| point.as_os_str().len())
        .map(|(_, kind)| kind.clone())
}

/// Undoes the kernel's octal escapes of blanks and backslashes, which procfs 0.18 leaves.
fn unescape(point: &Path) -> PathBuf {
    let point = point.to_string_lossy();
    PathBuf::from(
        point
            .replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\012", "\n")
            .replace("\\134", "\\"),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use procfs::FromRead;

    use super::*;

    #[test]
    fn a_filesystem_is_that_of_the_nearest_mount() {
        let mounts = MountInfos::from_read(
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
             30 27 0:27 / /data rw shared:1 master:2 - xfs /dev/b rw\n\
             31 27 0:28 / /my\\040disk rw - btrfs /dev/c rw\n\
             32 27 0:29 / /data rw - tmpfs over rw\n"
                .as_bytes(),
        )
        .unwrap();
        for (path, want) in [
            ("/etc/hosts", "ext4"),
            ("/database", "ext4"),
            ("/my disk/x", "btrfs"),
            ("/data/run", "tmpfs"),
        ] {
            let found = filesystem(&mounts, Path::new(path));
            assert_eq!(found.as_deref(), Some(want), "{path}");
        }
        assert_eq!(filesystem(&MountInfos(Vec::new()), Path::new("/x")), None);
    }
}
