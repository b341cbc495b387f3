//! The kernel's texts, taken apart. Guarantees: pure; a missing or unreadable field is an error
//! that names it. The formats: proc(5), and Documentation/filesystems/proc.rst in Linux.

use crate::weigh::{Cgroup, Memory};

pub(crate) fn smaps_rollup(text: &str) -> Result<Memory, &'static str> {
    Ok(Memory {
        rss_bytes: kib_field(text, "Rss:")?,
        pss_bytes: kib_field(text, "Pss:")?,
        anon_bytes: kib_field(text, "Anonymous:")?,
    })
}

/// Bytes of a `Name:   123 kB` line; the kernel's kB is 1,024 bytes.
pub(crate) fn kib_field(text: &str, name: &'static str) -> Result<u64, &'static str> {
    let value = field(text, name)?.strip_suffix("kB").ok_or(name)?;
    let kib: u64 = value.trim().parse().map_err(|_| name)?;
    kib.checked_mul(1024).ok_or(name)
}

pub(crate) fn number_field(text: &str, name: &'static str) -> Result<u64, &'static str> {
    field(text, name)?.parse().map_err(|_| name)
}

pub(crate) fn context_switches(status: &str) -> Result<u64, &'static str> {
    Ok(number_field(status, "voluntary_ctxt_switches:")?
        + number_field(status, "nonvoluntary_ctxt_switches:")?)
}

/// The first `model name` of `/proc/cpuinfo`; some ARM kernels only have `Model` or `Hardware`.
pub(crate) fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "Hardware"]
        .into_iter()
        .find_map(|name| {
            cpuinfo.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            })
        })
}

/// The choice in brackets: `always [madvise] never`.
pub(crate) fn bracketed(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (choice, _) = rest.split_once(']')?;
    Some(choice.to_owned())
}

/// Which cgroup hierarchies `/proc/self/mountinfo` shows.
pub(crate) fn cgroup(mountinfo: &str) -> Option<Cgroup> {
    let has = |kind| mounts(mountinfo).any(|mount| mount.filesystem == kind);
    match (has("cgroup"), has("cgroup2")) {
        (true, true) => Some(Cgroup::Hybrid),
        (true, false) => Some(Cgroup::V1),
        (false, true) => Some(Cgroup::V2),
        (false, false) => None,
    }
}

/// The type of the filesystem that an absolute path is on: the longest mount point above it, and
/// of several on one point the last, which hides the others.
pub(crate) fn filesystem(mountinfo: &str, path: &std::path::Path) -> Option<String> {
    mounts(mountinfo)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.len())
        .map(|mount| mount.filesystem.to_owned())
}

struct Mount<'a> {
    point: String,
    filesystem: &'a str,
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw`: the optional fields before
/// the dash vary in number.
fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (place, device) = line.split_once(" - ")?;
        Some(Mount {
            point: unescape(place.split(' ').nth(4)?),
            filesystem: device.split(' ').next()?,
        })
    })
}

/// Undoes the kernel's octal escapes of blanks and backslashes.
fn unescape(point: &str) -> String {
    point
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

fn field<'a>(text: &'a str, name: &'static str) -> Result<&'a str, &'static str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
        .ok_or(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn memory_is_read_from_a_rollup() {
        // From Linux 6.18; older kernels leave out the Pss_ lines.
        const ROLLUP: &str = "\
55d4b6a00000-7ffd2a5e6000 ---p 00000000 00:00 0                          [rollup]
Rss:                5124 kB
Pss:                3071 kB
Pss_Dirty:           724 kB
Pss_Anon:            500 kB
Pss_File:           2571 kB
Shared_Clean:       2300 kB
Private_Dirty:       724 kB
Anonymous:           512 kB
KSM:                   0 kB
AnonHugePages:         0 kB
";
        let want = Memory {
            rss_bytes: 5124 * 1024,
            pss_bytes: 3071 * 1024,
            anon_bytes: 512 * 1024,
        };
        for (name, text, want) in [
            ("whole", ROLLUP.to_owned(), Ok(want)),
            ("empty, as of a zombie", String::new(), Err("Rss:")),
            (
                "no anonymous line",
                ROLLUP.replace("\nAnonymous:", "\nOther:"),
                Err("Anonymous:"),
            ),
            (
                "another unit",
                ROLLUP.replace("3071 kB", "3071 MB"),
                Err("Pss:"),
            ),
            ("no number", ROLLUP.replace("5124", "many"), Err("Rss:")),
            (
                "overflow",
                ROLLUP.replace("5124", &u64::MAX.to_string()),
                Err("Rss:"),
            ),
        ] {
            assert_eq!(smaps_rollup(&text), want, "{name}");
        }
    }

    #[test]
    fn a_status_gives_peak_threads_and_switches() {
        let status = "Name:\tsh\nVmHWM:\t    2048 kB\nThreads:\t3\n\
                      voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(kib_field(status, "VmHWM:"), Ok(2 << 20));
        assert_eq!(number_field(status, "Threads:"), Ok(3));
        assert_eq!(context_switches(status), Ok(695));
        assert_eq!(
            context_switches("Name:\tsh\n"),
            Err("voluntary_ctxt_switches:")
        );
    }

    #[test]
    fn a_cpu_model_is_found_where_there_is_one() {
        for (name, cpuinfo, want) in [
            (
                "x86",
                "processor\t: 0\nmodel\t\t: 106\nmodel name\t: Xeon\n",
                Some("Xeon"),
            ),
            (
                "Raspberry Pi",
                "processor\t: 0\n\nModel\t: Raspberry Pi 4\n",
                Some("Raspberry Pi 4"),
            ),
            ("bare arm64", "processor\t: 0\nBogoMIPS\t: 50\n", None),
        ] {
            assert_eq!(cpu_model(cpuinfo).as_deref(), want, "{name}");
        }
    }

    #[test]
    fn the_bracketed_choice_is_taken() {
        assert_eq!(
            bracketed("always [madvise] never\n").as_deref(),
            Some("madvise")
        );
        assert_eq!(bracketed("always madvise never\n"), None);
    }

    const ROOT: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";

    #[test]
    fn cgroup_versions_are_told_apart() {
        let v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
        let v2 = "41 31 0:38 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n";
        for (name, mountinfo, want) in [
            ("v1", format!("{ROOT}{v1}"), Some(Cgroup::V1)),
            ("v2", format!("{ROOT}{v2}"), Some(Cgroup::V2)),
            ("both", format!("{ROOT}{v1}{v2}"), Some(Cgroup::Hybrid)),
            ("none", ROOT.to_owned(), None),
        ] {
            assert_eq!(cgroup(&mountinfo), want, "{name}");
        }
    }

    #[test]
    fn a_filesystem_is_that_of_the_nearest_mount() {
        let mountinfo = format!(
            "{ROOT}30 27 0:27 / /data rw shared:1 master:2 - xfs /dev/b rw\n\
             31 27 0:28 / /my\\040disk rw - btrfs /dev/c rw\n\
             32 27 0:29 / /data rw - tmpfs over rw\n"
        );
        for (path, want) in [
            ("/etc/hosts", "ext4"),
            ("/database", "ext4"),
            ("/my disk/x", "btrfs"),
            ("/data/run", "tmpfs"),
        ] {
            assert_eq!(
                filesystem(&mountinfo, Path::new(path)).as_deref(),
                Some(want),
                "{path}"
            );
        }
        assert_eq!(filesystem("", Path::new("/x")), None);
    }
}
