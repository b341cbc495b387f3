//! The checks. Pure: the same facts give the same lines.

#[cfg(test)]
pub mod tests;

use controlplane::Binaries;
use tare_procstat::Cgroup;

use crate::cli::bench::plan::needed_bytes;
use crate::cli::doctor::facts::Facts;
use crate::spec::control_plane::ControlPlane;

/// The harness, a server and a subject with a connection for each of some hundred objects.
const OPEN_FILES: u64 = 1024;
/// What figures of other machines were taken with.
const PAGE_BYTES: u64 = 4096;
const MEMORY: &str = "memory";
const CONTROL_PLANE: &str = "control plane";

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Check {
    pub name: &'static str,
    pub state: State,
    /// What it means, and what to do where it is not ok.
    #[serde(rename = "message")]
    pub says: String,
    /// Whether every bench needs it.
    pub needed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Ok,
    Warning,
    Missing,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Missing => "missing",
        }
    }
}

pub(crate) fn all(facts: &Facts, objects: usize) -> Vec<Check> {
    let mut checks = vec![
        cores(facts),
        memory_for(facts, objects),
        open_files(facts),
        page_size(facts),
        huge_pages(facts),
        swap(facts),
        process_memory(facts),
        memory_peak(facts),
        cgroup(facts),
        root(facts),
        cargo(facts),
        control_plane(facts),
        go(facts),
        c_compiler(facts),
    ];
    for (name, without, path) in &facts.tools {
        checks.push(match path {
            Some(path) => check(name, State::Ok, path.display().to_string()),
            None => check(name, State::Missing, (*without).to_owned()),
        });
    }
    checks
}

/// Whether a bench against a real control plane can run, too.
pub(crate) fn real_too(checks: &[Check]) -> bool {
    let fine = |check: &Check| match check.name {
        MEMORY => check.state == State::Ok,
        // Without kine or kubectl there is still etcd.
        CONTROL_PLANE => check.state != State::Missing,
        _ => true,
    };
    checks.iter().all(fine)
}

fn check(name: &'static str, state: State, says: impl Into<String>) -> Check {
    Check {
        name,
        state,
        says: says.into(),
        needed: false,
    }
}

fn cores(facts: &Facts) -> Check {
    match facts.machine.cores {
        Some(1) => check(
            "cores",
            State::Warning,
            "1: API server, subject and generator share it, so latencies are not meaningful",
        ),
        Some(cores) => check("cores", State::Ok, cores.to_string()),
        None => check("cores", State::Warning, "unknown"),
    }
}

fn memory_for(facts: &Facts, objects: usize) -> Check {
    let (simulated, real) = (
        needed_bytes(objects, 0, ControlPlane::Kubesim),
        needed_bytes(objects, 0, ControlPlane::Kube),
    );
    let needs = format!(
        "{objects} objects need about {} MB simulated, {} MB with a real control plane",
        mb(simulated),
        mb(real)
    );
    let Some(available) = facts.available_bytes else {
        return check(MEMORY, State::Warning, format!("unknown; {needs}"));
    };
    let says = format!("{} MB available; {needs}", mb(available));
    if available < simulated {
        return Check {
            needed: true,
            ..check(
                "memory",
                State::Missing,
                format!("{says}; try --objects with fewer"),
            )
        };
    }
    let state = if available < real {
        State::Warning
    } else {
        State::Ok
    };
    check(MEMORY, state, says)
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}

fn open_files(facts: &Facts) -> Check {
    let word = |limit: Option<u64>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    let (soft, hard) = facts.open_files;
    let says = format!("{} (hard limit {})", word(soft), word(hard));
    if soft.is_some_and(|soft| soft < OPEN_FILES) {
        let says = format!("{says}: too few for a burst; run ulimit -n {OPEN_FILES}");
        return check("open files", State::Warning, says);
    }
    check("open files", State::Ok, says)
}

fn page_size(facts: &Facts) -> Check {
    match facts.machine.page_size_bytes {
        Some(PAGE_BYTES) => check("page size", State::Ok, format!("{PAGE_BYTES} bytes")),
        Some(other) => check(
            "page size",
            State::Warning,
            format!("{other} bytes: resident memory is not comparable with pages of {PAGE_BYTES}"),
        ),
        None => check("page size", State::Warning, "unknown"),
    }
}

