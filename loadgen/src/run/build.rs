//! Makes the subjects: one cargo call for each that is a package of this workspace, or the command
//! it names.
//!
//! Guarantees: what is measured was built in the profile that is shipped; the whole output is in
//! a log and its tail is shown. Outside a checkout everything is built but what needs Tare's sources.
//! Leaves to others: where binaries are looked for ([`Workspace::bin`]) and starting them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_procstat::process::{Process, Spec};

use crate::model::subject::{GoBuild, GoInstall, Subject};
use crate::terminal::progress::Progress;

/// Where subjects are built: a checkout of Tare, or a folder of the user's cache.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub root: PathBuf,
    /// Whether `root` has Tare's sources.
    checkout: bool,
    target: PathBuf,
    /// The target triple that subjects are built for by `scripts/dist.sh`; that of the host without.
    triple: Option<String>,
}

/// Why there are no subjects.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{subjects}: built from the sources of Tare, and {} is not in a checkout of it; run this in one, name a folder with the programs in TARE_SUBJECT_DIR and add --no-build, or measure an operator of your own with --subject FILE --subjects NAME/VARIANT",
        current.display()
    )]
    NoSources { subjects: String, current: PathBuf },
    #[error("no folder for programs that are built outside a checkout; set HOME or XDG_CACHE_HOME")]
    NoCache,
    #[error("cannot make {}: {source}", folder.display())]
    Folder {
        folder: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "--target {triple}: this machine is {}; choose a target of its own",
        std::env::consts::ARCH
    )]
    Foreign { triple: String },
    #[error("cannot run {command}: {source}")]
    Run {
        command: String,
        source: tare_procstat::process::Error,
    },
    #[error("{command} failed ({status}); the whole output is in {}\n{tail}", log.display())]
    Failed {
        command: String,
        status: std::process::ExitStatus,
        log: PathBuf,
        tail: String,
    },
}

impl Workspace {
    /// The checkout that the current folder is in, or else a folder in `$XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// # Errors
    /// `NoCache` where neither is there.
    pub fn find() -> Result<Self, Error> {
        let current = current();
        let checkout = current.ancestors().find(|folder| is_workspace(folder));
        let root = match checkout {
            Some(root) => root.to_owned(),
            None => cache().ok_or(Error::NoCache)?,
        };
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(target) if checkout.is_some() => current.join(target),
            _ => root.join("target"),
        };
        Ok(Self {
            checkout: checkout.is_some(),
            root,
            target,
            triple: None,
        })
    }

    /// # Errors
    /// `NoSources` names the subjects that only a checkout can make.
    pub fn can_build(&self, subjects: &[Subject]) -> Result<(), Error> {
        let of_tare = |subject: &&Subject| {
            let build = subject.build.as_ref();
            build.is_some_and(|build| !build.cargo_packages.is_empty() || build.go.is_some())
        };
        let missing: Vec<String> = subjects.iter().filter(of_tare).map(Subject::id).collect();
        match self.checkout || missing.is_empty() {
            true => Ok(()),
            false => Err(Error::NoSources {
                subjects: missing.join(", "),
                current: current(),
            }),
        }
    }

    /// The same, with subjects for a static target.
    ///
    /// # Errors
    /// `Foreign`: what cannot run here cannot be measured.
    pub fn for_target(self, triple: Option<&str>) -> Result<Self, Error> {
        let triple = triple.map(str::to_owned);
        if let Some(triple) = &triple
            && triple.split('-').next() != Some(std::env::consts::ARCH)
        {
            let triple = triple.clone();
            return Err(Error::Foreign { triple });
        }
        Ok(Self { triple, ..self })
    }

    /// Where built-in subjects are: `TARE_SUBJECT_DIR`, or where they were made.
    pub fn bin(&self) -> PathBuf {
        match std::env::var_os("TARE_SUBJECT_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => self.made(),
        }
    }

    /// Where a build leaves them.
    fn made(&self) -> PathBuf {
        match &self.triple {
            Some(triple) => self.target.join("static").join(triple).join("dist"),
            None => self.target.join("dist"),
        }
    }

    /// The command that makes a Go program beside those of cargo.
    fn go(&self, build: &GoBuild, commit: &str) -> Vec<String> {
        let program = self.made().join(build.program());
        let mut command = ["env", "CGO_ENABLED=0"].map(str::to_owned).to_vec();
        let variables = build.env.iter();
        command.extend(variables.map(|(name, value)| format!("{name}={value}")));
        command.extend(["go".into(), "build".into()]);
        command.extend(build.flags(commit));
        command.extend([
            "-o".into(),
            program.display().to_string(),
            build.package.clone(),
        ]);
        command
    }

    /// The command that makes a Go program of somebody else's beside them.
    fn go_install(&self, build: &GoInstall) -> Vec<String> {
        let place = format!("GOBIN={}", self.made().display());
        let mut command = vec!["env".to_owned(), "CGO_ENABLED=0".into(), place, "go".into()];
        command.extend(build.args());
        command
    }

    /// The command that makes a package, up to its name.
    fn cargo(&self, profile: &str) -> Vec<String> {
        let words = match &self.triple {
            Some(triple) => vec!["scripts/dist.sh", triple],
            None => vec!["cargo", "build", "--profile", profile, "-p"],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

fn current() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

/// A folder of the user's that outlives a bench: a Go program takes minutes to build.
fn cache() -> Option<PathBuf> {
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|h| h.join(".cache")));
    Some(base?.join("tare/subjects"))
}

