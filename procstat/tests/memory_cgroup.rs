//! Processes in a memory cgroup of their own; says so and passes where none can be made.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tare_procstat::process::{Process, Spec};
use tare_procstat::{Error, MemoryCgroup, Tree};

const MIB: u64 = 1 << 20;

/// `None` where this machine or user cannot have one.
fn cgroup() -> Option<MemoryCgroup> {
    match MemoryCgroup::create() {
        Ok(cgroup) => Some(cgroup),
        Err(error @ Error::NoCgroup(_)) => {
            println!("not tested: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn shell(name: &str, script: &str) -> Spec {
    let folder = format!("memory-cgroup-{}", std::process::id());
    Spec {
        name: name.to_owned(),
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: Vec::new(),
        folder: None,
        clear_env: false,
        log: PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(folder)
            .join(name),
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn all_memory_of_a_child_is_in_its_cgroup() {
    let Some(mut cgroup) = cgroup() else { return };
    let before = cgroup.memory().unwrap();
    assert!(before.working_set_bytes < MIB, "{before:?}");
    // A variable of 16 MiB; the shell holds at least one copy of it.
    let script = "v=$(head -c 16777216 /dev/zero | tr '\\0' x); sleep 1000; echo ${#v}";
    let child = Process::spawn_in(shell("holds", script), &cgroup)
        .await
        .unwrap();
    let processes = std::fs::read_to_string(cgroup.path().join("cgroup.procs")).unwrap();
    assert!(
        processes.lines().any(|pid| pid == child.pid().to_string()),
        "{processes}"
    );
    let working_set = || cgroup.memory().unwrap().working_set_bytes;
    until("its memory is counted", || working_set() > 16 * MIB).await;
    let full = cgroup.memory().unwrap();
    assert!(
        full.peak_bytes.unwrap() >= full.working_set_bytes / 2,
        "{full:?}"
    );
    assert!(full.kernel_bytes.unwrap() > 0, "{full:?}");

    drop(child);
    until("its memory is given back", || working_set() < 8 * MIB).await;
    if cgroup.reset_peak().is_ok() {
        let after = cgroup.memory().unwrap().peak_bytes.unwrap();
        assert!(
            after < full.peak_bytes.unwrap(),
            "the peak begins anew: {after}"
        );
    }
    let path = cgroup.path().to_owned();
    drop(cgroup);
    assert!(!path.exists(), "it goes with its owner");
}

#[tokio::test]
async fn what_a_killed_program_left_behind_goes_with_the_next() {
    let Some(own) = cgroup() else { return };
    let parent = own.path().parent().unwrap();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let left = parent.join(format!("tare-{}-3", dead.id()));
    let alive = parent.join(format!("tare-{}-3", std::os::unix::process::parent_id()));
    for dir in [&left, &alive] {
        std::fs::create_dir(dir).unwrap();
    }
    let next = MemoryCgroup::create().unwrap();
    assert!(!left.exists(), "its program is gone");
    assert!(
        alive.exists() && own.path().exists(),
        "their programs are alive"
    );
    assert_ne!(next.path(), own.path());
    std::fs::remove_dir(alive).unwrap();
}

#[tokio::test]
async fn a_child_waits_where_it_needs_more_cpu_than_it_may_have() {
    let Some(mut cgroup) = cgroup() else { return };
    if let Err(error) = cgroup.limit_cpu(0.1) {
        println!("not tested: {error}");
        return;
    }
    let started = Instant::now();
    let child = Process::spawn_in(shell("spins", "while :; do :; done"), &cgroup)
        .await
        .unwrap();
    let cpu_s = || tare_procstat::cpu_seconds(child.pid()).unwrap();
    until("it has used half a second", || cpu_s() > 0.5).await;
    // 5 s at a tenth of a core; the first period is whole, and other work only makes it longer.
    assert!(
        started.elapsed() > Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn what_has_left_its_parent_and_its_group_is_measured_and_ended_with_the_cgroup() {
    let Some(cgroup) = cgroup() else { return };
    let held = "v=$(head -c 16777216 /dev/zero | tr \"\\0\" x); sleep 1000; echo ${#v}";
    let script = format!("setsid sh -c '{held}' & wait");
    let mut parent = Process::spawn_in(shell("left", &script), &cgroup)
        .await
        .unwrap();
    let tree = Tree::of(parent.pid(), Some(&cgroup));
    // Half of it: a shell that has read so much never holds less, while what feeds it ends in its own time.
    let is_held = || {
        tree.memory()
            .is_ok_and(|memory| memory.anon_bytes > 8 * MIB)
    };
    until("its memory is counted", is_held).await;
    parent.terminate(Duration::from_secs(20)).await.unwrap();
    assert!(is_held(), "it is not in the group of its parent");
    let left: Vec<u32> = tree.pids().into_iter().skip(1).collect();
    assert!(!left.is_empty());
    drop(cgroup);
    until("they have ended", || {
        left.iter().all(|pid| tare_procstat::memory(*pid).is_err())
    })
    .await;
}
