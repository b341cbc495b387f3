//! `loadgen control-plane build`: builds the control plane's programs from their Go modules.
//!
//! Guarantees: shows progress; programs that were built are kept when it is stopped. Leaves to others:
//! the build itself (`controlplane::build`).

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use controlplane::build::{Note, build, build_node, build_version};
use controlplane::{Binaries, Error, NodeBinaries};

use crate::cli::command_line;
use crate::error::Usage;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

#[derive(Args)]
pub struct BuildArgs {
    /// Also build kubelet and kube-scheduler, for up --node
    #[arg(long)]
    node: bool,
    /// Build this version of Kubernetes, such as 1.35, into a folder of its own, and print the folder
    #[arg(long, value_name = "VERSION", conflicts_with = "node")]
    kubernetes: Option<String>,
}

pub(crate) async fn run(args: BuildArgs) -> anyhow::Result<ExitCode> {
    let stop = Interrupt::on_signals().context("cannot listen for Ctrl-C")?;
    let built = async {
        match &args.kubernetes {
            Some(version) => of_version(version).await,
            None => default_version(args.node).await,
        }
    };
    let Some(built) = stop.or(built).await else {
        eprintln!("stopped: programs that were built are kept; run the same command to continue");
        return Ok(ExitCode::from(130));
    };
    built.map(|()| ExitCode::SUCCESS)
}

async fn default_version(node: bool) -> anyhow::Result<()> {
    let (binaries, built_node) = all(node).await?;
    print!("{}", summary(&binaries, built_node.as_ref()));
    let option = if node { " --node" } else { "" };
    println!("next: {} control-plane up{option}", command_line::program());
    Ok(())
}

/// Prints the folder of its programs, and nothing else on standard output: a script assigns it to a variable.
async fn of_version(version: &str) -> anyhow::Result<()> {
    let built = {
        let progress = ShownProgress(Progress::default());
        build_version(version, |note| progress.tell(note)).await
    };
    let folder = built.map_err(|error| match error {
        Error::Version { .. } => Usage(format!("--kubernetes: {error}")).into(),
        error => anyhow::Error::from(error),
    })?;
    println!("{}", folder.display());
    let assets = command_line::quoted(&folder);
    eprintln!(
        "next: KUBEBUILDER_ASSETS={assets} {} control-plane up",
        command_line::program()
    );
    Ok(())
}

/// Builds the programs that are missing, and shows progress. Dropping the future stops the build.
pub(crate) async fn all(node: bool) -> Result<(Binaries, Option<NodeBinaries>), Error> {
    let progress = ShownProgress(Progress::default());
    let tell = |note| progress.tell(note);
    let binaries = build(tell).await?;
    let node = match node {
        true => Some(build_node(tell).await?),
        false => None,
    };
    Ok((binaries, node))
}

/// Clears the progress line when dropped, however the build ends.
struct ShownProgress(Progress);

impl ShownProgress {
    fn tell(&self, note: Note) {
        match note {
            Note::Line(line) => self.0.say(&line),
            Note::Now(step) => self.0.step(&step),
        }
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// One line for each program.
fn summary(binaries: &Binaries, node: Option<&NodeBinaries>) -> String {
    let absent = |path: &Option<std::path::PathBuf>| match path {
        Some(path) => path.display().to_string(),
        None => "not there".to_owned(),
    };
    let mut lines = vec![
        ("etcd", binaries.etcd.display().to_string()),
        ("kine", absent(&binaries.kine)),
        (
            "kube-apiserver",
            binaries.kube_apiserver.display().to_string(),
        ),
        (
            "kube-controller-manager",
            binaries.kube_controller_manager.display().to_string(),
        ),
        ("kubectl", absent(&binaries.kubectl)),
    ];
    if let Some(node) = node {
        lines.extend([
            ("kubelet", node.kubelet.display().to_string()),
            ("kube-scheduler", node.kube_scheduler.display().to_string()),
        ]);
    }
    lines
        .iter()
        .map(|(name, path)| format!("{name:<24} {path}\n"))
        .collect()
}
