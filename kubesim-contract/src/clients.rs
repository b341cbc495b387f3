//! Client libraries of other languages, each as a program that does an operator's work: `clients/`.
//!
//! Guarantees: a library is installed once, as its lock file says, into the user's cache folder; a machine that cannot have it
//! says why; a program that waits for ever is ended, and the failure names the step. A program gets a namespace of its own.
//! Leaves to others: a server on a socket with the fixture, and a kubeconfig of an administrator.
//!
//! The Node client is the newest that Node 20 runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kube::Client;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::expect::{Check, Failure};
use crate::fixture;

/// The variable that permits to install what is not there: a test by itself asks no registry.
const INSTALL: &str = "CONTRACT_CLIENTS_INSTALL";

/// For all steps, of which each takes milliseconds; a JVM on a busy machine takes a minute to start.
const DEADLINE: Duration = Duration::from_secs(300);

/// A client library and its program.
#[derive(Clone, Copy)]
pub struct Library {
    /// The case as a sentence in snake case.
    pub name: &'static str,
    language: &'static str,
    /// Names and contents; the first has the exact version of everything.
    files: &'static [(&'static str, &'static str)],
    install: &'static [&'static [&'static str]],
    run: &'static [&'static str],
}

macro_rules! files {
    ($($name:literal),+) => { &[$(($name, include_str!(concat!("../clients/", $name)))),+] };
}

/// In Java, Python and Node.
pub const LIBRARIES: [Library; 3] = [
    Library {
        name: "fabric8_for_java_does_an_operators_work",
        language: "java",
        files: files!["java/pom.xml", "java/Client.java"],
        install: &[
            &["java", "--version"],
            &[
                "mvn",
                "--batch-mode",
                "--quiet",
                "dependency:copy-dependencies",
                "-DoutputDirectory=lib",
                "-Dmaven.repo.local=../maven",
            ],
        ],
        run: &["java", "-cp", "lib/*", "Client.java"],
    },
    Library {
        name: "the_python_client_does_an_operators_work",
        language: "python",
        files: &[
            (
                "python/requirements.txt",
                include_str!("../../scripts/requirements/contract-client.txt"),
            ),
            (
                "python/client.py",
                include_str!("../clients/python/client.py"),
            ),
        ],
        install: &[
            &["python3", "-m", "venv", "venv"],
            &[
                "venv/bin/pip",
                "install",
                "--quiet",
                "--require-hashes",
                "--requirement",
                "requirements.txt",
            ],
        ],
        run: &["venv/bin/python", "client.py"],
    },
    Library {
        name: "the_node_client_does_an_operators_work",
        language: "node",
        files: files![
            "node/package-lock.json",
            "node/package.json",
            "node/client.js"
        ],
        install: &[
            &["node", "--version"],
            &["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        ],
        run: &["node", "client.js"],
    },
];

/// A library that is there.
pub struct Installed {
    library: Library,
    folder: PathBuf,
}

impl Library {
    /// Installs it where it is not there yet, which takes a network, and that `CONTRACT_CLIENTS_INSTALL` is set.
    ///
    /// # Errors
    /// Why this machine cannot have it, as one line.
    pub fn install(self) -> Result<Installed, String> {
        let cache = tare_procstat::cache_dir()
            .ok_or("neither XDG_CACHE_HOME nor HOME says where to install it")?;
        let clients = cache.join("tare/contract-clients");
        let folder = clients.join(self.language);
        self.fill(&clients, &folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Installed {
            library: self,
            folder,
        })
    }

    fn fill(&self, clients: &Path, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(clients)?;
        // Other cases, of other processes too, wait here.
        let lock = File::create(clients.join(format!("{}.lock", self.language)))?;
        lock.lock()?;
        let installed = folder.join("installed");
        let (_, versions) = self.files[0];
        let is_there = fs::read_to_string(&installed).is_ok_and(|text| text == versions);
        if !is_there && folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for (path, text) in self.files {
            let path = clients.join(path);
            // Another case may be reading it.
            if fs::read_to_string(&path).is_ok_and(|there| there == *text) {
                continue;
            }
            fs::create_dir_all(folder)?;
            fs::write(path, text)?;
        }
        if is_there {
            return Ok(());
        }
        if std::env::var_os(INSTALL).is_none() {
            return Err(io::Error::other(format!(
                "not installed; {INSTALL}=1 cargo test -p kubesim --test contract -- an_operators_work installs it from its registry"
            )));
        }
        for command in self.install {
            let output = std::process::Command::new(program(folder, command))
                .args(&command[1..])
                .current_dir(folder)
                .stdin(Stdio::null())
                .output()
                .map_err(|error| io::Error::other(format!("{}: {error}", command[0])))?;
            if !output.status.success() {
                let said = [output.stdout, output.stderr].concat();
                let said = first_line(&said);
                let command = command.join(" ");
                return Err(io::Error::other(format!("`{command}` failed: {said}")));
            }
        }
        fs::write(installed, versions)
    }
}

impl Installed {
    /// Runs the program in a namespace of its own on the server of `kubeconfig`, which `client` is of too.
    ///
    /// # Errors
    /// What the program expected of the server, or the step at which it waited.
    pub async fn run(&self, client: &Client, kubeconfig: &Path) -> Check {
        let namespace = fixture::create_namespace(client).await?;
        let ended = self.work(kubeconfig, &namespace).await;
        ended.and(fixture::delete_namespace(client, &namespace).await)
    }

    async fn work(&self, kubeconfig: &Path, namespace: &str) -> Check {
        let command = self.library.run;
        let mut step = String::new();
        let end = async {
            let mut child = tokio::process::Command::new(program(&self.folder, command))
                .args(&command[1..])
                .arg(kubeconfig)
                .arg(namespace)
                .current_dir(&self.folder)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()?;
            let stderr = child.stderr.take();
            let errors = async {
                let mut text = Vec::new();
                if let Some(mut stderr) = stderr {
                    stderr.read_to_end(&mut text).await?;
                }
                io::Result::Ok(text)
            };
            let stdout = child.stdout.take();
            let steps = async {
                let mut lines = stdout.map(|stdout| BufReader::new(stdout).lines());
                while let Some(lines) = &mut lines
                    && let Some(line) = lines.next_line().await?
                {
                    step = line;
                }
                Ok(())
            };
            let (errors, ()) = tokio::try_join!(errors, steps)?;
            io::Result::Ok((child.wait().await?, errors))
        };
        let got = match tokio::time::timeout(DEADLINE, end).await {
            Ok(Ok((status, _))) if status.success() => return Ok(()),
            Ok(Ok((status, errors))) => {
                format!("{status}: {}", String::from_utf8_lossy(&errors).trim())
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("none in {DEADLINE:?}"),
        };
        let what = format!("{}, last step \"{step}\"", command.join(" "));
        Err(Failure::new(what, "an end without an error", got))
    }
}

/// A path is one of the folder, a name one of `PATH`.
fn program(folder: &Path, command: &[&str]) -> PathBuf {
    match command[0].contains('/') {
        true => folder.join(command[0]),
        false => command[0].into(),
    }
}

/// The first that says an error, else the first.
fn first_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.to_lowercase().contains("error"));
    error
        .or_else(|| lines().next())
        .unwrap_or_default()
        .to_owned()
}
