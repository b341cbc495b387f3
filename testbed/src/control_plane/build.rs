//! Builds the control plane from its Go module into the per-user cache.
//!
//! Guarantees: works without a checkout (the module's two files are part of this library); a program
//! that is there is not built again, and one appears under its name only when it is whole, so a build
//! that was stopped goes on where it was; of two builds one waits. A build ends with its process
//! (compilers that `go` had just started finish what they are at).
//! Leaves to others: installing Go. What is old is left in the cache, in folders of their own.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::binaries::{GO_MOD, GO_SUM, cache, is_program};
use super::{Binaries, Error};
use crate::process::{Process, Spec};

const TICK: Duration = Duration::from_millis(200);
const TAIL_LINES: usize = 15;

/// What a build tells while it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Worth keeping: a step that began or was left out.
    Line(String),
    /// What is being done now; replaced by the next.
    Now(String),
}

struct Tool {
    name: &'static str,
    package: &'static str,
    /// Needs a C compiler.
    cgo: bool,
    /// Reads Kubernetes's version from linker flags; without them the API server calls itself v0.0.0
    /// and refuses its own features.
    versioned: bool,
}

const TOOLS: [Tool; 5] = [
    Tool::new("etcd", "go.etcd.io/etcd/server/v3"),
    Tool::new("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver").versioned(),
    Tool::new(
        "kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    )
    .versioned(),
    Tool::new("kubectl", "k8s.io/kubernetes/cmd/kubectl").versioned(),
    // With its SQLite in Go, which needs no C compiler, kine never checkpoints while it runs.
    Tool::new("kine", "github.com/k3s-io/kine").cgo(),
];

impl Tool {
    const fn new(name: &'static str, package: &'static str) -> Tool {
        Tool {
            name,
            package,
            cgo: false,
            versioned: false,
        }
    }

    const fn cgo(self) -> Tool {
        Tool { cgo: true, ..self }
    }

    const fn versioned(self) -> Tool {
        Tool {
            versioned: true,
            ..self
        }
    }

    fn ld_flags(&self) -> String {
        let mut flags = "-s -w".to_owned();
        if self.versioned {
            let version = required_version("k8s.io/kubernetes");
            let mut numbers = version.trim_start_matches('v').split('.');
            let (major, minor) = (numbers.next(), numbers.next());
            for (name, value) in [
                ("gitVersion", version),
                ("gitMajor", major.unwrap_or_default()),
                ("gitMinor", minor.unwrap_or_default()),
                ("gitTreeState", "clean"),
            ] {
                flags.push_str(&format!(" -X k8s.io/component-base/version.{name}={value}"));
            }
        }
        flags
    }

    fn cgo_enabled(&self) -> &'static str {
        if self.cgo { "1" } else { "0" }
    }
}

/// How each tool is built, as far as it decides what comes out.
pub(super) fn recipes() -> Vec<String> {
    let recipe = |tool: &Tool| {
        format!(
            "{} {} {}",
            tool.package,
            tool.cgo_enabled(),
            tool.ld_flags()
        )
    };
    TOOLS.iter().map(recipe).collect()
}

/// The version of Go that the module asks for.
pub fn go_version() -> &'static str {
    let line = GO_MOD.lines().find_map(|line| line.strip_prefix("go "));
    line.unwrap_or_default().trim()
}

/// The version of a module in go.mod, or nothing.
fn required_version(module: &str) -> &'static str {
    let mut words = GO_MOD.lines().map(str::split_whitespace);
    words
        .find_map(|mut line| (line.next() == Some(module)).then(|| line.next()).flatten())
        .unwrap_or_default()
}

/// Builds what is not in the cache yet and returns where everything is.
///
/// # Errors
/// `NoGo` says what to install; `Build` has the last lines of the compiler.
pub async fn build(mut note: impl FnMut(Note)) -> Result<Binaries, Error> {
    let folder = cache()?;
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let _lock = lock(&folder, &mut note).await?;
    let missing: Vec<&Tool> = TOOLS
        .iter()
        .filter(|tool| !is_program(&folder.join(tool.name)))
        .filter(|tool| !tool.cgo || compiler(&mut note))
        .collect();
    if !missing.is_empty() {
        let module = folder.join("module");
        std::fs::create_dir_all(&module).map_err(Error::file(&module))?;
        for (name, text) in [("go.mod", GO_MOD), ("go.sum", GO_SUM)] {
            let path = module.join(name);
            std::fs::write(&path, text).map_err(Error::file(&path))?;
        }
        let Some(go) = go() else {
            return without_go(&mut note);
        };
        note(Note::Line(format!(
            "{go}; building into {}",
            folder.display()
        )));
        for (number, tool) in missing.iter().enumerate() {
            let title = format!("{} ({} of {})", tool.name, number + 1, missing.len());
            build_tool(tool, &title, &folder, &mut note).await?;
        }
    }
    Binaries::find()
}

