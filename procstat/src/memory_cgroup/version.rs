//! The files of a memory cgroup, by version of the interface.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1/memory.rst` of the kernel.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::error::Error;
use crate::memory_cgroup::CgroupMemory;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    /// # Errors
    /// `Read` or `Field`.
    pub fn memory(self, dir: &Path, peak: Option<&File>) -> Result<CgroupMemory, Error> {
        let stat = text(dir, "memory.stat")?;
        let (usage, inactive_file, anon) = match self {
            Version::V1 => ("memory.usage_in_bytes", "total_inactive_file", "total_rss"),
            Version::V2 => ("memory.current", "inactive_file", "anon"),
        };
        let unused_bytes = line(&stat, inactive_file).ok_or_else(|| Error::Field {
            path: dir.join("memory.stat"),
            field: inactive_file,
        })?;
        let number = |name| bytes(dir, name).ok();
        Ok(CgroupMemory {
            // The two are not read at the same moment.
            working_set_bytes: bytes(dir, usage)?.saturating_sub(unused_bytes),
            anon_bytes: line(&stat, anon),
            peak_bytes: match (self, peak) {
                (Version::V1, _) => number("memory.max_usage_in_bytes"),
                (Version::V2, None) => number("memory.peak"),
                (Version::V2, Some(open)) => read_again(open),
            },
            kernel_bytes: match self {
                Version::V1 => number("memory.kmem.usage_in_bytes"),
                Version::V2 => line(&stat, "kernel"),
            },
            socket_bytes: match self {
                Version::V1 => number("memory.kmem.tcp.usage_in_bytes"),
                Version::V2 => line(&stat, "sock"),
            },
        })
    }

    /// # Errors
    /// `Write`.
    pub fn limit(self, dir: &Path, bytes: u64) -> Result<(), Error> {
        let (limit, swap) = match self {
            Version::V1 => (
                "memory.limit_in_bytes",
                ("memory.memsw.limit_in_bytes", bytes),
            ),
            Version::V2 => ("memory.max", ("memory.swap.max", 0)),
        };
        write(dir, limit, &bytes.to_string())?;
        // A kernel without swap accounting has no such file.
        match dir.join(swap.0).is_file() {
            true => write(dir, swap.0, &swap.1.to_string()),
            false => Ok(()),
        }
    }

    /// # Errors
    /// `Read` or `Field`.
    pub fn kills(self, dir: &Path) -> Result<u64, Error> {
        let file = match self {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let field = "oom_kill";
        line(&text(dir, file)?, field).ok_or_else(|| Error::Field {
            path: dir.join(file),
            field,
        })
    }

    /// The open file that holds the new peak, where one is needed.
    ///
    /// # Errors
    /// `Write`.
    pub fn reset_peak(self, dir: &Path) -> Result<Option<File>, Error> {
        let path = match self {
            Version::V1 => dir.join("memory.max_usage_in_bytes"),
            Version::V2 => dir.join("memory.peak"),
        };
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(b"0").map(|()| file));
        let file = written.map_err(|source| Error::Write { path, source })?;
        Ok(match self {
            Version::V1 => None,
            Version::V2 => Some(file),
        })
    }
}

fn text(dir: &Path, name: &str) -> Result<String, Error> {
    let path = dir.join(name);
    std::fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
}

/// # Errors
/// `Write`.
pub(crate) fn write(dir: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = dir.join(name);
    let written = std::fs::write(&path, text);
    written.map_err(|source| Error::Write { path, source })
}

fn bytes(dir: &Path, name: &'static str) -> Result<u64, Error> {
    let found = text(dir, name)?.trim().parse();
    found.map_err(|_| Error::Field {
        path: dir.join(name),
        field: name,
    })
}

/// The number behind a name, where a file has one on each line.
fn line(text: &str, name: &str) -> Option<u64> {
    let mut numbers = text.lines().filter_map(|line| line.split_once(' '));
    let (_, number) = numbers.find(|(found, _)| *found == name)?;
    number.trim().parse().ok()
}

fn read_again(mut open: &File) -> Option<u64> {
    let mut text = String::new();
    open.rewind().ok()?;
    open.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_and_kills_are_read_in_both_versions() {
        let root = std::env::temp_dir().join(format!("tare-limit-{}", std::process::id()));
        for (version, limit, swap, kills) in [
            (
                Version::V1,
                "memory.limit_in_bytes",
                ("memory.memsw.limit_in_bytes", "64"),
                (
                    "memory.oom_control",
                    "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
                ),
            ),
            (
                Version::V2,
                "memory.max",
                ("memory.swap.max", "0"),
                ("memory.events", "low 0\noom 3\noom_kill 2\n"),
            ),
        ] {
            let dir = root.join(format!("{version:?}"));
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join(kills.0), kills.1).unwrap();
            version.limit(&dir, 64).unwrap();
            assert_eq!(text(&dir, limit).unwrap(), "64");
            assert!(!dir.join(swap.0).exists(), "it is not made");
            std::fs::write(dir.join(swap.0), "max").unwrap();
            version.limit(&dir, 64).unwrap();
            assert_eq!(text(&dir, swap.0).unwrap(), swap.1);
            assert_eq!(version.kills(&dir).unwrap(), 2);
        }
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn both_versions_say_the_same() {
        let root = std::env::temp_dir().join(format!("tare-memory-{}", std::process::id()));
        let want = CgroupMemory {
            working_set_bytes: 7_000,
            anon_bytes: Some(5),
            peak_bytes: Some(9_000),
            kernel_bytes: Some(600),
            socket_bytes: Some(50),
        };
        for (version, files) in [
            (
                Version::V2,
                [
                    ("memory.current", "8000\n"),
                    (
                        "memory.stat",
                        "anon 5\nkernel 600\nsock 50\ninactive_file 1000\nactive_file 2\n",
                    ),
                    ("memory.peak", "9000\n"),
                ]
                .as_slice(),
            ),
            (
                Version::V1,
                &[
                    ("memory.usage_in_bytes", "8000\n"),
                    (
                        "memory.stat",
                        "rss 1\ninactive_file 1\ntotal_rss 5\ntotal_inactive_file 1000\n",
                    ),
                    ("memory.max_usage_in_bytes", "9000\n"),
                    ("memory.kmem.usage_in_bytes", "600\n"),
                    ("memory.kmem.tcp.usage_in_bytes", "50\n"),
                ],
            ),
        ] {
            let dir = root.join(format!("{version:?}"));
            std::fs::create_dir_all(&dir).unwrap();
            for (name, text) in files {
                std::fs::write(dir.join(name), text).unwrap();
            }
            assert_eq!(version.memory(&dir, None).unwrap(), want, "{version:?}");
        }
        std::fs::write(root.join("V2/memory.stat"), "anon 5\n").unwrap();
        let error = Version::V2.memory(&root.join("V2"), None).unwrap_err();
        assert!(
            error.to_string().contains("no field inactive_file"),
            "{error}"
        );
        std::fs::remove_dir_all(root).unwrap();
    }
}
