//! The machine that figures were taken on.
//!
//! Guarantees: what cannot be read is `None`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cgroup::Cgroup;

/// The facts of a machine that a figure depends on.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Kernel release, such as `6.18.44`.
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    /// Cores this process may use, after affinity and cgroup quota.
    pub cores: Option<usize>,
    /// Physical memory; a cgroup may allow less.
    pub memory_bytes: Option<u64>,
    pub page_size_bytes: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    pub cgroup: Option<Cgroup>,
    /// Whether there is swap space.
    pub swap: Option<bool>,
}

/// Reads the facts of this machine.
pub fn machine() -> Machine {
    let (memory_bytes, swap_bytes) = memory_and_swap_bytes().unzip();
    Machine {
        kernel: rustix::system::uname()
            .release()
            .to_str()
            .ok()
            .map(str::to_owned),
        cpu_model: text("/proc/cpuinfo").and_then(|cpuinfo| cpu_model(&cpuinfo)),
        cores: std::thread::available_parallelism().ok().map(usize::from),
        memory_bytes,
        page_size_bytes: Some(rustix::param::page_size() as u64),
        transparent_huge_pages: text("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|choices| bracketed(&choices)),
        cgroup: Cgroup::mounted(),
        swap: swap_bytes.map(|bytes| bytes > 0),
    }
}

/// The type of the filesystem that an existing path is on, such as `ext4`.
pub fn filesystem(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    #[cfg(target_os = "linux")]
    return crate::mounts::filesystem(&crate::mounts::mounts()?, &path);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
}

#[cfg(target_os = "linux")]
fn memory_and_swap_bytes() -> Option<(u64, u64)> {
    use procfs::Current;

    let memory = procfs::Meminfo::current().ok()?;
    Some((memory.mem_total, memory.swap_total))
}

#[cfg(not(target_os = "linux"))]
fn memory_and_swap_bytes() -> Option<(u64, u64)> {
    None
}

/// The first `model name` of `/proc/cpuinfo`; some ARM kernels only have `Model` or `Hardware`, in a
/// section of its own, which procfs 0.18 skips.
fn cpu_model(cpuinfo: &str) -> Option<String> {
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
fn bracketed(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (choice, _) = rest.split_once(']')?;
    Some(choice.to_owned())
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says_what_every_linux_says() {
        let machine = machine();
        assert!(machine.kernel.is_some());
        assert!(machine.memory_bytes > Some(64 << 20));
        assert!(machine.page_size_bytes >= Some(4096));
        assert!(machine.swap.is_some());
        assert_eq!(filesystem(Path::new("/proc/self")).as_deref(), Some("proc"));
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
}