fn is_workspace(folder: &Path) -> bool {
    folder.join("loadgen/Cargo.toml").is_file() && folder.join("Cargo.toml").is_file()
}

/// The commands that make these subjects, each with the folder it runs in.
///
/// One cargo call for each package, as it is shipped: cargo unites the features of all packages of a
/// call, and one subject's multi-threaded runtime would be linked into another's binary.
///
/// `commit` is that of a folder.
fn commands(
    subjects: &[Subject],
    workspace: &Workspace,
    commit: impl Fn(&Path) -> String,
) -> Vec<(Vec<String>, PathBuf)> {
    let mut all: Vec<(Vec<String>, PathBuf)> = Vec::new();
    for subject in subjects {
        let Some(build) = &subject.build else {
            continue;
        };
        if !build.cargo_packages.is_empty() {
            let profile = build.cargo_profile.as_deref().unwrap_or("dist");
            for package in &build.cargo_packages {
                let mut command = workspace.cargo(profile);
                command.push(package.clone());
                // Several variants may come from one package.
                if !all.iter().any(|(known, _)| *known == command) {
                    all.push((command, workspace.root.clone()));
                }
            }
        }
        if let Some(go) = &build.go {
            let module = workspace.root.join(&go.module);
            let one = (workspace.go(go, &commit(&module)), module);
            if !all.contains(&one) {
                all.push(one);
            }
        }
        if let Some(go) = &build.go_install {
            all.push((workspace.go_install(go), workspace.root.clone()));
        }
        if !build.command.is_empty() {
            let folder = subject
                .base
                .clone()
                .unwrap_or_else(|| workspace.root.clone());
            all.push((build.command.clone(), folder));
        }
    }
    all
}

/// The commit of a folder, `-dirty` where files in it differ from the commit; `TARE_COMMIT` overrides
/// what git says, and `unknown` is said without both. As `build/commit.rs` does for Rust.
fn commit_of(folder: &Path) -> String {
    if let Some(commit) = std::env::var("TARE_COMMIT").ok().filter(|c| !c.is_empty()) {
        return commit;
    }
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(folder).args(arguments);
        // Without optional locks `git status` leaves the index as it is.
        let output = git.env("GIT_OPTIONAL_LOCKS", "0").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--", "."]);
    match (commit, changed) {
        (Some(commit), Some(changed)) if changed.is_empty() => commit,
        (Some(commit), Some(_)) => commit + "-dirty",
        _ => "unknown".to_owned(),
    }
}

