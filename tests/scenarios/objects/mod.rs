//! Objects that nobody thought of: generated from the schemas of EdgeApps and of the examples.
//!
//! - `objects::simulated::MODE::KIND`: users create, edit and delete objects while an operator works, on the simulated
//!   server. Then: every child is as planned, the status is the planned one, nothing is left of what was deleted,
//!   nothing is written with a relist or a start, no Event and no metric tells of a conflict, a panic or an object
//!   that cannot be read.
//!
//! - `objects::kube::KIND`: the same sequences on kube-apiserver and etcd: the same answers, the same objects at the end. Ignored
//!   without the binaries of a control plane (`loadgen control-plane build`).
//!
//! - `objects::simulated::bad_objects::KIND`, `objects::kube::bad_objects::KIND`: objects with one mistake are refused with the field
//!   named, by both servers with the same words.
//!
//! `OBJECTS_OPERATIONS` operations in all (2,000 where it is not set; `just objects` does 20,000), from the seed
//! `OBJECTS_SEED`. A failure prints the smallest sequence that fails and the command that repeats it.
//! `OBJECTS_RECORDS=FILE` keeps what was tested and makes `FILE.md` of it (`just objects-report`).

mod case;
mod detection;
mod mistake;
mod operation;
mod oracle;
mod real;
mod record;
mod refusals;
mod schema;
mod simulated;
mod subject;

use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;

use real::Plane;
use simulated::Amount;
use subject::{Echoes, InferenceServices, MyServices, Subject, WebApps};

/// In all, over kinds and modes.
const OPERATIONS: usize = 2_000;
const SEED: u64 = 7;
const KINDS: usize = 5;
/// One in so many of the operations is done on the real server too.
const ON_REAL: usize = 10;

/// More than processors: what runs on a real server mostly waits for it.
const THREADS: usize = 6;

/// Runs what `arguments` choose, and writes the page on what was kept.
///
/// # Errors
/// The page cannot be written.
pub fn run(arguments: &Arguments) -> Result<Conclusion, Failed> {
    let conclusion = crate::run(arguments, THREADS, trials());
    record::write_page()?;
    Ok(conclusion)
}

fn trials() -> Vec<Trial> {
    let plane = real::plane();
    if let Err(reason) = &plane {
        eprintln!("ignored, kube::: {reason}");
    }
    let mut trials = vec![detection::trial()];
    trials.extend(of::<EdgeApps>(&plane));
    trials.extend(of::<WebApps>(&plane));
    trials.extend(of::<MyServices>(&plane));
    trials.extend(of::<InferenceServices>(&plane));
    trials.extend(of::<Echoes>(&plane));
    // What waits for a real server goes on beside the others.
    trials.sort_by_key(|trial| !trial.name().starts_with("objects::kube"));
    trials
}

fn of<S: Subject>(plane: &Result<Plane, String>) -> Vec<Trial> {
    let seed = number("OBJECTS_SEED").unwrap_or(SEED);
    let all = number("OBJECTS_OPERATIONS").map_or(OPERATIONS, |all| all as usize);
    let amount = |of_all: usize| Amount {
        seed,
        operations: of_all.div_ceil(KINDS),
    };
    let mut trials = refusals::trials::<S>(plane, seed);
    trials.push(real::trial::<S>(plane, amount(all / ON_REAL)));
    trials.extend(Mode::ALL.into_iter().map(|mode| {
        let name = format!("simulated::{mode}::{}", S::NOUN);
        let amount = amount(all.div_ceil(Mode::ALL.len()));
        record::trial(name, seed, move || simulated::run::<S>(mode, amount))
    }));
    trials
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|error| panic!("{variable}: {error}")),
    )
}
