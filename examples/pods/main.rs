//! `pods`: a tour of kube's client, on Pods, on the cluster of `$KUBECONFIG`.
//!
//! One file for each stop: [`crud`], [`logs`], [`exec`], [`tree`] (the dynamic API), [`layers`] (from a
//! client to a controller), [`install`] (a CRD from a Rust type), [`yaml`] and [`pod_ext`] (extension
//! traits), [`table`] (what kubectl prints). Needs nothing of Tare's library. What the operators of this
//! repository do with less memory is in `src/`; this is the usual way.

// Public for the tests, which take this file as a module.
pub mod age;
pub mod cli;
pub mod crud;
pub mod exec;
pub mod install;
pub mod layers;
pub mod logs;
pub mod pod_ext;
pub mod screen;
pub mod table;
pub mod tree;
pub mod yaml;

use std::error::Error;
use std::process::ExitCode;

use anyhow::anyhow;
use cli::{Command, Place, Usage};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, Config};
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
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", explain(&error));
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
    let done = run(usage, client, &screen, &errors).await;
    done.map_err(|error| match error.downcast_ref() {
        Some(kube::Error::Service(_)) => error.context(server),
        _ => error,
    })
}

/// Runs a command; gives the exit code. `main` without a terminal and a kubeconfig: tests call it.
pub async fn run(
    usage: Usage,
    client: Client,
    screen: &Screen,
    errors: &Screen,
) -> anyhow::Result<u8> {
    let Usage { command, place } = usage;
    let pods: Api<Pod> = match &place {
        Place::Everywhere => Api::all(client.clone()),
        Place::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
        Place::Default => Api::default_namespaced(client.clone()),
    };
    match command {
        Command::Help => screen.text(cli::HELP)?,
        Command::Create { file } => crud::create(&pods, &crud::read(&file)?, screen).await?,
        Command::Get(what) => {
            let wide = place == Place::Everywhere;
            crud::get(&pods, &what, wide, screen, errors).await?;
        }
        Command::Label { name, change } => crud::label(&pods, &name, &change, screen).await?,
        Command::Delete { name } => crud::delete(pods, &name, screen).await?,
        Command::Logs { name, options } => logs::show(&pods, &name, &options, screen).await?,
        Command::Exec(asked) => return exec::run(&pods, &asked, screen, errors).await,
        Command::Tree { name } => tree::show(client, &pods, &name, screen).await?,
        Command::Client => layers::client(pods, screen).await?,
        Command::Watcher => layers::watcher(pods, screen, errors).await?,
        Command::Reflector => layers::reflector(pods, screen, errors).await?,
        Command::Controller => layers::controller(pods, screen, errors).await?,
        Command::Install => install::install::<install::Note>(client, screen).await?,
    }
    Ok(0)
}

/// One line; what the server says is a sentence already, and a cause is told once.
pub fn explain(error: &anyhow::Error) -> String {
    if let Some(kube::Error::Api(status)) = error.downcast_ref() {
        return status.message.clone();
    }
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
