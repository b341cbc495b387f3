//! An operator as a process on one namespace of a real cluster.
//!
//! Guarantees: it reads no configuration of this machine; it ends with its scenario; its log is kept.
//! Leaves to others: which program it is (`operator`).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tare_procstat::process::{Process, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Cluster;

const TIMEOUT: Duration = Duration::from_secs(60);
/// 5 s for the work in flight, and 1 s to get there.
const GRACE: Duration = Duration::from_secs(6);

/// An operator that runs as a process.
pub struct OperatorProcess {
    process: Process,
    admin: SocketAddr,
    log: PathBuf,
}

impl OperatorProcess {
    /// Starts `program` on the namespace of a real cluster; it may never become ready.
    pub async fn start(cluster: &Cluster, program: PathBuf, user: &str, own_args: &[&str]) -> Self {
        let real = cluster.as_real();
        let admin = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port");
        real.admin.get_or_init(|| admin);
        let log = cluster.log_of(user);
        let (mode, admin_arg) = (cluster.mode.to_string(), admin.to_string());
        let args = [
            "run",
            "--cache",
            &mode,
            "--namespace",
            &cluster.namespace,
            "--admin",
            &admin_arg,
        ];
        let process = Process::spawn(Spec {
            name: format!("operator in {}", cluster.namespace),
            program,
            args: args
                .iter()
                .chain(own_args)
                .map(|&arg| arg.to_owned())
                .collect(),
            env: real.plane.environment(user).await,
            folder: None,
            clear_env: true,
            log: log.clone(),
        });
        OperatorProcess {
            process: process.await.expect("start the operator"),
            admin,
            log,
        }
    }

    pub async fn until_ready(&self) {
        self.until_answer("/readyz", "the operator is ready", |answer| {
            answer.starts_with("HTTP/1.1 200")
        })
        .await;
    }

    /// Waits until the admin port answers as wanted.
    pub async fn until_answer(&self, path: &str, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let answer = get(self.admin, path).await.unwrap_or_default();
            if holds(&answer) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "timeout while waiting until {what}; {path} answers {answer:?}; log: {}",
                self.log.display()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn metrics(&self) -> String {
        let answer = get(self.admin, "/metrics").await.expect("GET /metrics");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer has a body");
        body.to_owned()
    }

    /// Stops the process until it is resumed; it sees no event meanwhile.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.pid())
            .ok()
            .and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("send a signal");
    }

    /// Fails the scenario if the process ended by itself.
    pub fn assert_alive(&mut self) {
        let exited = self.process.exited().expect("the state of the process");
        assert_eq!(
            exited,
            None,
            "the operator ended; log: {}",
            self.log.display()
        );
    }

    /// Waits until it ends by itself; its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(TIMEOUT, self.process.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("it goes on; log: {}", self.log.display()));
        ended.expect("the state of the process").code()
    }

    /// Ends it with SIGTERM, as a kubelet does.
    pub async fn terminate(mut self) -> ExitStatus {
        let ended = self.process.terminate(GRACE).await.expect("SIGTERM");
        assert_eq!(ended.code(), Some(0), "log: {}", self.log.display());
        ended
    }

    /// Ends it with SIGKILL.
    pub fn kill(self) {
        drop(self.process);
    }
}

/// The answer of the admin port of an operator, with its head.
pub async fn get(admin: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(admin).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
