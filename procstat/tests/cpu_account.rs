//! Whose CPU time is whose, with processes that work for a moment.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use tare_procstat::{CpuAccount, CpuSpent, adopt_orphans};

/// CPU seconds of one worker.
const WORK_S: f64 = 1.0;
/// Runs until it has used its second; then it ends.
const WORKER: &str = r#"ulimit -t 1; while :; do :; done"#;

/// Below this a worker was not seen, above it was.
const SEEN_S: f64 = WORK_S * 0.7;

fn spent_while(work: impl FnOnce()) -> CpuSpent {
    let begin = CpuAccount::take().unwrap();
    work();
    CpuAccount::take().unwrap().since(&begin)
}

fn worker(script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(script)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// One test, because each counts the time of all children of this process.
#[test]
fn time_belongs_to_the_process_that_spent_it() {
    // Before orphans are adopted: a daemon that nobody of ours is the parent of.
    let foreign = spent_while(|| {
        let pid = foreign_worker();
        while is_working(pid) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    assert!(foreign.own_s < SEEN_S, "{foreign:?}");
    assert!(foreign.outside_s() > SEEN_S, "{foreign:?}");

    adopt_orphans().unwrap();
    let ended_child = spent_while(|| {
        worker(WORKER).status().unwrap();
    });
    assert!(ended_child.own_s > SEEN_S, "{ended_child:?}");

    let many_children = spent_while(|| {
        let script = "i=0; while [ $i -lt 200 ]; do sh -c 'j=0; while [ $j -lt 4000 ]; do j=$((j+1)); done'; i=$((i+1)); done";
        worker(script).status().unwrap();
    });
    assert!(many_children.own_s > 0.1, "{many_children:?}");

    let daemon = spent_while(|| {
        let pid = foreign_worker();
        while is_working(pid) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    assert!(daemon.own_s > SEEN_S, "adopted: {daemon:?}");
    assert!(daemon.kernel_s.is_none_or(|s| s < daemon.busy_s));
    assert!(daemon.wall_s > 0.0 && daemon.cores >= 1);
}

/// Starts a worker whose parent ends at once; its process id.
fn foreign_worker() -> u32 {
    let script = format!("setsid sh -c '{WORKER}' >&- & echo $!");
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// Whether it is there and no zombie.
fn is_working(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    !stat
        .rsplit(')')
        .next()
        .unwrap()
        .trim_start()
        .starts_with('Z')
}
