//! Bad objects: each has one mistake, and is refused with the field named, by both servers in the same way.

use std::collections::BTreeMap;

use http::Method;
use libtest_mimic::{Failed, Trial};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestCaseError;
use serde_json::Value;
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::simulated::Simulated;
use crate::cluster::user::{JSON, User};
use crate::objects::mistake::{Mistake, UNKNOWN, mistakes};
use crate::objects::real::{self, Plane};
use crate::objects::record::{self, Counts};
use crate::objects::schema;
use crate::objects::simulated::{on_paused_time, runner};
use crate::objects::subject::Subject;

/// Of each kind. With five kinds: 200.
const MISTAKES: usize = 40;
/// Specs that are generated at most to find them.
const SPECS: u64 = 400;

/// What the server says of a bad object.
#[derive(Debug, PartialEq)]
struct Refusal {
    code: u16,
    reason: String,
    /// Reasons and fields of the causes, sorted.
    causes: Vec<(String, String)>,
    message: String,
}

pub fn trials<S: Subject>(plane: &Result<Plane, String>, seed: u64) -> Vec<Trial> {
    let name = format!("bad_objects::{}", S::NOUN);
    let real = match plane {
        Ok(plane) => {
            let plane = Plane::clone(plane);
            record::trial(format!("kube::{name}"), seed, move || {
                on_both::<S>(&plane, seed)
            })
        }
        Err(_) => real::ignored(format!("kube::{name}")),
    };
    let simulated = record::trial(format!("simulated::{name}"), seed, move || {
        on_simulated::<S>(seed).map(|refused| counts(refused.len()))
    });
    vec![simulated, real]
}

fn on_simulated<S: Subject>(seed: u64) -> Result<Vec<(Mistake, Refusal)>, Failed> {
    let refused = on_paused_time(async {
        let simulated = Simulated::new(Mode::None);
        // EdgeApps are there already.
        simulated
            .server
            .install(S::CRD)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let cluster = Cluster::simulated(simulated);
        refuse_all::<S>(&cluster, seed)
            .await
            .map_err(TestCaseError::fail)
    });
    refused.map_err(|error| error.to_string().into())
}

fn counts(refused: usize) -> Counts {
    Counts {
        operations: refused,
        cases: 0,
        refused,
    }
}

fn on_both<S: Subject>(plane: &Plane, seed: u64) -> Result<Counts, Failed> {
    let simulated = on_simulated::<S>(seed)?;
    let real = plane.beside_others(async |plane| {
        let cluster = Cluster::real(plane, Mode::None).await;
        let mut refusals = Vec::new();
        for (mistake, _) in &simulated {
            refusals.push(refuse::<S>(&cluster, mistake).await?);
        }
        Ok::<_, String>(refusals)
    })??;
    let pairs = simulated.iter().zip(&real);
    let differing: Vec<String> = pairs
        .filter(|((_, simulated), real)| simulated != *real)
        .map(|((mistake, simulated), real)| {
            format!("{mistake:?}\nis refused with {simulated:?},\nby the real server {real:?}")
        })
        .collect();
    match differing.is_empty() {
        true => Ok(counts(real.len())),
        false => Err(differing.join("\n\n").into()),
    }
}

/// Mistakes of all kinds in turn, each refused as it should be.
async fn refuse_all<S: Subject>(user: &User, seed: u64) -> Result<Vec<(Mistake, Refusal)>, String> {
    let schema = schema::of_spec(S::CRD);
    let specs = schema::value(&schema);
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused = Vec::new();
    for nth in 0..SPECS {
        let tree = specs.new_tree(&mut runner(seed.wrapping_add(nth)));
        let spec = tree.map_err(|reason| reason.to_string())?.current();
        if create::<S>(user, &spec).await.is_err() {
            continue; // A rule between fields.
        }
        let all = mistakes(&schema, &spec);
        let rarest = all
            .into_iter()
            .min_by_key(|one| used.get(one.what).copied());
        let Some(mistake) = rarest else { continue };
        *used.entry(mistake.what).or_default() += 1;
        let refusal = refuse::<S>(user, &mistake).await?;
        let names_it = match mistake.what {
            UNKNOWN => {
                let field = format!("unknown field {:?}", mistake.field);
                refusal.code == 400 && refusal.message.contains(&field)
            }
            _ => {
                let mut fields = refusal.causes.iter().map(|(_, field)| field);
                // Of a number that its type cannot hold the text alone names the field.
                let is_named = fields.any(|field| *field == mistake.field)
                    || refusal.message.ends_with(&format!(" in {}", mistake.field));
                refusal.code == 422 && is_named
            }
        };
        if !names_it {
            return Err(format!("{mistake:?} is refused with {refusal:?}"));
        }
        refused.push((mistake, refusal));
        if refused.len() == MISTAKES {
            println!(
                "{} {} bad objects: {used:?}, seed {seed}",
                refused.len(),
                S::NOUN
            );
            return Ok(refused);
        }
    }
    Err(format!("only {} mistakes", refused.len()))
}

async fn refuse<S: Subject>(user: &User, mistake: &Mistake) -> Result<Refusal, String> {
    match create::<S>(user, &mistake.spec).await {
        Err(kube::Error::Api(status)) => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            let mut causes: Vec<_> = causes
                .map(|cause| (cause.reason.clone(), cause.field.clone()))
                .collect();
            causes.sort();
            Ok(Refusal {
                code: status.code,
                reason: status.reason.clone(),
                causes,
                message: status.message.clone(),
            })
        }
        Err(error) => Err(format!("{mistake:?}: {error}")),
        Ok(stored) => Err(format!("{mistake:?} is accepted, as {stored}")),
    }
}

async fn create<S: Subject>(user: &User, spec: &Value) -> Result<Value, kube::Error> {
    let path = user.path(&S::resource(), "");
    let path = format!("{path}?fieldValidation=Strict&dryRun=All");
    let object = S::object("bad", spec);
    user.request(Method::POST, &path, JSON, &object).await
}
