//! Operators as processes: they are built, started and, once idle, measured.
//!
//! Guarantees: a process that ends by itself is an error with the end of its log; a process ends with its
//! handle. Leaves to others: the server that they talk to (`server`).

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tare_procstat::Memory;
use tare_procstat::process::{Process, Spec};

use super::run::target;
use super::server::BenchServer;

/// The longest that operators may take to become idle.
const TIMEOUT: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// An operator that can be started.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its name in the ids of figures.
    pub name: &'static str,
    pub path: PathBuf,
    pub args: Vec<&'static str>,
}

/// Cargo's profile that the operator is built with.
pub fn profile() -> String {
    let name = folder().and_then(Path::file_name).unwrap_or_default();
    match name.to_string_lossy().as_ref() {
        "debug" => "dev".to_owned(),
        other => other.to_owned(),
    }
}

/// Where cargo has put the operator: `target/<profile>` or `target/<triple>/<profile>`.
fn folder() -> Option<&'static Path> {
    Path::new(env!("CARGO_BIN_EXE_tare")).parent()
}

/// Operators at work on one server.
pub struct Operators {
    name: &'static str,
    processes: Vec<Operator>,
}

struct Operator {
    user: String,
    /// Its admin port.
    admin: SocketAddr,
    process: Process,
}

impl Program {
    /// The operator of this repository, as cargo has just built it.
    pub fn tare(name: &'static str, mode: &'static str) -> Self {
        Self {
            name,
            path: PathBuf::from(env!("CARGO_BIN_EXE_tare")),
            args: vec!["run", "--cache", mode],
        }
    }

    /// Stock kube-rs, built now with the profile that the bench is built with.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn kube_rs() -> anyhow::Result<Self> {
        let folder = folder().context("the operator is in no folder")?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args([
                "build",
                "--quiet",
                "--locked",
                "-p",
                "baseline-kube-rs",
                "--bin",
                "baseline-kube-rs",
            ])
            .args(["--profile", &profile()])
            .arg("--target-dir")
            .arg(target())
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        // With a target of its own the folder has its name: target/<triple>/<profile>.
        let above = folder
            .parent()
            .context("the operator is in no target folder")?;
        if above.components().ne(target().components()) {
            build
                .arg("--target")
                .arg(above.file_name().unwrap_or_default());
        }
        let built = build.status().context("cannot run cargo")?;
        ensure!(built.success(), "cargo build -p baseline-kube-rs failed");
        Ok(Self {
            name: "kube-rs-stock",
            path: folder.join("baseline-kube-rs"),
            args: Vec::new(),
        })
    }
}

impl Operators {
    /// Starts `count` of them beside each other, each as a user of its own.
    ///
    /// # Errors
    /// One cannot be started.
    pub fn start(server: &BenchServer, program: &Program, count: usize) -> anyhow::Result<Self> {
        let mut processes = Vec::new();
        for nth in 0..count {
            let user = format!("{}-{nth}", program.name);
            let kubeconfig = server.kubeconfig(&user)?;
            let admin = free_address().context("no port is free")?;
            let args = program.args.iter().map(|&arg| arg.to_owned());
            let spec = Spec {
                name: user.clone(),
                program: program.path.clone(),
                args: args
                    .chain(["--admin".to_owned(), admin.to_string()])
                    .collect(),
                env: vec![("KUBECONFIG".to_owned(), kubeconfig.display().to_string())],
                folder: None,
                clear_env: true,
                log: server.folder().join(format!("{user}.log")),
            };
            let process = server.runtime.block_on(Process::spawn(spec))?;
            processes.push(Operator {
                user,
                admin,
                process,
            });
        }
        Ok(Self {
            name: program.name,
            processes,
        })
    }

    /// Waits until all of them watch and none has asked for anything for `rest`.
    ///
    /// # Errors
    /// One ended, or they do not come to rest.
    pub fn until_idle(&mut self, server: &BenchServer, rest: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        let (mut asked, mut since) = (0, Instant::now());
        loop {
            for one in &mut self.processes {
                if let Some(status) = one.process.exited()? {
                    let last_words = one.process.last_log_lines(3).join(" ");
                    bail!("{} ended ({status}): {last_words}", one.user);
                }
            }
            let heard = self.processes.iter().map(|one| server.heard_of(&one.user));
            let (mut sum, mut all_watch) = (0, true);
            for (requests, watches) in heard {
                sum += requests;
                all_watch &= watches;
            }
            if sum != asked {
                (asked, since) = (sum, Instant::now());
            } else if all_watch && since.elapsed() >= rest {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!(
                    "{} did not come to rest within {} s",
                    self.name,
                    TIMEOUT.as_secs()
                );
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Memory of the `nth` process, modulo their number.
    ///
    /// # Errors
    /// It is gone, or this system does not tell.
    pub fn memory(&self, nth: usize) -> anyhow::Result<Memory> {
        let one = &self.processes[nth % self.processes.len()];
        tare_procstat::memory(one.process.pid())
            .with_context(|| format!("cannot read the memory of {}", one.user))
    }

    /// A metric of the `nth` process, modulo their number.
    ///
    /// # Errors
    /// It does not answer, or has no such metric.
    pub fn metric(&self, nth: usize, name: &str) -> anyhow::Result<u64> {
        let one = &self.processes[nth % self.processes.len()];
        let page = metrics(one.admin)
            .with_context(|| format!("cannot read the metrics of {}", one.user))?;
        let mut values = page.lines().filter_map(|line| line.split_once(' '));
        let value = values.find(|(found, _)| *found == name);
        let (_, value) = value.with_context(|| format!("{} has no metric {name}", one.user))?;
        Ok(value.parse()?)
    }
}

fn metrics(admin: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(admin)?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
