//! `loadgen control-plane`: a real Kubernetes API on this machine, built and run by one command.
//!
//! Leaves to others: the control plane itself (`controlplane`).

pub mod build;
pub mod folder;
pub mod started;
pub mod up;

use std::process::ExitCode;

use clap::Subcommand;

pub use crate::cli::command_line::on_path;
use crate::cli::means;

#[derive(Subcommand)]
pub enum ControlPlaneCommand {
    /// Build etcd, kine, kube-apiserver, kube-controller-manager and kubectl into your cache folder
    Build(build::BuildArgs),
    /// Run a control plane until Ctrl-C, then stop it and remove its data
    Up(up::UpArgs),
}

pub fn run(command: ControlPlaneCommand) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(async {
        match command {
            ControlPlaneCommand::Build(args) => build::run(args).await,
            ControlPlaneCommand::Up(args) => up::run(args).await,
        }
    })
}
