//! The machine that figures were taken on. Guarantees: what cannot be read is `None`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::weigh::parse;

/// The fields of a report's `environment` that are read off the machine.
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

/// Which cgroup hierarchies are mounted.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Cgroup {
    V1,
    V2,
    /// Controllers in v1, and a v2 tree beside them.
    Hybrid,
}

/// Reads the machine.
pub fn machine() -> Machine {
    let meminfo = text("/proc/meminfo").unwrap_or_default();
    Machine {
        kernel: rustix::system::uname()
            .release()
            .to_str()
            .ok()
            .map(str::to_owned),
        cpu_model: text("/proc/cpuinfo").and_then(|cpuinfo| parse::cpu_model(&cpuinfo)),
        cores: std::thread::available_parallelism().ok().map(usize::from),
        memory_bytes: parse::kib_field(&meminfo, "MemTotal:").ok(),
        page_size_bytes: Some(rustix::param::page_size() as u64),
        transparent_huge_pages: text("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|choices| parse::bracketed(&choices)),
        cgroup: mountinfo().and_then(|mounts| parse::cgroup(&mounts)),
        swap: parse::kib_field(&meminfo, "SwapTotal:")
            .ok()
            .map(|bytes| bytes > 0),
    }
}

/// The type of the filesystem that an existing path is on, such as `ext4`.
pub fn filesystem(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    parse::filesystem(&mountinfo()?, &path)
}

fn mountinfo() -> Option<String> {
    text("/proc/self/mountinfo")
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_says_what_every_linux_says() {
        let machine = machine();
        assert!(machine.kernel.is_some());
        assert!(machine.memory_bytes > Some(64 << 20));
        assert!(machine.page_size_bytes >= Some(4096));
        assert!(machine.swap.is_some());
        assert_eq!(filesystem(Path::new("/proc/self")).as_deref(), Some("proc"));
    }
}
