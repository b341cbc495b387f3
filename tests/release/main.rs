//! Tests that take minutes and run before a release: `just release-check`.
//!
//! Without that command they are listed as ignored. They use a real control plane, with the readiness
//! agent in place of nodes. A test fails where a program that it needs is missing, with the command that
//! installs it.

mod confined;
mod emulated;
mod populated_cluster;

#[path = "../runc/mod.rs"]
mod runc;

use std::process::ExitCode;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use populated_cluster::PopulatedCluster;

type Outcome = Result<(), Failed>;
type Run = for<'a> fn(&'a PopulatedCluster) -> BoxFuture<'a, Outcome>;
type Scenario = (&'static str, Run);

const SCENARIOS: &[Scenario] = &[
    (
        "five_thousand_within_16_mib_in_runc_without_a_kill",
        |cluster| Box::pin(confined::five_thousand(cluster)),
    ),
    ("the_arm64_program_under_qemu_reconciles_100", |cluster| {
        Box::pin(emulated::a_hundred(cluster))
    }),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One test at a time: each has a control plane of its own and the whole machine.
    arguments.test_threads = Some(1);
    if !(arguments.ignored || arguments.include_ignored) {
        eprintln!("ignored, what takes minutes: run `just release-check`");
    }
    let trial = |&(name, scenario): &Scenario| {
        Trial::test(name, move || run(name, scenario)).with_ignored_flag(true)
    };
    libtest_mimic::run(&arguments, SCENARIOS.iter().map(trial).collect()).exit_code()
}

fn run(name: &str, scenario: Run) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let cluster = PopulatedCluster::start(name).await?;
        scenario(&cluster).await
    })
}
