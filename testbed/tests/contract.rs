//! The contract suite: every case is a test under its own name.
//!
//! `cargo test -p testbed --test contract -- a_stale` runs those with that in the name, each on an
//! embedded server of its own. With `CONTRACT_KUBECONFIG=FILE` they run on that cluster instead,
//! in namespaces of their own. `CONTRACT_COMPACT=COMMAND` makes that cluster forget its history;
//! without it the cases that need it are ignored.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use libtest_mimic::{Arguments, Failed, Trial};
use testbed::contract::{self, Case, Compact, Options, Outcome};
use testbed::embedded::{self, Server};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cluster = std::env::var("CONTRACT_KUBECONFIG").ok();
    let mut trials: Vec<Trial> = contract::cases()
        .into_iter()
        .map(|case| trial(case, cluster.clone()))
        .collect();
    if cluster.is_none() {
        trials.push(Trial::test("the_whole_suite_is_reported", report).with_kind("runner"));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Cases that the server cannot be asked for are listed as ignored.
fn trial(case: Case, cluster: Option<String>) -> Trial {
    let ignored = match &cluster {
        None => case.real_only.is_some(),
        Some(_) => case.compacts && compact_command().is_none(),
    };
    Trial::test(case.name, move || run(&case, cluster.as_deref()))
        .with_kind(case.theme)
        .with_ignored_flag(ignored)
}

fn run(case: &Case, cluster: Option<&str>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // In process, waiting takes no time.
        .start_paused(cluster.is_none())
        .build()?;
    let outcome = match cluster {
        None => runtime.block_on(on_embedded(case)),
        Some(kubeconfig) => runtime.block_on(on_cluster(case, Path::new(kubeconfig)))?,
    };
    match outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed(failure) => Err(failure.to_string().into()),
        Outcome::Skipped(reason) => Err(format!("not run: {reason}").into()),
    }
}

async fn on_embedded(case: &Case) -> Outcome {
    let server = Server::new(embedded::Options::default());
    let client = server.client("contract");
    let options = Options {
        compact: Some(Arc::new(move || {
            server.compact();
            Box::pin(async { Ok(()) })
        })),
        ..Options::default()
    };
    run_case(case, &client, &options).await
}

async fn on_cluster(case: &Case, kubeconfig: &Path) -> Result<Outcome, Failed> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A refusal is an answer here, and not to be asked for again.
    config.default_retry = false;
    let options = Options {
        real: true,
        compact: compact_command(),
        ..Options::default()
    };
    Ok(run_case(case, &kube::Client::try_from(config)?, &options).await)
}

/// Runs the command and waits for it.
fn compact_command() -> Option<Compact> {
    let command = std::env::var("CONTRACT_COMPACT").ok()?;
    Some(Arc::new(move || {
        let status = std::process::Command::new("sh")
            .args(["-c", &command])
            .status();
        let done = match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{command}: {status}")),
            Err(error) => Err(format!("{command}: {error}")),
        };
        Box::pin(async { done })
    }))
}

async fn run_case(case: &Case, client: &kube::Client, options: &Options) -> Outcome {
    match contract::install(client).await {
        Ok(()) => contract::run_case(case, client, options).await,
        Err(failure) => Outcome::Failed(failure),
    }
}

/// Without a way to compact, one server for all.
fn report() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    let report = runtime.block_on(async {
        let server = Server::new(embedded::Options::default());
        contract::run(server.client("contract"), Options::default()).await
    });
    let compacting = contract::cases().iter().filter(|it| it.compacts).count();
    for (case, outcome) in &report.results {
        if let Outcome::Failed(failure) = outcome {
            return Err(format!("{}: {failure}", case.name).into());
        }
    }
    if report.skipped() != compacting || report.passed() + compacting != report.results.len() {
        let (passed, skipped) = (report.passed(), report.skipped());
        return Err(format!("{passed} passed, {skipped} skipped").into());
    }
    Ok(())
}
