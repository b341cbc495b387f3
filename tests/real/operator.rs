//! The `tare` binary as a process, on one namespace.
//!
//! Guarantees: it starts with nothing of this machine's configuration; it does not outlive its
//! scenario; its log is kept.
//! Leaves to others: what it is expected to do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tare_procstat::process::{Process, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::site;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);
/// What the design gives it to finish what is in flight, and a second to get there.
const GRACE: Duration = Duration::from_secs(6);

/// An operator at work.
pub struct Operator {
    process: Process,
    admin: SocketAddr,
    log: PathBuf,
}

impl World {
    /// Starts an operator for this namespace and waits until it is ready.
    pub async fn operate(&self) -> Operator {
        let operator = self.operate_as(self.account()).await;
        operator.until_ready().await;
        operator
    }

    /// The same under an account of its own, or a user's; it may never be ready.
    pub async fn operate_as(&self, user: &str) -> Operator {
        self.start(env!("CARGO_BIN_EXE_tare").into(), user, &[])
            .await
    }

    /// Starts an operator of `examples/` for this namespace and waits until it is ready.
    pub async fn operate_example(&self, example: &str, args: &[&str]) -> Operator {
        let operator = self.start(site::example(example), site::PERSON, args).await;
        operator.until_ready().await;
        operator
    }

    async fn start(&self, program: PathBuf, user: &str, own: &[&str]) -> Operator {
        let admin = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port");
        self.started_at(admin);
        let log = self.log_of(user);
        let cache = ["run", "--cache", self.mode];
        let args = ["--namespace", &self.namespace, "--admin"];
        let args = cache.into_iter().chain(args);
        let mut args: Vec<String> = args.map(str::to_owned).collect();
        args.push(admin.to_string());
        args.extend(own.iter().map(|&arg| arg.to_owned()));
        let process = Process::spawn(Spec {
            name: format!("tare in {}", self.namespace),
            program,
            args,
            env: self.site.environment(user).await,
            clear_env: true,
            log: log.clone(),
        });
        Operator {
            process: process.await.expect("start tare"),
            admin,
            log,
        }
    }
}

impl Operator {
    pub async fn until_ready(&self) {
        self.until_answer("/readyz", "it is ready", |answer| {
            answer.starts_with("HTTP/1.1 200")
        })
        .await;
    }

    /// Waits until the admin port answers as wanted.
    pub async fn until_answer(&self, path: &str, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = ask(self.admin, path).await.unwrap_or_default();
            if holds(&answer) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "never came true: {what}; {path} says {answer:?}; log: {}",
                self.log.display()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn metrics(&self) -> String {
        ask(self.admin, "/metrics").await.expect("/metrics")
    }

    /// A figure of `/metrics`.
    pub async fn figure(&self, name: &str) -> f64 {
        let metrics = self.metrics().await;
        figure(&metrics, name).unwrap_or_else(|| panic!("{name} is not in {metrics}"))
    }

    pub async fn until_figure(&self, name: &str, holds: impl Fn(f64) -> bool) {
        let holds = |metrics: &str| figure(metrics, name).is_some_and(&holds);
        self.until_answer("/metrics", name, holds).await;
    }

    /// Stops it where it is, until it is resumed: events pile up that it does not see.
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

    /// Fails the scenario if it ended by itself.
    pub fn assert_alive(&mut self) {
        let exited = self.process.exited().expect("ask for its end");
        assert_eq!(exited, None, "it ended; log: {}", self.log.display());
    }

    /// Ends it with SIGTERM as a cluster does.
    pub async fn terminate(mut self) -> ExitStatus {
        let ended = self.process.terminate(GRACE).await.expect("SIGTERM");
        assert_eq!(ended.code(), Some(0), "log: {}", self.log.display());
        ended
    }

    /// Ends it in the middle of whatever it does.
    pub fn kill(self) {
        drop(self.process);
    }
}

/// What the admin port of an operator answers.
pub async fn ask(admin: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(admin).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn figure(metrics: &str, name: &str) -> Option<f64> {
    let mut lines = metrics.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    rest?.trim().parse().ok()
}
