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
        let path = path.as_ref().map(|path| path.display().to_string());
        checks.push(tool(name, without, path.as_ref()));
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

fn ok(name: &'static str, says: impl Into<String>) -> Check {
    check(name, State::Ok, says)
}

fn warning(name: &'static str, says: impl Into<String>) -> Check {
    check(name, State::Warning, says)
}

fn missing(name: &'static str, says: impl Into<String>) -> Check {
    check(name, State::Missing, says)
}

/// What every bench needs, and does not have.
fn refused(name: &'static str, says: String) -> Check {
    Check {
        needed: true,
        ..missing(name, says)
    }
}

fn cores(facts: &Facts) -> Check {
    match facts.machine.cores {
        Some(1) => warning(
            "cores",
            "1: API server, subject and generator share it, so latencies are not meaningful",
        ),
        Some(cores) => ok("cores", cores.to_string()),
        None => warning("cores", "unknown"),
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
        return warning(MEMORY, format!("unknown; {needs}"));
    };
    let says = format!("{} MB available; {needs}", mb(available));
    if available < simulated {
        return refused(MEMORY, format!("{says}; try --objects with fewer"));
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
        return warning("open files", says);
    }
    ok("open files", says)
}

fn page_size(facts: &Facts) -> Check {
    match facts.machine.page_size_bytes {
        Some(PAGE_BYTES) => ok("page size", format!("{PAGE_BYTES} bytes")),
        Some(other) => warning(
            "page size",
            format!("{other} bytes: resident memory is not comparable with pages of {PAGE_BYTES}"),
        ),
        None => warning("page size", "unknown"),
    }
}

fn huge_pages(facts: &Facts) -> Check {
    let name = "huge pages";
    match facts.machine.transparent_huge_pages.as_deref() {
        Some("always") => warning(
            name,
            "always: heaps take more memory than they use; to change it, run \
             echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(choice) => ok(name, choice),
        None => ok(name, "none"),
    }
}

fn swap(facts: &Facts) -> Check {
    match facts.machine.swap {
        Some(true) => warning(
            "swap",
            "on: memory that is swapped out is missing in RSS; run swapoff -a",
        ),
        Some(false) => ok("swap", "none"),
        None => warning("swap", "unknown"),
    }
}

fn process_memory(facts: &Facts) -> Check {
    let name = "smaps_rollup";
    match &facts.memory_refusal {
        None => ok(name, "memory of a process can be read"),
        Some(refusal) => refused(name, format!("{refusal}; needs Linux 4.14 or newer")),
    }
}

fn memory_peak(facts: &Facts) -> Check {
    let name = "clear_refs";
    match &facts.peak_refusal {
        None => ok(name, "memory peak of a process can be reset"),
        Some(refusal) => refused(
            name,
            format!("{refusal}; the kernel needs CONFIG_PROC_PAGE_MONITOR"),
        ),
    }
}

fn cgroup(facts: &Facts) -> Check {
    let name = "cgroup";
    match facts.machine.cgroup {
        Some(Cgroup::V2) => ok(name, "v2"),
        Some(Cgroup::V1) => ok(name, "v1"),
        Some(Cgroup::Hybrid) => ok(name, "v1 and v2 side by side"),
        None => warning(name, "not mounted: images cannot run with a memory limit"),
    }
}

fn root(facts: &Facts) -> Check {
    if facts.root {
        ok("root", "yes")
    } else {
        warning("root", "no: needed only for images with a memory limit")
    }
}

fn cargo(facts: &Facts) -> Check {
    let without =
        "subjects cannot be built: only bench --no-build works; install Rust (https://rustup.rs)";
    let version = facts.cargo.as_ref();
    version.map_or(warning("cargo", without), |version| ok("cargo", version))
}

fn control_plane(facts: &Facts) -> Check {
    let name = CONTROL_PLANE;
    match &facts.control_plane {
        Ok(binaries) => found(name, binaries),
        // Both say what to do in a line of their own; the simulated server needs none of it.
        Err(error) => missing(name, error.to_string()),
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
        return ok(name, folder.to_string());
    }
    let absent = absent.join(" and ");
    warning(
        name,
        format!("{folder}, without {absent}; run loadgen control-plane build"),
    )
}

fn go(facts: &Facts) -> Check {
    let wanted = controlplane::build::go_version();
    let without = format!(
        "needed only to build a control plane and the Go rivals; install {wanted} or newer"
    );
    tool("go", &without, facts.go.as_ref())
}

fn c_compiler(facts: &Facts) -> Check {
    let without = "needed only to build kine; install gcc";
    tool("C compiler", without, facts.c_compiler.as_ref())
}

/// What was found of a program, or what is missing without it.
fn tool(name: &'static str, without: &str, found: Option<&String>) -> Check {
    found.map_or(missing(name, without), |found| ok(name, found))
}