fn huge_pages(facts: &Facts) -> Check {
    let name = "huge pages";
    match facts.machine.transparent_huge_pages.as_deref() {
        Some("always") => check(
            name,
            State::Warning,
            "always: heaps take more memory than they use; to change it, run \
             echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(choice) => check(name, State::Ok, choice),
        None => check(name, State::Ok, "none"),
    }
}

fn swap(facts: &Facts) -> Check {
    match facts.machine.swap {
        Some(true) => check(
            "swap",
            State::Warning,
            "on: memory that is swapped out is missing in RSS; run swapoff -a",
        ),
        Some(false) => check("swap", State::Ok, "none"),
        None => check("swap", State::Warning, "unknown"),
    }
}

fn process_memory(facts: &Facts) -> Check {
    let name = "smaps_rollup";
    match &facts.memory_refusal {
        None => check(name, State::Ok, "memory of a process can be read"),
        Some(refusal) => Check {
            needed: true,
            ..check(
                name,
                State::Missing,
                format!("{refusal}; needs Linux 4.14 or newer"),
            )
        },
    }
}

fn memory_peak(facts: &Facts) -> Check {
    let name = "clear_refs";
    match &facts.peak_refusal {
        None => check(name, State::Ok, "memory peak of a process can be reset"),
        Some(refusal) => Check {
            needed: true,
            ..check(
                name,
                State::Missing,
                format!("{refusal}; the kernel needs CONFIG_PROC_PAGE_MONITOR"),
            )
        },
    }
}

fn cgroup(facts: &Facts) -> Check {
    let name = "cgroup";
    match facts.machine.cgroup {
        Some(Cgroup::V2) => check(name, State::Ok, "v2"),
        Some(Cgroup::V1) => check(name, State::Ok, "v1"),
        Some(Cgroup::Hybrid) => check(name, State::Ok, "v1 and v2 side by side"),
        None => check(
            name,
            State::Warning,
            "not mounted: images cannot run with a memory limit",
        ),
    }
}

fn root(facts: &Facts) -> Check {
    if facts.root {
        check("root", State::Ok, "yes")
    } else {
        check(
            "root",
            State::Warning,
            "no: needed only for images with a memory limit",
        )
    }
}

fn cargo(facts: &Facts) -> Check {
    match &facts.cargo {
        Some(version) => check("cargo", State::Ok, version.as_str()),
        None => check(
            "cargo",
            State::Warning,
            "subjects cannot be built: only bench --no-build works; install Rust (https://rustup.rs)",
        ),
    }
}

fn control_plane(facts: &Facts) -> Check {
    let name = CONTROL_PLANE;
    match &facts.control_plane {
        Ok(binaries) => found(name, binaries),
        // Both say what to do in a line of their own; the simulated server needs none of it.
        Err(error) => check(name, State::Missing, error.to_string()),
    }
}

fn found(name: &'static str, binaries: &Binaries) -> Check {
    let folder = binaries
        .kube_apiserver
        .parent()
        .unwrap_or(&binaries.kube_apiserver);
    let folder = folder.display();
    let absent: Vec<&str> = [("kine", &binaries.kine), ("kubectl", &binaries.kubectl)]
        .iter()
        .filter(|(_, path)| path.is_none())
        .map(|(name, _)| *name)
        .collect();
    if absent.is_empty() {
        return check(name, State::Ok, folder.to_string());
    }
    let absent = absent.join(" and ");
    check(
        name,
        State::Warning,
        format!("{folder}, without {absent}; run loadgen control-plane build"),
    )
}

fn go(facts: &Facts) -> Check {
    match &facts.go {
        Some(version) => check("go", State::Ok, version.as_str()),
        None => {
            let wanted = controlplane::build::go_version();
            check(
                "go",
                State::Missing,
                format!(
                    "needed only to build a control plane and the Go rivals; install {wanted} or newer"
                ),
            )
        }
    }
}

fn c_compiler(facts: &Facts) -> Check {
    match &facts.c_compiler {
        Some(command) => check("C compiler", State::Ok, command.as_str()),
        None => check(
            "C compiler",
            State::Missing,
            "needed only to build kine; install gcc",
        ),
    }
}
