//! The one thread that starts every child.
//!
//! Guarantees: it never ends while the process lives. That matters because Linux sends the
//! parent-death signal when the *thread* that forked ends, not the process (prctl(2),
//! PR_SET_PDEATHSIG): a child started from a worker of a runtime would die with the runtime.
//! Leaves waiting and killing to its caller.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{OnceLock, mpsc};
use std::time::Instant;

use tokio::sync::oneshot;

struct Request {
    command: Command,
    /// `cgroup.procs` of the cgroups that the child is to be in.
    cgroups: Vec<File>,
    reply: oneshot::Sender<io::Result<(Child, Instant)>>,
}

/// Starts the command in a process group of its own; returns it with the time before the fork.
pub(crate) async fn spawn(command: Command, cgroups: Vec<File>) -> io::Result<(Child, Instant)> {
    let (reply, answer) = oneshot::channel();
    let gone = || io::Error::other("the spawning thread is gone");
    requests()?
        .send(Request {
            command,
            cgroups,
            reply,
        })
        .map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn requests() -> io::Result<&'static mpsc::Sender<Request>> {
    static REQUESTS: OnceLock<io::Result<mpsc::Sender<Request>>> = OnceLock::new();
    REQUESTS
        .get_or_init(start)
        .as_ref()
        .map_err(|cause| io::Error::new(cause.kind(), cause.to_string()))
}

fn start() -> io::Result<mpsc::Sender<Request>> {
    // Not bounded: each caller waits for its answer.
    let (requests, queue) = mpsc::channel::<Request>();
    std::thread::Builder::new()
        .name("spawner".to_owned())
        .spawn(move || {
            // The sender is static, so this loop ends with the process.
            while let Ok(mut request) = queue.recv() {
                let started = start_child(&mut request.command, request.cgroups);
                if let Err(Ok((mut child, _))) = request.reply.send(started) {
                    // The caller was cancelled: nobody else will end this child.
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        })?;
    Ok(requests)
}

fn start_child(command: &mut Command, cgroups: Vec<File>) -> io::Result<(Child, Instant)> {
    command.process_group(0);
    before_exec(command, cgroups);
    let spawned_at = Instant::now();
    Ok((command.spawn()?, spawned_at))
}

#[cfg(target_os = "linux")]
#[allow(
    unsafe_code,
    reason = "the death signal can only be set between fork and exec, and only there no memory of the \
              program is charged to another cgroup yet"
)]
fn before_exec(command: &mut Command, cgroups: Vec<File>) {
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    // SAFETY: the closure runs in the forked child and makes system calls only, writes, prctl and getppid;
    // it allocates nothing and takes no lock, so it is safe after a fork of a threaded process.
    unsafe {
        command.pre_exec(move || {
            for cgroup in &cgroups {
                // 0 is the process that writes.
                rustix::io::write(cgroup, b"0")?;
            }
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the signal was armed: then nobody would send it.
            if getppid() == Some(parent) {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(
                    rustix::io::Errno::SRCH.raw_os_error(),
                ))
            }
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn before_exec(_: &mut Command, _: Vec<File>) {}
