//! The simulated API server as a process of its own: started for a run, gone after it.
//!
//! Guarantees: when it is started it answers, and has the CRD and one kubeconfig per user; it
//! ends with this process. Leaves to others: what is done with it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tare_procstat::process::{Process, Spec};

use crate::target::{Error, HARNESS, Order, SUBJECT};

pub const START: Duration = Duration::from_secs(20);

/// A third of the server's time goes into malloc for JSON trees. Keeping freed memory at hand saves
/// it 18 % of its CPU (1,500 objects: 5.6 -> 4.6 s, one run each). Subjects are not given this.
const MALLOC: &str = "glibc.malloc.tcache_count=2000:glibc.malloc.trim_threshold=268435456:\
                      glibc.malloc.top_pad=16777216:glibc.malloc.mmap_threshold=4194304";

/// A server that answers.
#[derive(Debug)]
pub struct Kubesim {
    process: Process,
    dir: PathBuf,
}

/// What the server's process prints once it listens.
#[derive(Debug, Serialize, Deserialize)]
pub struct Announcement {
    pub url: String,
}

impl Kubesim {
    /// # Errors
    /// See [`Error`].
    pub async fn start(order: &Order<'_>) -> Result<Self, Error> {
        let path = |path: &Path| path.display().to_string();
        let log = crate::target::with_suffix(&order.logs, ".server.log");
        let args = [
            "kubesim",
            "--listen",
            "127.0.0.1:0",
            "--ready-delay-ms",
            &order.ready_delay_ms.to_string(),
            "--users",
            &format!("{HARNESS},{SUBJECT}"),
            "--dir",
            &path(order.dir),
        ];
        let crds = order.crds.iter();
        let crds = crds.flat_map(|crd| ["--crd".to_owned(), path(crd)]);
        let spec = Spec {
            name: "simulated API server".into(),
            program: own_program().map_err(Error::Program)?,
            args: args.map(str::to_owned).into_iter().chain(crds).collect(),
            env: vec![("GLIBC_TUNABLES".into(), MALLOC.into())],
            folder: None,
            clear_env: false,
            log: log.clone(),
        };
        let mut server = Self {
            process: Process::spawn(spec).await?,
            dir: order.dir.to_owned(),
        };
        let deadline = Instant::now() + START;
        while !server.announced() {
            if let Some(status) = server.process.exited()? {
                let log_tail = server.process.last_log_lines(3).join(" ");
                return Err(Error::Ended { status, log_tail });
            }
            if Instant::now() > deadline {
                return Err(Error::Silent { log });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(server)
    }

    fn announced(&self) -> bool {
        let lines = self.process.last_log_lines(20);
        lines
            .iter()
            .any(|line| serde_json::from_str::<Announcement>(line).is_ok())
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        kubeconfig_path(&self.dir, user)
    }

    /// The status if it has ended, which it should not.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn exited(&mut self) -> Result<Option<std::process::ExitStatus>, Error> {
        Ok(self.process.exited()?)
    }

    /// # Errors
    /// When the signal cannot be sent.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.process.terminate(Duration::from_secs(2)).await?;
        Ok(())
    }
}

/// Where the credentials of one user are.
pub fn kubeconfig_path(dir: &Path, user: &str) -> PathBuf {
    dir.join(format!("{user}.kubeconfig"))
}

/// This program, also where its file was replaced since it was started.
fn own_program() -> std::io::Result<PathBuf> {
    let running = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let program = std::env::current_exe()?;
    Ok(match program.exists() || !running.exists() {
        true => program,
        false => running,
    })
}
