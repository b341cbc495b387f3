//! The contract suite on kubesim: every case is a test on a server of its own; client libraries of other languages are on a socket.
//!
//! The cases that only a real kube-apiserver can hold are listed as ignored; `controlplane` runs the same
//! suite on real servers.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use kubesim::{Server, Tls};
use kubesim_contract::clients::{Installed, LIBRARIES, Library};
use kubesim_contract::{self as contract, Case, Options, Outcome};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tare_procstat::temp_dir::TempDir;
use tokio::net::TcpListener;

const USER: &str = "contract";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = contract::cases().into_iter().map(trial).collect();
    trials.extend(LIBRARIES.map(of_library));
    let report = || on_a_server(async |server| report(server).await)?;
    trials.push(Trial::test("the_whole_suite_is_reported", report).with_kind("runner"));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(case: Case) -> Trial {
    let ignored = case.real_only.is_some();
    let run = move || match on_a_server(async |server| run_case(&case, server).await)? {
        Outcome::Passed => Ok(()),
        Outcome::Failed(failure) => Err(failure.to_string().into()),
        Outcome::Skipped(reason) => Err(format!("not run: {reason}").into()),
    };
    Trial::test(case.name, run)
        .with_kind(case.theme)
        .with_ignored_flag(ignored)
}

fn of_library(library: Library) -> Trial {
    let run = move || match library.install() {
        Ok(installed) => on_a_socket(library.name, &installed).map(|()| Completion::Completed),
        Err(reason) => Ok(Completion::ignored_with(reason)),
    };
    Trial::ignorable_test(library.name, run).with_kind("clients")
}

/// In real time: the library is in another process.
fn on_a_socket(name: &str, library: &Installed) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = Server::new(kubesim::Options::default());
        let client = server.client(USER);
        let failed = |failure: contract::Failure| failure.to_string();
        contract::install(&client).await.map_err(failed)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let tls = Tls::generate()?;
        let kubeconfig = kubesim::kubeconfig(&url, tls.ca_pem(), USER, &server.token(USER));
        let folder = TempDir::create(Path::new(env!("CARGO_TARGET_TMPDIR")), name)?;
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, kubeconfig)?;
        let serving = server.serve(listener, tls, std::future::pending());
        tokio::select! {
            ended = library.run(&client, &path) => Ok(ended.map_err(failed)?),
            ended = serving => Err(format!("the server ended: {ended:?}").into()),
        }
    })
}

/// On paused time: in process, waiting takes none.
fn on_a_server<T>(test: impl AsyncFnOnce(Server) -> T) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    Ok(runtime.block_on(async { test(Server::new(kubesim::Options::default())).await }))
}

async fn run_case(case: &Case, server: Server) -> Outcome {
    let client = server.client(USER);
    if let Err(failure) = contract::install(&client).await {
        return Outcome::Failed(failure);
    }
    let options = Options {
        compact: Some(Arc::new(move || {
            server.compact();
            Box::pin(async { Ok(()) })
        })),
        ..Options::default()
    };
    contract::run_case(case, &client, &options).await
}

/// The whole suite on one server without a way to compact: the cases that compact are skipped.
async fn report(server: Server) -> Result<(), Failed> {
    let report = contract::run(server.client(USER), Options::default()).await;
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
