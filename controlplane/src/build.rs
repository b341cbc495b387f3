//! Builds the control plane, and what a node needs, from their Go modules into the per-user cache.
//!
//! Guarantees: works without a checkout (the modules' files are part of this library); a program
//! that is there is not built again, and one appears under its name only when it is whole, so a build
//! that was stopped goes on where it was; of two builds one waits. A build ends with its process
//! (compilers that `go` had just started finish what they are at).
//! Leaves to others: installing Go. What is old is left in the cache, in folders of their own.

pub(crate) mod binaries;
pub(crate) mod modules;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::build::binaries::is_program;
use crate::build::binaries::{Binaries, NodeBinaries};
use crate::build::modules::{CONTROL_PLANE, Module, NODE, Tool, of_version, of_versions};
use crate::error::Error;
use tare_procstat::process::{Process, Spec};

const TICK: Duration = Duration::from_millis(200);
const TAIL_LINES: usize = 15;

/// Progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Worth keeping: a step that began or was left out.
    Line(String),
    /// What is being done now; replaced by the next.
    Now(String),
}

/// The version of Go that the control plane's module requires.
pub fn go_version() -> &'static str {
    CONTROL_PLANE.go_version()
}

/// Builds what is not in the cache yet and returns where everything is.
///
/// # Errors
/// `NoGo` says what to install; `Build` has the last lines of the compiler.
pub async fn build(mut note: impl FnMut(Note)) -> Result<Binaries, Error> {
    match fill(&CONTROL_PLANE, &mut note).await? {
        Filled::Whole => Binaries::find(),
        Filled::NoGo => without_go(&CONTROL_PLANE, Binaries::find(), &mut note),
    }
}

/// The same for kubelet and kube-scheduler.
///
/// # Errors
/// As for [`build`].
pub async fn build_node(mut note: impl FnMut(Note)) -> Result<NodeBinaries, Error> {
    match fill(&NODE, &mut note).await? {
        Filled::Whole => NodeBinaries::find(),
        Filled::NoGo => without_go(&NODE, NodeBinaries::find(), &mut note),
    }
}

/// The versions of Kubernetes that can be built, such as `1.37`; the first is that of [`build`].
pub fn versions() -> Vec<&'static str> {
    of_versions().map(Module::minor_version).collect()
}

/// Builds what [`build`] builds, and the programs of another one of [`versions`]. Returns the folder of these: where
/// `KUBEBUILDER_ASSETS` has it, [`Binaries::find`] finds them, and etcd and kine where [`build`] has put them.
///
/// # Errors
/// `Version` for a version that is not one of them; else as for [`build`].
pub async fn build_version(version: &str, mut note: impl FnMut(Note)) -> Result<PathBuf, Error> {
    let module = of_version(version).ok_or_else(|| Error::Version {
        version: version.to_owned(),
        known: versions(),
    })?;
    // Programs in KUBEBUILDER_ASSETS do not count: they may be of another version.
    for module in [&CONTROL_PLANE, module] {
        if let Filled::NoGo = fill(module, &mut note).await? {
            let version = module.go_version().to_owned();
            return Err(Error::NoGo { version });
        }
    }
    module.cache()
}

/// What has become of a module's folder.
enum Filled {
    /// Everything is there that this machine can build.
    Whole,
    /// Something is missing, and so is Go.
    NoGo,
}

async fn fill(module: &Module, note: &mut impl FnMut(Note)) -> Result<Filled, Error> {
    let folder = module.cache()?;
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let _lock = lock(&folder, note).await?;
    let missing: Vec<&Tool> = module
        .tools
        .iter()
        .filter(|tool| !is_program(&folder.join(tool.name)))
        .filter(|tool| !tool.cgo || compiler(note))
        .collect();
    if missing.is_empty() {
        return Ok(Filled::Whole);
    }
    let sources = folder.join("module");
    std::fs::create_dir_all(&sources).map_err(Error::file(&sources))?;
    for (name, text) in [("go.mod", module.go_mod), ("go.sum", module.go_sum)] {
        let path = sources.join(name);
        std::fs::write(&path, text).map_err(Error::file(&path))?;
    }
    let Some(go) = go() else {
        return Ok(Filled::NoGo);
    };
    note(Note::Line(format!(
        "{go}; building into {}",
        folder.display()
    )));
    for (number, tool) in missing.iter().enumerate() {
        let title = format!("{} ({} of {})", tool.name, number + 1, missing.len());
        build_tool(module, tool, &title, &folder, note).await?;
    }
    Ok(Filled::Whole)
}

/// Nothing can be built: what is there has to do.
fn without_go<T>(
    module: &Module,
    found: Result<T, Error>,
    note: &mut impl FnMut(Note),
) -> Result<T, Error> {
    let found = found.map_err(|_| Error::NoGo {
        version: module.go_version().to_owned(),
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
    let mut noted = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                if !noted {
                    note(Note::Line(
                        "another build is running; waiting for it".to_owned(),
                    ));
                    noted = true;
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
    module: &Module,
    tool: &Tool,
    title: &str,
    folder: &Path,
    note: &mut impl FnMut(Note),
) -> Result<(), Error> {
    let log = folder.join("build.log");
    let part = folder.join(format!("{}.part", tool.name));
    let started = Instant::now();
    note(Note::Line(format!("building {title}")));
    let mut process = Process::spawn(spec(module, tool, folder, &part, &log)).await?;
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

fn spec(module: &Module, tool: &Tool, folder: &Path, part: &Path, log: &Path) -> Spec {
    let args = [
        "-C".to_owned(),
        folder.join("module").display().to_string(),
        "-v".to_owned(),
        "-trimpath".to_owned(),
        format!("-ldflags={}", module.ld_flags(tool)),
        "-o".to_owned(),
        part.display().to_string(),
        tool.package.to_owned(),
    ];
    let env = [
        ("CGO_ENABLED", tool.cgo_enabled()),
        // Overrides what the user set for other projects.
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
        folder: None,
        clear_env: false,
        log: log.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_version_is_one_line_that_names_the_others_and_builds_nothing() {
        for unknown in ["1.34", "latest"] {
            let built = build_version(unknown, |note| panic!("{note:?}")).await;
            assert_eq!(
                built.unwrap_err().to_string(),
                format!("no module for Kubernetes {unknown:?}; choose one of 1.37, 1.36, 1.35")
            );
        }
    }
}
