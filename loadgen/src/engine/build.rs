//! Makes the subjects: one cargo call for each that is a package of this workspace, or the command
//! it names.
//!
//! Guarantees: what is measured was built in the profile that is shipped; the whole output is in
//! a log and its tail is shown. Leaves to others: where it is built (`workspace`), and starting it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tare_procstat::checkout;
use tare_procstat::process::{Process, Spec};

use crate::engine::workspace::Workspace;
use crate::engine::{go_module, workspace};
use crate::spec::subject::Subject;
use crate::terminal::progress::Progress;
use crate::watch::log_tail::without_colours;

/// Why there are no subjects.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot make {}: {source}", folder.display())]
    Folder {
        folder: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error(transparent)]
    GoModule(#[from] go_module::Error),
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
    // Several variants may come from one package.
    let mut add = |command: Vec<String>, folder: PathBuf| {
        let one = (command, folder);
        if !all.contains(&one) {
            all.push(one);
        }
    };
    let root = &workspace.root;
    for subject in subjects {
        let Some(build) = &subject.build else {
            continue;
        };
        let profile = build.cargo_profile.as_deref().unwrap_or("dist");
        for package in &build.cargo_packages {
            let mut command = workspace.cargo(profile);
            command.push(package.clone());
            add(command, root.clone());
        }
        let own = root.join("loadgen/subjects");
        let base = subject.base.as_ref().unwrap_or(&own);
        if let Some(go) = &build.go {
            let (folder, program) = (base.join(&go.folder), go.program());
            let program = workspace.program(subject, &program);
            add(go.command(&program, &commit(&folder)), folder);
        }
        if let Some(go) = &build.go_module {
            let program = workspace.program(subject, go.program());
            add(go.command(&program), workspace.sources(go));
        }
        if !build.command.is_empty() {
            add(build.command.clone(), base.clone());
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
    let Some(commit) = checkout::revision(folder, None) else {
        return "unknown".to_owned();
    };
    let (digits, dirty) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    format!("{}{dirty}", digits.get(..12).unwrap_or(digits))
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
    for build in subjects.iter().filter_map(|subject| subject.build.as_ref()) {
        if let Some(module) = &build.go_module {
            progress.step(&format!("downloading {}", module.query()));
            go_module::copy(module, &workspace.sources(module)).await?;
        }
    }
    for (command, folder) in commands(subjects, workspace, commit_of) {
        let words = command.join(" ");
        progress.say(&format!("building: {words}"));
        let run = |source| Error::Run {
            command: words.clone(),
            source,
        };
        let mut command = command.into_iter();
        let spec = Spec {
            name: words.clone(),
            program: command.next().unwrap_or_default().into(),
            args: command.collect(),
            folder: Some(folder),
            env: vec![("CARGO_TERM_COLOR".into(), "never".into())],
            clear_env: false,
            log: log.to_owned(),
        };
        let (begun, before) = (Instant::now(), log_bytes(log));
        let mut process = Process::spawn(spec).await.map_err(run)?;
        let status = loop {
            if let Some(status) = process.exited().map_err(run)? {
                break status;
            }
            // What another command has said before is in the same log, and Go says nothing while it builds.
            let last = (log_bytes(log) > before)
                .then(|| process.last_log_lines(1).pop())
                .flatten();
            let last = without_colours(last.as_deref().unwrap_or_default());
            let says = match last.trim() {
                "" => &words,
                last => last,
            };
            progress.step(&format!(
                "building, {} s: {says}",
                begun.elapsed().as_secs()
            ));
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

fn log_bytes(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |file| file.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::spec::subject::built_in;

    #[test]
    fn each_subject_is_built_by_itself() {
        let workspace = Workspace::of_tests();
        // Of operators of others, one of each way.
        let others = ["argo-rollouts", "external-dns", "sealed-secrets"];
        let is_ours = |subject: &Subject| {
            let build = subject.build.as_ref();
            build.is_some_and(|build| build.go.is_some() || !build.cargo_packages.is_empty())
        };
        let mut subjects = built_in().expect("valid");
        subjects.retain(|it| is_ours(it) || others.contains(&it.name.as_str()));
        let mut own = subjects[0].clone();
        own.base = Some("/own".into());
        own.build = Some(crate::spec::subject::Build {
            cargo_packages: vec![],
            cargo_profile: None,
            go: None,
            go_module: None,
            command: vec!["make".into(), "operator".into()],
        });
        let mut wrapped = own.clone();
        if let Some(build) = &mut wrapped.build {
            build.command.clear();
            build.go = Some(crate::spec::subject::GoBuild {
                folder: "wrapper".into(),
                package: ".".into(),
                flags: vec![],
                env: BTreeMap::new(),
                output: Some("my-operator".into()),
            });
        }
        subjects.extend([own, wrapped]);
        let commands = commands(&subjects, &workspace, |_| "1a2b3c".to_owned());
        let commit = "tare.dev/league/controller-runtime/internal/version.commit=1a2b3c";
        let go = |name: &str, package: &str, env: &str, flags: &str| {
            let program = format!("/w/target/dist/controller-runtime-{name}");
            (
                format!(
                    "env CGO_ENABLED=0 GOWORK=off {env}go build -buildvcs=false {flags}-X {commit} -o {program} ./cmd/{package}"
                ),
                "/w/loadgen/subjects/../../league/controller-runtime".to_owned(),
            )
        };
        let (plain, stripped) = ("-ldflags ", "-trimpath -ldflags -s -w ");
        // The folders are named by digests.
        let without_digest = |command: String| match command.split_once("/dist/go/") {
            Some((before, after)) => {
                let (name, rest) = after.split_at(after.find(['/', ' ']).unwrap_or(after.len()));
                let (name, _) = name.rsplit_once('-').expect("a digest");
                format!("{before}/dist/go/{name}{rest}")
            }
            None => command,
        };
        let words: Vec<_> = commands
            .iter()
            .map(|(c, folder)| (without_digest(c.join(" ")), folder.display().to_string()))
            .collect();
        assert_eq!(
            words,
            [
                ("cargo build --profile dist -p tare".into(), "/w".into()),
                (
                    "cargo build --profile dist -p baseline-tare-controller".into(),
                    "/w".into()
                ),
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
                    "env CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -o /w/target/dist/go/rollouts-controller/rollouts-controller ./cmd/rollouts-controller".to_owned(),
                    "/w/target/go-modules/github.com-argoproj-argo-rollouts@v1.9.0".to_owned()
                ),
                (
                    "env CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -o /w/target/dist/go/external-dns/external-dns .".to_owned(),
                    "/w/target/go-modules/sigs.k8s.io-external-dns@v0.21.0".to_owned()
                ),
                (
                    "env CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -o /w/target/dist/go/controller/controller ./cmd/controller".to_owned(),
                    "/w/target/go-modules/github.com-bitnami-labs-sealed-secrets@v0.40.0".to_owned()
                ),
                ("make operator".to_owned(), "/own".to_owned()),
                (
                    "env CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -o /w/target/dist/go/my-operator/my-operator .".to_owned(),
                    "/own/wrapper".to_owned()
                ),
            ]
        );
    }
}
