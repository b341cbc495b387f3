//! The contract suite on the embedded server: every case is a test under its own name, on a server
//! of its own. `cargo test -p testbed --test contract -- a_stale` runs those with that in the name.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use testbed::contract::{self, Case, Options, Outcome};
use testbed::embedded::{self, Server};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = contract::cases().into_iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Cases for real servers only are listed as ignored.
fn trial(case: Case) -> Trial {
    Trial::test(case.name, move || run(&case))
        .with_kind(case.theme)
        .with_ignored_flag(case.real_only.is_some())
}

fn run(case: &Case) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match runtime.block_on(outcome(case)) {
        Outcome::Passed => Ok(()),
        Outcome::Failed(failure) => Err(failure.to_string().into()),
        Outcome::Skipped(reason) => Err(format!("not run: {reason}").into()),
    }
}

async fn outcome(case: &Case) -> Outcome {
    let server = Server::new(embedded::Options::default());
    let client = server.client("contract");
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
