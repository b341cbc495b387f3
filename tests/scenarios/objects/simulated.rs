//! Generated sequences on the simulated server, on paused time.
//!
//! Guarantees: a sequence follows from its seed. One that fails is made smaller, and printed with the command that
//! repeats it.

use std::cell::Cell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use kubesim::Options;
use libtest_mimic::Failed;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tare_runtime::cache::Mode;
use tokio::runtime::Builder;

use crate::cluster::Cluster;
use crate::cluster::simulated::Simulated;
use crate::objects::case::{self, Ended};
use crate::objects::operation::{Operation, sequences};
use crate::objects::record::Counts;
use crate::objects::subject::Subject;

/// A Deployment is ready so long after a change, as on the real servers.
const READY_DELAY: Duration = Duration::from_secs(2);
/// Runs of a case that fails, to make it smaller.
const SHRINKS: u32 = 300;

/// What to generate.
#[derive(Clone, Copy)]
pub struct Amount {
    pub seed: u64,
    /// Answered requests of users, for each kind and cache mode.
    pub operations: usize,
}

/// Runs sequences until so many operations are done.
pub fn run<S: Subject>(mode: Mode, amount: Amount) -> Result<Counts, Failed> {
    let (done, refused, mut cases) = (Cell::new(0), Cell::new(0), 0);
    let strategy = sequences::<S>();
    while done.get() < amount.operations {
        let seed = amount.seed.wrapping_add(cases);
        // Other operations in each mode.
        let mut runner = runner(seed ^ ((mode as u64) << 32));
        let result = runner.run(&strategy, |operations| {
            let ended = on_paused_time(in_simulated::<S>(mode, &operations))?;
            let not_ok = ended.answers.iter().filter(|answer| answer.1 != 200);
            refused.set(refused.get() + not_ok.count());
            done.set(done.get() + ended.answers.len());
            Ok(())
        });
        result.map_err(|error| told::<S>(mode, seed, &error))?;
        cases += 1;
    }
    println!(
        "{mode} {}: {} operations in {cases} cases, {} of them refused, seed {}",
        S::NOUN,
        done.get(),
        refused.get(),
        amount.seed
    );
    Ok(Counts {
        operations: done.get(),
        cases,
        refused: refused.get(),
    })
}

/// The sequence of a seed.
pub fn sequence<S: Subject>(seed: u64) -> Vec<Operation> {
    let tree = sequences::<S>().new_tree(&mut runner(seed));
    tree.expect("a sequence is generated").current()
}

/// The same sequence on a server and an operator of its own.
pub async fn in_simulated<S: Subject>(
    mode: Mode,
    operations: &[Operation],
) -> Result<Ended, TestCaseError> {
    let options = Options {
        ready_delay: READY_DELAY,
        ..Options::default()
    };
    let simulated = Simulated::with(mode, options);
    let installed = simulated.server.install(S::CRD);
    installed.map_err(|error| TestCaseError::fail(error.to_string()))?;
    case::run::<S>(&Cluster::simulated(simulated), operations).await
}

/// Runs on a clock that advances while all tasks wait. A panic is a failure of the case.
pub fn on_paused_time<T>(
    test: impl Future<Output = Result<T, TestCaseError>>,
) -> Result<T, TestCaseError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    let ended = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(test)));
    ended.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(TestCaseError::fail(format!(
            "a panic: {}",
            text.unwrap_or_default()
        )))
    })
}

/// Generates what follows from a seed.
pub fn runner(seed: u64) -> TestRunner {
    let config = Config {
        cases: 1,
        max_shrink_iters: SHRINKS,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn told<S: Subject>(mode: Mode, seed: u64, error: &TestError<Vec<Operation>>) -> Failed {
    let again = format!(
        "OBJECTS_SEED={seed} OBJECTS_OPERATIONS=1 cargo test -p tare --test scenarios -- --exact objects::simulated::{mode}::{}",
        S::NOUN
    );
    match error {
        TestError::Abort(reason) => format!("{reason}\n{again}").into(),
        TestError::Fail(reason, smallest) => {
            let operations: Vec<String> = smallest.iter().map(|one| format!("  {one:?}")).collect();
            let smallest = operations.join("\n");
            format!("{reason}\nthe smallest sequence:\n{smallest}\n{again}").into()
        }
    }
}
