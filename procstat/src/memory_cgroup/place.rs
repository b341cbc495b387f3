//! Where a cgroup may be made: below or beside that of this process.
//!
//! Guarantees: a folder that is found can hold cgroups that account for memory. Leaves to others: making
//! and removing them.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::memory_cgroup::version::Version;

/// A folder of a mounted hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub dir: PathBuf,
    pub version: Version,
}

impl Place {
    /// For a controller, such as memory.
    ///
    /// # Errors
    /// `NoCgroup`.
    #[cfg(target_os = "linux")]
    pub fn find(controller: &str) -> Result<Place, Error> {
        let nothing = |why: &str| Error::NoCgroup(why.to_owned());
        let mounts = crate::mounts::mounts();
        let mounts = mounts.ok_or_else(|| nothing("the mounts of this process cannot be read"))?;
        let groups = procfs::process::Process::myself().and_then(|own| own.cgroups());
        let groups = groups.map_err(|error| nothing(&format!("/proc/self/cgroup: {error}")))?;
        let mut unified = None;
        for group in groups {
            let is_it = group.controllers.iter().any(|name| name == controller);
            if is_it {
                let mounted = mounts
                    .iter()
                    .find(|m| m.fs_type == "cgroup" && m.super_options.contains_key(controller));
                let mounted = mounted.ok_or_else(|| nothing("its v1 hierarchy is not mounted"))?;
                let dir = below(&mounted.mount_point, &mounted.root, &group.pathname);
                return v1(dir);
            }
            if group.hierarchy == 0 {
                let mounted = mounts.iter().find(|m| m.fs_type == "cgroup2");
                unified = mounted.map(|m| (below(&m.mount_point, &m.root, &group.pathname), m));
            }
        }
        match unified {
            Some((own, mounted)) => v2(&own, &mounted.mount_point),
            None => Err(nothing("no cgroup hierarchy is mounted")),
        }
    }

    /// # Errors
    /// Always `Unsupported`.
    #[cfg(not(target_os = "linux"))]
    pub fn find(_: &str) -> Result<Place, Error> {
        Err(Error::Unsupported("memory of a cgroup"))
    }
}

/// The folder of a cgroup: what is mounted may be a part of the hierarchy only, as in a container.
#[cfg(target_os = "linux")]
fn below(mount_point: &Path, root: &str, cgroup: &str) -> PathBuf {
    let inside = Path::new(cgroup);
    let inside = inside
        .strip_prefix(root)
        .or_else(|_| inside.strip_prefix("/"));
    let inside = inside.unwrap_or(Path::new(""));
    // A path that leads out of what is mounted is not there.
    if inside.starts_with("..") {
        return mount_point.to_owned();
    }
    mount_point.join(inside)
}

#[cfg(target_os = "linux")]
fn v1(dir: PathBuf) -> Result<Place, Error> {
    let version = Version::V1;
    match is_writable(&dir) {
        true => Ok(Place { dir, version }),
        false => Err(no_permission(&dir)),
    }
}

/// The nearest cgroup that passes memory accounting on to those in it. A cgroup with processes cannot
/// (cgroups(7), "no internal processes"), so it is one above that of this process, or the root.
#[cfg(target_os = "linux")]
fn v2(own: &Path, mount_point: &Path) -> Result<Place, Error> {
    let mut last = None;
    for dir in own
        .ancestors()
        .take_while(|dir| dir.starts_with(mount_point))
    {
        let switch = dir.join("cgroup.subtree_control");
        // Fails where processes are in it, which is then told by what the file says.
        if dir == own && !passes_on(&switch) {
            let _ = std::fs::write(&switch, "+memory");
        }
        if !passes_on(&switch) {
            continue;
        }
        if is_writable(dir) {
            return Ok(Place {
                dir: dir.to_owned(),
                version: Version::V2,
            });
        }
        last = Some(no_permission(dir));
    }
    Err(last.unwrap_or_else(|| {
        let own = own.display();
        Error::NoCgroup(format!("no cgroup above {own} accounts for memory"))
    }))
}

#[cfg(target_os = "linux")]
fn passes_on(subtree_control: &Path) -> bool {
    let controllers = std::fs::read_to_string(subtree_control).unwrap_or_default();
    controllers.split_whitespace().any(|name| name == "memory")
}

#[cfg(target_os = "linux")]
fn is_writable(dir: &Path) -> bool {
    use rustix::fs::{Access, access};
    // The id of a process is written to it when the process moves.
    access(dir, Access::WRITE_OK).is_ok()
        && access(dir.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

#[cfg(target_os = "linux")]
fn no_permission(dir: &Path) -> Error {
    Error::NoCgroup(format!(
        "this user may not write to {}; run as root, or in a scope of its own: systemd-run --user --scope -p Delegate=yes",
        dir.display()
    ))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_found_in_what_is_mounted() {
        let mount = Path::new("/sys/fs/cgroup/memory");
        for (name, root, cgroup, want) in [
            (
                "the machine",
                "/",
                "/system.slice/x",
                "/sys/fs/cgroup/memory/system.slice/x",
            ),
            ("the root", "/", "/", "/sys/fs/cgroup/memory/"),
            (
                "a container",
                "/docker/1",
                "/docker/1/in",
                "/sys/fs/cgroup/memory/in",
            ),
            (
                "another namespace",
                "/",
                "/../else",
                "/sys/fs/cgroup/memory",
            ),
        ] {
            assert_eq!(below(mount, root, cgroup), Path::new(want), "{name}");
        }
    }

    /// A folder that looks like a v2 hierarchy.
    fn tree(name: &str, folders: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tare-v2-{name}-{}", std::process::id()));
        for (folder, controllers) in folders {
            let dir = root.join(folder);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("cgroup.subtree_control"), controllers).unwrap();
            std::fs::write(dir.join("cgroup.procs"), "").unwrap();
        }
        root
    }

    #[test]
    fn v2_takes_the_nearest_that_accounts_for_memory() {
        let root = tree(
            "nearest",
            &[("", "memory"), ("a", "cpu memory pids"), ("a/b", "cpu")],
        );
        // The test's file takes what is written to it; a kernel would refuse.
        std::fs::remove_file(root.join("a/b/cgroup.subtree_control")).unwrap();
        std::fs::create_dir(root.join("a/b/cgroup.subtree_control")).unwrap();
        let place = v2(&root.join("a/b"), &root).unwrap();
        assert_eq!((place.dir, place.version), (root.join("a"), Version::V2));
        std::fs::remove_dir_all(root).unwrap();

        let none = tree("none", &[("a", "cpu")]);
        std::fs::remove_file(none.join("a/cgroup.subtree_control")).unwrap();
        let error = v2(&none.join("a/b"), &none).unwrap_err().to_string();
        assert!(error.contains("accounts for memory"), "{error}");
        std::fs::remove_dir_all(none).unwrap();
    }
}
