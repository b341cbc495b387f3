//! Which cgroup hierarchies are mounted.

use serde::{Deserialize, Serialize};

/// Which cgroup hierarchies are mounted.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cgroup {
    V1,
    V2,
    /// Controllers in v1, and a v2 tree beside them.
    Hybrid,
}

impl Cgroup {
    /// Of the machine, seen from this process; `None` where there is none.
    pub(crate) fn mounted() -> Option<Cgroup> {
        #[cfg(target_os = "linux")]
        return Cgroup::among(&crate::mounts::mounts()?);
        #[cfg(not(target_os = "linux"))]
        None
    }

    #[cfg(target_os = "linux")]
    fn among(mounts: &procfs::process::MountInfos) -> Option<Cgroup> {
        let has = |kind| mounts.iter().any(|mount| mount.fs_type == kind);
        match (has("cgroup"), has("cgroup2")) {
            (true, true) => Some(Cgroup::Hybrid),
            (true, false) => Some(Cgroup::V1),
            (false, true) => Some(Cgroup::V2),
            (false, false) => None,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use procfs::FromRead;
    use procfs::process::MountInfos;

    use super::*;

    #[test]
    fn cgroup_versions_are_told_apart() {
        const ROOT: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
        let v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
        let v2 = "41 31 0:38 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n";
        for (name, mountinfo, want) in [
            ("v1", format!("{ROOT}{v1}"), Some(Cgroup::V1)),
            ("v2", format!("{ROOT}{v2}"), Some(Cgroup::V2)),
            ("both", format!("{ROOT}{v1}{v2}"), Some(Cgroup::Hybrid)),
            ("none", ROOT.to_owned(), None),
        ] {
            let mounts = MountInfos::from_read(mountinfo.as_bytes()).unwrap();
            assert_eq!(Cgroup::among(&mounts), want, "{name}");
        }
    }
}
