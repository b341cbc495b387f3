//! What takes minutes and is tried before a release: `just release-check`.
//!
//! Listed as ignored otherwise. On a real control plane, with the readiness agent in place of nodes.
//! What a test needs and does not find is its failure, with the way to get it: whoever asks for these
//! wants to know.

mod confined;
mod emulated;
mod site;

use std::process::ExitCode;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use site::Site;

type Outcome = Result<(), Failed>;
type Run = for<'a> fn(&'a Site) -> BoxFuture<'a, Outcome>;
type Scenario = (&'static str, Run);

const SCENARIOS: &[Scenario] = &[
    (
        "five_thousand_within_16_mib_in_runc_without_a_kill",
        |site| Box::pin(confined::five_thousand(site)),
    ),
    ("the_arm64_program_under_qemu_reconciles_100", |site| {
        Box::pin(emulated::a_hundred(site))
    }),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each has a control plane to itself, and all of the machine.
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
        let site = Site::start(name).await?;
        scenario(&site).await
    })
}
