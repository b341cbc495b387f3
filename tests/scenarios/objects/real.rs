//! The same sequences on a real kube-apiserver: every answer and the end state are those of the simulated server.

use std::sync::Arc;

use controlplane::shared::Shared;
use controlplane::{Binaries, Datastore};
use futures::future::join_all;
use libtest_mimic::{Failed, Trial};
use proptest::test_runner::TestCaseError;
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::plane::{Setting, SharedPlane};
use crate::objects::case::{self, Ended};
use crate::objects::operation::Operation;
use crate::objects::record::{self, Counts};
use crate::objects::simulated::{Amount, in_simulated, on_paused_time, sequence};
use crate::objects::subject::Subject;

/// Cases of a kind at once: each mostly waits.
const AT_ONCE: usize = 8;
/// Answered operations of a case, about.
const ABOUT: usize = 20;

/// A control plane that the tests share; started by the first of them.
pub type Plane = Arc<Shared<Arc<SharedPlane>>>;

/// The control plane, or why there is none.
pub fn plane() -> Result<Plane, String> {
    let binaries = Binaries::find().map_err(|error| error.to_string())?;
    let shared = Shared::new(move || {
        let binaries = binaries.clone();
        async move {
            let plane = SharedPlane::start(&binaries, Datastore::Etcd, Setting::Installed).await;
            plane.map(Arc::new)
        }
    });
    shared.map(Arc::new).map_err(|error| error.to_string())
}

/// The test of a kind; ignored where there is no control plane.
pub fn trial<S: Subject>(plane: &Result<Plane, String>, amount: Amount) -> Trial {
    let name = format!("kube::{}", S::NOUN);
    match plane {
        Ok(plane) => {
            let plane = Arc::clone(plane);
            record::trial(name, amount.seed, move || run::<S>(&plane, amount))
        }
        Err(_) => ignored(name),
    }
}

pub fn ignored(name: String) -> Trial {
    Trial::test(format!("objects::{name}"), || Err("it is ignored".into()))
        .with_kind("needs binaries")
        .with_ignored_flag(true)
}

fn run<S: Subject>(plane: &Plane, amount: Amount) -> Result<Counts, Failed> {
    let (mut done, mut refused, mut cases) = (0, 0, 0);
    while done < amount.operations {
        let left = (amount.operations - done).div_ceil(ABOUT).min(AT_ONCE);
        let seeds = (0..left as u64).map(|nth| amount.seed.wrapping_add(cases + nth));
        let all = seeds.map(Case::of::<S>).collect::<Result<Vec<_>, _>>()?;
        let ended = plane.beside_others(async |plane| {
            join_all(all.iter().map(|case| case.on_real::<S>(plane))).await
        })?;
        for (case, real) in all.iter().zip(ended) {
            let real = real.map_err(|error| case.told(&format!("real: {error}")))?;
            if let Some(difference) = difference(&case.simulated, &real) {
                return Err(case.told(&difference));
            }
            done += real.answers.len();
            refused += real.answers.iter().filter(|one| one.1 != 200).count();
        }
        cases += all.len() as u64;
    }
    println!(
        "kube {}: {done} operations in {cases} cases, the same end as simulated, seed {}",
        S::NOUN,
        amount.seed
    );
    Ok(Counts {
        operations: done,
        cases,
        refused,
    })
}

/// A sequence, and how it ended on the simulated server.
struct Case {
    seed: u64,
    mode: Mode,
    operations: Vec<Operation>,
    simulated: Ended,
}

impl Case {
    fn of<S: Subject>(seed: u64) -> Result<Case, Failed> {
        let operations = sequence::<S>(seed);
        let mode = Mode::ALL[(seed % Mode::ALL.len() as u64) as usize];
        let ended = on_paused_time(in_simulated::<S>(mode, &operations));
        let simulated =
            ended.map_err(|error| told(seed, mode, &operations, &format!("simulated: {error}")))?;
        Ok(Case {
            seed,
            mode,
            operations,
            simulated,
        })
    }

    async fn on_real<S: Subject>(&self, plane: &Arc<SharedPlane>) -> Result<Ended, TestCaseError> {
        let cluster = Cluster::real(plane, self.mode).await;
        case::run::<S>(&cluster, &self.operations).await
    }

    fn told(&self, what: &str) -> Failed {
        told(self.seed, self.mode, &self.operations, what)
    }
}

fn told(seed: u64, mode: Mode, operations: &[Operation], what: &str) -> Failed {
    let operations: Vec<String> = operations.iter().map(|one| format!("  {one:?}")).collect();
    let operations = operations.join("\n");
    format!("{what}\nOBJECTS_SEED={seed} OBJECTS_OPERATIONS=1, mode {mode}:\n{operations}").into()
}

/// What the two servers do not agree about.
fn difference(simulated: &Ended, real: &Ended) -> Option<String> {
    let mut answers = simulated.answers.iter().zip(&real.answers);
    if let Some((simulated, real)) = answers.find(|(simulated, real)| simulated != real) {
        return Some(format!(
            "answered {simulated:?}, by the real server {real:?}"
        ));
    }
    if simulated.state.refused != real.state.refused {
        let (simulated, real) = (&simulated.state.refused, &real.state.refused);
        return Some(format!(
            "the children of {simulated:?} are refused, by the real server those of {real:?}"
        ));
    }
    let mut objects = simulated.state.objects.iter().zip(&real.state.objects);
    let differing = objects.find(|(simulated, real)| simulated != real);
    let lengths = (simulated.state.objects.len(), real.state.objects.len());
    match differing {
        Some((simulated, real)) => Some(format!("at the end {simulated},\nreal {real}")),
        None if lengths.0 != lengths.1 => Some(format!(
            "{} and {} objects at the end",
            lengths.0, lengths.1
        )),
        None => None,
    }
}
