//! `pods`: a tour of kube's client, on Pods, on the cluster of `$KUBECONFIG`.
//!
//! One file for each stop: [`crud`], [`logs`], [`exec`], [`tree`] (the dynamic API), [`layers`] (from a
//! client to a controller), [`install`] (a CRD from a Rust type), [`yaml`] and [`pod_ext`] (extension
//! traits), [`table`] (what kubectl prints). Needs nothing of Tare's library. Selection the operators of this
//! repository do with less memory is in `src/`; this is the usual way.

// Public for the tests, which take this file as a module.
pub mod age;
pub mod cli;
pub mod crud;
pub mod exec;
pub mod failure;
pub mod install;
pub mod label;
pub mod layers;
pub mod logs;
pub mod pod_ext;
pub mod screen;
pub mod table;
pub mod tour;
pub mod tree;
pub mod yaml;

use std::error::Error;
use std::process::ExitCode;

use anyhow::anyhow;
use cli::{Command, Usage};
use kube::{Client, Config};
use screen::Screen;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let usage = match cli::parse(std::env::args_os().skip(1)) {
        Ok(usage) => usage,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let (screen, errors) = (
        Screen::new(std::io::stdout()),
        Screen::new(std::io::stderr()),
    );
    // Watches and logs never end by themselves.
    let done = tokio::select! {
        done = start(usage, screen, errors) => done,
        _ = tokio::signal::ctrl_c() => Ok(0),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // `pods get | head -1`
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", failure::explain(&error));
            ExitCode::FAILURE
        }
    }
}

async fn start(usage: Usage, screen: Screen, errors: Screen) -> anyhow::Result<u8> {
    if usage.command == Command::Help {
        screen.text(cli::HELP)?;
        return Ok(0);
    }
    // $KUBECONFIG, then ~/.kube/config, then the service account of a pod.
    let config = Config::infer().await.map_err(|error| {
        let of_kubeconfig = error.source().map(ToString::to_string);
        anyhow!("{}; set KUBECONFIG", of_kubeconfig.unwrap_or_default())
    })?;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config)?;
    let done = tour::run(usage, client, &screen, &errors).await;
    done.map_err(|error| match error.downcast_ref() {
        Some(kube::Error::Service(_)) => error.context(server),
        _ => error,
    })
}
