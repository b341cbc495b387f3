//! Every line of the table, for facts that are wrong in one way each.

use tare_procstat::Machine;

use crate::cli::doctor::checks::*;

fn facts() -> Facts {
    Facts {
        machine: Machine {
            kernel: None,
            cpu_model: None,
            cores: Some(4),
            memory_bytes: Some(8 << 30),
            page_size_bytes: Some(PAGE_BYTES),
            transparent_huge_pages: Some("madvise".into()),
            cgroup: Some(Cgroup::V2),
            swap: Some(false),
        },
        available_bytes: Some(8 << 30),
        open_files: (Some(4096), None),
        root: true,
        memory_refusal: None,
        peak_refusal: None,
        cargo: Some("cargo 1.90".into()),
        go: Some("go1.26".into()),
        c_compiler: Some("gcc".into()),
        control_plane: Err(controlplane::Error::NoCache),
        tools: vec![("git", "no revision", Some("/usr/bin/git".into()))],
    }
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    type Change = fn(&mut Facts);
    let cases: Vec<(&str, Change, State, &str)> = vec![
        (
            "cores",
            |f| f.machine.cores = Some(1),
            State::Warning,
            "latencies",
        ),
        (
            "memory",
            |f| f.available_bytes = Some(100 << 20),
            State::Missing,
            "--objects with fewer",
        ),
        (
            "memory",
            |f| f.available_bytes = Some(needed_bytes(5_000, 0, ControlPlane::Kubesim)),
            State::Warning,
            "with a real control plane",
        ),
        (
            "open files",
            |f| f.open_files.0 = Some(256),
            State::Warning,
            "ulimit -n 1024",
        ),
        (
            "page size",
            |f| f.machine.page_size_bytes = Some(65_536),
            State::Warning,
            "65536",
        ),
        (
            "huge pages",
            |f| f.machine.transparent_huge_pages = Some("always".into()),
            State::Warning,
            "echo madvise",
        ),
        (
            "swap",
            |f| f.machine.swap = Some(true),
            State::Warning,
            "swapoff",
        ),
        (
            "smaps_rollup",
            |f| f.memory_refusal = Some("cannot read".into()),
            State::Missing,
            "Linux 4.14",
        ),
        (
            "cgroup",
            |f| f.machine.cgroup = None,
            State::Warning,
            "memory limit",
        ),
        ("root", |f| f.root = false, State::Warning, "images"),
        ("cargo", |f| f.cargo = None, State::Warning, "--no-build"),
        ("control plane", |_| {}, State::Missing, "set HOME"),
        ("go", |f| f.go = None, State::Missing, "install 1."),
        (
            "C compiler",
            |f| f.c_compiler = None,
            State::Missing,
            "install gcc",
        ),
        (
            "git",
            |f| f.tools[0].2 = None,
            State::Missing,
            "no revision",
        ),
    ];
    for (name, change, state, says) in cases {
        let mut facts = facts();
        change(&mut facts);
        let checks = all(&facts, 5_000);
        let check = checks.iter().find(|check| check.name == name).expect(name);
        assert_eq!(check.state, state, "{name}");
        assert!(check.says.contains(says), "{name}: {}", check.says);
    }
}

#[test]
fn only_what_no_bench_runs_without_fails() {
    let needed = |facts: &Facts| {
        all(facts, 5_000)
            .iter()
            .any(|check| check.needed && check.state == State::Missing)
    };
    let mut facts = facts();
    facts.go = None;
    facts.tools[0].2 = None;
    assert!(!needed(&facts));
    facts.peak_refusal = Some("refused".into());
    assert!(needed(&facts));
}