/// Builds what the subjects need; the output is appended to `log`.
///
/// # Errors
/// `Failed` with the last lines of the output.
pub async fn build(
    subjects: &[Subject],
    workspace: &Workspace,
    log: &Path,
    progress: &Progress,
) -> Result<(), Error> {
    workspace.can_build(subjects)?;
    let made = workspace.made();
    std::fs::create_dir_all(&made).map_err(|source| Error::Folder {
        folder: made,
        source,
    })?;
    for (command, folder) in commands(subjects, workspace, commit_of) {
        let words = command.join(" ");
        progress.say(&format!("building: {words}"));
        let run = |source| Error::Run {
            command: words.clone(),
            source,
        };
        let shell_free = Spec {
            name: words.clone(),
            program: "env".into(),
            // `env -C` starts the command in its folder.
            args: ["-C".to_owned(), folder.display().to_string()]
                .into_iter()
                .chain(command)
                .collect(),
            env: vec![("CARGO_TERM_COLOR".into(), "never".into())],
            clear_env: false,
            log: log.to_owned(),
        };
        let mut process = Process::spawn(shell_free).await.map_err(run)?;
        let status = loop {
            if let Some(status) = process.exited().map_err(run)? {
                break status;
            }
            let last = process.last_log_lines(1).pop().unwrap_or_default();
            progress.step(&format!("building: {}", last.trim()));
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        if !status.success() {
            let tail = process.last_log_lines(15).join("\n");
            return Err(Error::Failed {
                command: words,
                status,
                log: log.to_owned(),
                tail,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::subject::built_in;

    fn workspace() -> Workspace {
        Workspace {
            root: "/w".into(),
            checkout: true,
            target: "/w/target".into(),
            triple: None,
        }
    }

    #[test]
    fn static_subjects_are_built_by_the_script() {
        let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let musl = workspace().for_target(Some(&triple)).expect("our own");
        assert_eq!(
            musl.cargo("dist"),
            ["scripts/dist.sh", triple.as_str()],
            "the profile is the script's"
        );
        assert!(musl.bin().ends_with(format!("static/{triple}/dist")));
        let error = workspace()
            .for_target(Some("sparc-x"))
            .expect_err("foreign");
        assert!(
            error
                .to_string()
                .contains("--target sparc-x: this machine is")
        );
    }

    #[test]
    fn outside_a_checkout_only_what_needs_the_sources_is_refused() {
        let mut outside = workspace();
        outside.checkout = false;
        let subjects = built_in().expect("valid");
        let named = |names: &[&str]| -> Vec<Subject> {
            let named = subjects.iter().filter(|s| names.contains(&s.id().as_str()));
            named.cloned().collect()
        };
        let foreign = named(&["helm-controller/default", "nobody/idle"]);
        assert!(foreign.len() == 2 && outside.can_build(&foreign).is_ok());
        let ours = named(&["tare/none", "controller-runtime/tuned", "nobody/idle"]);
        let error = outside
            .can_build(&ours)
            .expect_err("no sources")
            .to_string();
        let want = "tare/none, controller-runtime/tuned: built from the sources of Tare, and ";
        assert!(error.starts_with(want), "{error}");
        assert!(workspace().can_build(&ours).is_ok());
    }

    #[test]
    fn each_subject_is_built_by_itself() {
        let workspace = workspace();
        let mut subjects = built_in().expect("valid");
        let mut own = subjects[0].clone();
        own.base = Some("/own".into());
        own.build = Some(crate::model::subject::Build {
            cargo_packages: vec![],
            cargo_profile: None,
            go: None,
            go_install: None,
            command: vec!["make".into(), "operator".into()],
        });
        subjects.push(own);
        let commands = commands(&subjects, &workspace, |_| "1a2b3c".to_owned());
        let commit = "tare.dev/baselines/controller-runtime/internal/version.commit=1a2b3c";
        let go = |name: &str, package: &str, env: &str, flags: &str| {
            let program = format!("/w/target/dist/controller-runtime-{name}");
            (
                format!(
                    "env CGO_ENABLED=0 {env}go build -buildvcs=false {flags}-X {commit} -o {program} ./cmd/{package}"
                ),
                "/w/baselines/controller-runtime".to_owned(),
            )
        };
        let (plain, stripped) = ("-ldflags ", "-trimpath -ldflags -s -w ");
        let words: Vec<_> = commands
            .iter()
            .map(|(c, folder)| (c.join(" "), folder.display().to_string()))
            .collect();
        assert_eq!(
            words,
            [
                ("cargo build --profile dist -p tare".into(), "/w".into()),
                (
                    "cargo build --profile dist -p baseline-kube-rs".into(),
                    "/w".into()
                ),
                go("vanilla", "vanilla", "", plain),
                go("tuned", "tuned", "", stripped),
                go("storeless", "storeless", "", stripped),
                go(
                    "storeless-tuned",
                    "storeless",
                    "GOEXPERIMENT=jsonv2 ",
                    stripped
                ),
                (
                    "env CGO_ENABLED=0 GOBIN=/w/target/dist go install github.com/k3s-io/helm-controller@v0.17.9".to_owned(),
                    "/w".to_owned()
                ),
                ("make operator".to_owned(), "/own".to_owned()),
            ]
        );
    }
}
