//! `loadgen control-plane build`: the programs, from their Go module.
//!
//! Guarantees: shows what it does; what was built stays when it is stopped. Leaves to others: the
//! building (`testbed::control_plane::build`).

use std::process::ExitCode;

use anyhow::Context;
use testbed::control_plane::Binaries;
use testbed::control_plane::build::{Note, build};

use super::hints;
use crate::progress::Progress;
use crate::stop::Stop;

pub(super) async fn run() -> anyhow::Result<ExitCode> {
    let stop = Stop::on_signals().context("cannot listen for Ctrl-C")?;
    let progress = Progress::new();
    let tell = |note| match note {
        Note::Line(line) => progress.say(&line),
        Note::Now(step) => progress.step(&step),
    };
    let built = tokio::select! {
        biased;
        () = stop.requested() => None,
        built = build(tell) => Some(built),
    };
    progress.finish();
    let Some(built) = built else {
        eprintln!("stopped: what was built is kept, and the same command goes on");
        return Ok(ExitCode::from(130));
    };
    print!("{}", summary(&built?));
    println!("next: {} up", hints::program());
    Ok(ExitCode::SUCCESS)
}

/// One line for each program.
fn summary(binaries: &Binaries) -> String {
    let absent = |path: &Option<std::path::PathBuf>| match path {
        Some(path) => path.display().to_string(),
        None => "not there".to_owned(),
    };
    let lines = [
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
    lines
        .iter()
        .map(|(name, path)| format!("{name:<24} {path}\n"))
        .collect()
}