/// Nothing can be built: what is there has to do.
fn without_go(note: &mut impl FnMut(Note)) -> Result<Binaries, Error> {
    let found = Binaries::find().map_err(|_| Error::NoGo {
        version: go_version().to_owned(),
    })?;
    note(Note::Line(
        "go is not installed, so nothing was built; the programs that are there are used"
            .to_owned(),
    ));
    Ok(found)
}

/// Held while the file is open, and let go by the kernel however this process ends.
async fn lock(folder: &Path, note: &mut impl FnMut(Note)) -> Result<File, Error> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(Error::file(&path))?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                if !told {
                    note(Note::Line(
                        "another build is running: waiting for it".to_owned(),
                    ));
                    told = true;
                }
                tokio::time::sleep(TICK).await;
            }
            Err(TryLockError::Error(source)) => return Err(Error::file(&path)(source)),
        }
    }
}

/// What `go version` says, if there is one.
pub fn go() -> Option<String> {
    let output = Command::new("go")
        .arg("version")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Whether there is a C compiler, as cgo looks for one.
pub fn c_compiler() -> Option<String> {
    let named = std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty());
    let command = named.unwrap_or_else(|| "gcc".to_owned());
    let mut words = command.split_whitespace();
    let mut compiler = Command::new(words.next()?);
    compiler
        .args(words)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    compiler
        .status()
        .is_ok_and(|status| status.success())
        .then_some(command)
}

fn compiler(note: &mut impl FnMut(Note)) -> bool {
    let found = c_compiler().is_some();
    if !found {
        note(Note::Line(
            "kine is skipped: it needs a C compiler (install gcc and run this again); etcd works without"
                .to_owned(),
        ));
    }
    found
}

async fn build_tool(
    tool: &Tool,
    title: &str,
    folder: &Path,
    note: &mut impl FnMut(Note),
) -> Result<(), Error> {
    let log = folder.join("build.log");
    let part = folder.join(format!("{}.part", tool.name));
    let started = Instant::now();
    note(Note::Line(format!("building {title}")));
    let mut process = Process::spawn(spec(tool, folder, &part, &log)).await?;
    let status = loop {
        if let Some(status) = process.exited()? {
            break status;
        }
        let last = process.last_log_lines(1).pop().unwrap_or_default();
        let spent_s = started.elapsed().as_secs();
        note(Note::Now(format!(
            "building {title}, {spent_s} s: {}",
            last.trim()
        )));
        tokio::time::sleep(TICK).await;
    };
    if !status.success() {
        return Err(Error::Build {
            package: tool.package,
            status,
            tail: process.last_log_lines(TAIL_LINES).join("\n"),
            log,
        });
    }
    let whole = folder.join(tool.name);
    std::fs::rename(&part, &whole).map_err(Error::file(&part))?;
    let spent_s = started.elapsed().as_secs();
    note(Note::Line(format!("built {title} in {spent_s} s")));
    Ok(())
}

fn spec(tool: &Tool, folder: &Path, part: &Path, log: &Path) -> Spec {
    let args = [
        "-C".to_owned(),
        folder.join("module").display().to_string(),
        "-v".to_owned(),
        "-trimpath".to_owned(),
        format!("-ldflags={}", tool.ld_flags()),
        "-o".to_owned(),
        part.display().to_string(),
        tool.package.to_owned(),
    ];
    let env = [
        ("CGO_ENABLED", tool.cgo_enabled()),
        // What somebody set for projects of their own.
        ("GOFLAGS", "-mod=readonly"),
        ("GOWORK", "off"),
        ("GOOS", ""),
        ("GOARCH", ""),
    ];
    Spec {
        name: format!("go build {}", tool.package),
        program: PathBuf::from("go"),
        args: ["build".to_owned()].into_iter().chain(args).collect(),
        env: env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        clear_env: false,
        log: log.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_the_module() {
        let version = required_version("k8s.io/kubernetes");
        assert!(version.starts_with("v1."), "{version}");
        let server = TOOLS
            .iter()
            .find(|tool| tool.name == "kube-apiserver")
            .unwrap();
        let flags = server.ld_flags();
        assert!(
            flags.contains(&format!("version.gitVersion={version} ")),
            "{flags}"
        );
        assert!(flags.contains("version.gitMajor=1 "), "{flags}");
        assert!(!go_version().is_empty());
        assert_eq!(required_version("example.com/absent"), "");
    }

    #[test]
    fn every_tool_is_one_of_the_modules() {
        for tool in &TOOLS {
            assert!(
                GO_MOD.lines().any(|line| line.trim() == tool.package),
                "{} is no tool of go.mod",
                tool.package
            );
        }
    }
}
