//! A parent killed with SIGKILL takes its control plane with it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use controlplane::{Binaries, ControlPlane};
use libtest_mimic::Failed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tare_procstat::process::{Process, Spec};

use crate::fixture::{DEADLINE, Folder};

/// Set for the parent: the file that it writes the pids to.
const PIDS: &str = "CONTROL_PLANE_PIDS";

/// In the process that is to be killed: starts a control plane and waits for ever. Elsewhere
/// nothing.
pub fn parent() -> Option<ExitCode> {
    let pids = PathBuf::from(std::env::var_os(PIDS)?);
    let started = crate::run(async {
        let folder = Folder::new("killed-parent");
        let plane = ControlPlane::start(&Binaries::find()?, folder.options()).await?;
        let text = format!(
            "{} {} {}\n",
            plane.datastore_pid(),
            plane.api_server_pid(),
            plane.controllers_pid()
        );
        std::fs::write(pids, text)?;
        std::future::pending::<()>().await;
        Ok(())
    });
    eprintln!("the parent ended by itself: {started:?}");
    Some(ExitCode::FAILURE)
}

pub async fn leaves_nothing(_: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("killed");
    let pids = folder.0.join("pids");
    let mut parent = Process::spawn(Spec {
        name: "parent".to_owned(),
        program: std::env::current_exe()?,
        args: Vec::new(),
        env: vec![
            (PIDS.to_owned(), pids.display().to_string()),
            ("TMPDIR".to_owned(), folder.0.display().to_string()),
        ],
        folder: None,
        clear_env: false,
        log: folder.0.join("parent.log"),
    })
    .await?;
    let written = async {
        loop {
            match std::fs::read_to_string(&pids) {
                Ok(text) if text.ends_with('\n') => return Ok(text),
                _ => {}
            }
            if parent.exited()?.is_some() {
                return Err(Failed::from(parent.last_log_lines(3).join(" ")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let text = tokio::time::timeout(DEADLINE, written).await??;
    // Opened before the parent dies: a descriptor cannot be fooled by a pid that is used again.
    let watched: Result<Vec<_>, Failed> = text
        .split_whitespace()
        .map(|pid| {
            let pid = Pid::from_raw(pid.parse()?).ok_or("no pid")?;
            Ok(pidfd_open(pid, PidfdFlags::empty())?)
        })
        .collect();
    let watched = watched?;
    assert_eq!(watched.len(), 3);
    let pid = Pid::from_raw(i32::try_from(parent.pid())?).ok_or("no pid")?;
    kill_process(pid, Signal::KILL)?;
    let deadline = Timespec::try_from(DEADLINE)?;
    for process in &watched {
        let mut ended = [PollFd::new(process, PollFlags::IN)];
        assert_eq!(
            poll(&mut ended, Some(&deadline))?,
            1,
            "a component outlived its parent"
        );
    }
    parent.wait().await?;
    Ok(())
}
