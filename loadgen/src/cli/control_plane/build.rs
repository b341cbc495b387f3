//! `loadgen control-plane build`: builds the control plane's programs from their Go module.
//!
//! Guarantees: shows progress; programs that were built are kept when it is stopped. Leaves to others:
//! the build itself (`controlplane::build`).

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use controlplane::build::{Note, build, build_node, build_version};
use controlplane::{Binaries, Error, NodeBinaries};

use crate::cli::control_plane::hints;
use crate::model::error::Usage;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

#[derive(Args)]
pub struct BuildArgs {
    /// Also build kubelet and kube-scheduler, for up --node
    #[arg(long)]
    node: bool,
    /// Build this version of Kubernetes, such as 1.34, into a folder of its own
    #[arg(long, value_name = "VERSION", conflicts_with = "node")]
    kubernetes: Option<String>,
}

pub(crate) async fn run(args: BuildArgs) -> anyhow::Result<ExitCode> {
    let stop = Interrupt::on_signals().context("cannot listen for Ctrl-C")?;
    let built = async {
        match &args.kubernetes {
            Some(version) => of_version(version).await.map(Built::OfVersion),
            None => all(args.node).await.map(Built::Default),
        }
    };
    let built = tokio::select! {
        biased;
        () = stop.requested() => None,
        built = built => Some(built),
    };
    let Some(built) = built else {
        eprintln!("stopped: programs that were built are kept; run the same command to continue");
        return Ok(ExitCode::from(130));
    };
    let (binaries, node) = match built {
        Err(error @ Error::Version { .. }) => return Err(Usage(error.to_string()).into()),
        other => match other? {
            Built::Default(built) => built,
            Built::OfVersion(folder) => {
                let folder = folder.display();
                println!("{folder}");
                println!(
                    "next: KUBEBUILDER_ASSETS={folder} {} up",
                    hints::program()
                );
                return Ok(ExitCode::SUCCESS);
            }
        },
    };
    print!("{}", summary(&binaries, node.as_ref()));
    let option = if args.node { " --node" } else { "" };
    println!("next: {} up{option}", hints::program());
    Ok(ExitCode::SUCCESS)
}

/// What was asked for.
enum Built {
    Default((Binaries, Option<NodeBinaries>)),
    /// The folder of its programs.
    OfVersion(PathBuf),
}

async fn of_version(version: &str) -> Result<PathBuf, Error> {
    let progress = ShownProgress(Progress::default());
    build_version(version, |note| progress.tell(note)).await
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
