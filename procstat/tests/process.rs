//! Child processes, end to end with `sh` and `sleep`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_procstat::process::{Error, Process, Spec};

/// Longer than any test may run: a child that is not ended by us fails the test by its deadline.
const ENDLESS: &str = "1000";
const DEADLINE: Duration = Duration::from_secs(20);

fn spec(name: &str, script: &str) -> Spec {
    Spec {
        name: name.to_owned(),
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: Vec::new(),
        folder: None,
        clear_env: false,
        log: folder().join(format!("{name}.log")),
    }
}

/// A folder of this test run's own.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("process-{}", std::process::id()))
}

#[tokio::test]
async fn output_goes_to_the_log_and_the_status_is_kept() {
    let mut child = Process::spawn(spec("output", "echo one; echo two >&2; exit 3"))
        .await
        .unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(3));
    assert_eq!(child.exited().unwrap().unwrap().code(), Some(3));
    assert_eq!(child.last_log_lines(10), ["one", "two"]);
    assert_eq!(child.last_log_lines(1), ["two"]);
}

#[tokio::test]
async fn a_running_child_has_not_exited() {
    let mut child = Process::spawn(spec("running", &format!("exec sleep {ENDLESS}")))
        .await
        .unwrap();
    assert!(child.exited().unwrap().is_none());
    assert!(child.spawned_at().elapsed() < DEADLINE);
}

#[tokio::test]
async fn the_environment_can_start_empty() {
    let mut spec = spec("environment", "echo \"$ONLY ${HOME:-no home}\"");
    spec.clear_env = true;
    spec.env = vec![("ONLY".to_owned(), "this".to_owned())];
    let mut child = Process::spawn(spec).await.unwrap();
    child.wait().await.unwrap();
    assert_eq!(child.last_log_lines(1), ["this no home"]);
}

#[tokio::test]
async fn a_child_that_ends_on_sigterm_may_say_so() {
    let script = format!("trap 'echo stopped; exit 0' TERM; echo ready; sleep {ENDLESS} & wait $!");
    let mut child = Process::spawn(spec("polite", &script)).await.unwrap();
    until_logged(&child, "ready").await;
    let status = child.terminate(DEADLINE).await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(child.last_log_lines(1), ["stopped"]);
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::os::unix::process::ExitStatusExt;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

    use super::*;

    #[tokio::test]
    async fn what_a_wrapper_has_started_ends_in_its_own_time() {
        let worker = format!(
            "trap 'sleep 0.2; echo stopped; exit' TERM; echo ready; sleep {ENDLESS} & wait"
        );
        let mut wrapper = Process::spawn(spec("wrapper", &format!("sh -c \"{worker}\"; true")))
            .await
            .unwrap();
        until_logged(&wrapper, "ready").await;
        let status = wrapper.terminate(DEADLINE).await.unwrap();
        assert_eq!(status.signal(), Some(15));
        assert_eq!(wrapper.last_log_lines(1), ["stopped"]);
    }

    #[tokio::test]
    async fn a_child_deaf_to_sigterm_is_killed_after_the_grace() {
        let script = format!("trap '' TERM; echo ready; while :; do sleep {ENDLESS}; done");
        let mut child = Process::spawn(spec("deaf", &script)).await.unwrap();
        until_logged(&child, "ready").await;
        let status = child.terminate(Duration::from_millis(50)).await.unwrap();
        assert_eq!(status.signal(), Some(9));
    }

    #[tokio::test]
    async fn a_dropped_child_takes_its_group_with_it() {
        let script = format!("sleep {ENDLESS} & echo $!; wait");
        let child = Process::spawn(spec("dropped", &script)).await.unwrap();
        let grandchild = Watched::open(until_logged(&child, "").await.parse().unwrap());
        let leader = Watched::open(child.pid());
        drop(child);
        leader.ended();
        grandchild.ended();
    }

    #[tokio::test]
    async fn a_parent_killed_leaves_nothing_behind() {
        // The parent is this test binary again, running `parent_to_be_killed` alone.
        let log = folder().join("killed-child.log");
        let mut parent = Process::spawn(Spec {
            name: "parent".to_owned(),
            program: std::env::current_exe().unwrap(),
            args: ["--exact", "on_linux::parent_to_be_killed", "--ignored"]
                .map(str::to_owned)
                .to_vec(),
            env: vec![(PARENT_LOG.to_owned(), log.display().to_string())],
            folder: None,
            clear_env: false,
            log: folder().join("killed-parent.log"),
        })
        .await
        .unwrap();
        let child = Watched::open(until_line(&log, "").await.parse().unwrap());
        kill_process(
            Pid::from_raw(parent.pid().try_into().unwrap()).unwrap(),
            Signal::KILL,
        )
        .unwrap();
        child.ended();
        assert_eq!(parent.wait().await.unwrap().signal(), Some(9));
    }

    const PARENT_LOG: &str = "TESTBED_PARENT_LOG";

    #[tokio::test]
    #[ignore = "the parent in a_parent_killed_leaves_nothing_behind, which starts it"]
    async fn parent_to_be_killed() {
        // Someone who runs all ignored tests has no use for an endless one.
        let Ok(log) = std::env::var(PARENT_LOG) else {
            return;
        };
        let mut spec = spec("killed-child", &format!("echo $$; exec sleep {ENDLESS}"));
        spec.log = PathBuf::from(log);
        // From a thread that ends at once, as a runtime's workers may.
        let mut child = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
                .block_on(Process::spawn(spec))
                .unwrap()
        })
        .join()
        .unwrap();
        child.wait().await.unwrap();
    }

    /// A process that is no child of the test, seen through a descriptor that pid reuse cannot fool.
    struct Watched(std::os::fd::OwnedFd);

    impl Watched {
        fn open(pid: u32) -> Watched {
            let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
            Watched(pidfd_open(pid, PidfdFlags::empty()).unwrap())
        }

        /// Blocks until it has ended.
        fn ended(&self) {
            let deadline = Timespec::try_from(DEADLINE).unwrap();
            let mut process = [PollFd::new(&self.0, PollFlags::IN)];
            let ready = poll(&mut process, Some(&deadline)).unwrap();
            assert_eq!(ready, 1, "the process outlived its parent");
        }
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut spec = spec("absent", "");
    spec.program = PathBuf::from("/nowhere/operator");
    let error = Process::spawn(spec).await.unwrap_err();
    assert!(matches!(error, Error::Spawn { .. }));
    let message = error.to_string();
    assert!(
        message.starts_with("absent: cannot start /nowhere/operator: No such file"),
        "{message}"
    );
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_named() {
    let mut spec = spec("unlogged", "");
    spec.log = PathBuf::from("/proc/no/such.log");
    let error = Process::spawn(spec).await.unwrap_err();
    assert!(matches!(error, Error::Log { .. }));
    assert!(error.to_string().contains("/proc/no/such.log"));
}

/// The last line of the child's log, once it contains a text.
async fn until_logged(child: &Process, text: &str) -> String {
    let found = async {
        loop {
            match child.last_log_lines(1).pop() {
                Some(line) if line.contains(text) => return line,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(DEADLINE, found).await.unwrap()
}

/// The same for a log of a process that is not ours.
async fn until_line(log: &Path, text: &str) -> String {
    let found = async {
        loop {
            match std::fs::read_to_string(log) {
                Ok(read) if read.ends_with('\n') && read.contains(text) => {
                    return read.trim().to_owned();
                }
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(DEADLINE, found).await.unwrap()
}
