//! What ships, as it ships; one test at a time, because most of them need the whole machine.
//!
//! - `elf::…`: the static binaries that are there; `chart::…`: what Helm renders; `signing::…`: what a signature covers.
//! - `node::…`: the image on a real node (`just node-test`).
//! - `minutes::…`: 5,000 EdgeApps in runc and the programs for other processors under qemu, on a real control plane with the readiness
//!   agent in place of nodes. They run with `just release-check`, and fail where a program that they need is missing.
//!
//! What cannot run here is listed as ignored, with what is missing.

mod chart;
mod confined;
mod elf;
mod emulated;
mod helm;
mod node;
mod populated_cluster;
mod signing;

#[path = "../shared/manifests.rs"]
mod manifests;
#[path = "../shared/runc.rs"]
mod runc;

use std::process::ExitCode;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};

use populated_cluster::PopulatedCluster;

type Outcome = Result<(), Failed>;
type Run = for<'a> fn(&'a PopulatedCluster) -> BoxFuture<'a, Outcome>;
type Scenario = (&'static str, Run);

const MINUTES: &[Scenario] = &[
    (
        "five_thousand_within_16_mib_in_runc_without_a_kill",
        |cluster| Box::pin(confined::five_thousand(cluster)),
    ),
    ("the_arm64_program_under_qemu_reconciles_100", |cluster| {
        Box::pin(emulated::a_hundred(cluster, "aarch64-unknown-linux-musl"))
    }),
    ("the_armv7_program_under_qemu_reconciles_100", |cluster| {
        let target = "armv7-unknown-linux-musleabihf";
        Box::pin(emulated::a_hundred(cluster, target))
    }),
    ("the_riscv64_program_under_qemu_reconciles_100", |cluster| {
        Box::pin(emulated::a_hundred(cluster, "riscv64gc-unknown-linux-musl"))
    }),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> std::io::Result<Vec<Trial>> {
    let mut trials = elf::trials();
    trials.extend(chart::trials());
    trials.extend(signing::trials());
    trials.extend(node::trials()?);
    trials.extend(MINUTES.iter().map(|&(name, scenario)| {
        Trial::test(format!("minutes::{name}"), move || run(name, scenario))
            .with_kind("takes minutes: just release-check")
            .with_ignored_flag(true)
    }));
    Ok(trials)
}

fn run(name: &str, scenario: Run) -> Outcome {
    runtime()?.block_on(async {
        let cluster = PopulatedCluster::start(name).await?;
        scenario(&cluster).await
    })
}

/// For a test that has a cluster of its own.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}
