//! What a run would send, tried by dry run: the server answers as if it stored it, and stores nothing.
//!
//! Guarantees: what the server rejects is one line with its place, the server's words and the way out. Leaves to
//! others: what may be sent (`permissions`), and rules that compare an object with the one before.

use http::Method;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::spec::step::Step;
use crate::spec::workload;
use crate::spec::workload::place::Source;
use crate::spec::workload::{Fixture, Resource, Scenario, Workload};
use crate::target::cluster::{Cluster, JSON};
use crate::target::{cluster, fixtures};

/// Stands in for the run in names and labels.
const RUN: &str = "lint";

/// An object with the place that says what is in it.
pub struct Tried {
    source: Source,
    field: &'static str,
    what: &'static str,
    pub resource: Resource,
    /// JSON.
    object: Vec<u8>,
}

/// An object of each template, one with its update, and one after each `scale`.
///
/// # Errors
/// A template cannot be rendered.
pub fn objects(workload: &Workload, namespace: &str) -> anyhow::Result<Vec<Tried>> {
    let source = &workload.source;
    let mut all = vec![(source.clone(), "object.template", &workload.scenario)];
    let rejected = workload.rejected.iter();
    all.extend(rejected.map(|rejected| (source.clone(), "object.rejected", rejected)));
    let also = workload.scenario.also.iter().enumerate();
    all.extend(also.map(|(number, also)| (source.part("also", number), "object.template", also)));
    let mut tried = Vec::new();
    for (source, field, scenario) in all {
        let scenario = scenario.clone().of_run(RUN, namespace);
        let made = object(&scenario)?;
        let of = |field, what, object: Vec<u8>| Tried {
            source: source.clone(),
            field,
            what,
            resource: scenario.resource.clone(),
            object,
        };
        if field == "object.template" {
            let updated = updated(&scenario, &made)?;
            tried.push(of(field, "an object", made));
            tried.push(of("object.update", "an updated object", updated));
        } else {
            tried.push(of(field, "an object", made));
        }
    }
    for (number, step) in workload.steps.iter().enumerate() {
        if let Step::Scale { field, value, .. } = step {
            let scenario = workload.scenario.scaled(field, value);
            let scenario = scenario.of_run(RUN, namespace);
            tried.push(Tried {
                source: source.part("steps", number),
                field: "value",
                what: "an object with it",
                resource: scenario.resource.clone(),
                object: object(&scenario)?,
            });
        }
    }
    Ok(tried)
}

fn object(scenario: &Scenario) -> anyhow::Result<Vec<u8>> {
    Ok(scenario.object(&scenario.resource.longest_name(), 0, 1)?)
}

fn updated(scenario: &Scenario, object: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut updated: Value = serde_json::from_slice(object)?;
    let patch = scenario.update(&scenario.resource.longest_name(), 0, 1, 1)?;
    json_patch::merge(&mut updated, &serde_json::from_slice(&patch)?);
    Ok(serde_json::to_vec(&updated)?)
}

impl Tried {
    /// Prints that the server takes it, or says why it does not.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn ask(&self, cluster: &Cluster) -> anyhow::Result<Option<workload::Error>> {
        let (resource, what) = (&self.resource, self.what);
        let rejected = match dry_run(cluster, resource, self.object.clone()).await? {
            Answer::Accepted | Answer::IsThere => {
                println!("ok   {}: the server accepts {what}", self.field);
                return Ok(None);
            }
            Answer::NotFound => {
                let message = format!(
                    "the server does not serve {} {} in namespace {}; install its CRD, or choose a namespace that exists with --namespace",
                    resource.full_name(),
                    resource.version,
                    resource.namespace,
                );
                self.source.error("object.plural", message)
            }
            Answer::Rejected(error) if error.code() == Some(403) => {
                let message = format!("{}; ask for a Role that allows it", error.words());
                self.source.error(self.field, message)
            }
            Answer::Rejected(error) => {
                let correct = match self.field {
                    "object.template" => "correct the template",
                    "value" => "choose another value",
                    _ => "correct its file",
                };
                let words = error.words();
                let message = format!("the server rejects {what}: {words}; {correct}");
                self.source.error(self.field, message)
            }
        };
        Ok(Some(rejected))
    }
}

/// The same for a fixture; one whose namespace is not there yet is not tried.
///
/// # Errors
/// The server does not answer, or the fixture cannot be rendered.
pub async fn fixture(
    cluster: &Cluster,
    fixture: &Fixture,
    resource: &Resource,
    namespace: &str,
) -> anyhow::Result<Option<workload::Error>> {
    let object = fixture.object(namespace, Some(RUN))?;
    let named = format!("fixture {} {}", fixture.kind, fixture.name);
    match dry_run(cluster, resource, object).await? {
        Answer::Accepted => println!("ok   {named}: the server accepts it"),
        Answer::IsThere => println!("ok   {named}: it is there already and is used as it is"),
        Answer::NotFound => println!(
            "?    {named}: not tried, because namespace {} is not there",
            resource.namespace
        ),
        Answer::Rejected(error) => return Ok(Some(fixtures::rejected(fixture, &error))),
    }
    Ok(None)
}

enum Answer {
    Accepted,
    /// There is one of this name.
    IsThere,
    /// The kind, or the namespace.
    NotFound,
    Rejected(cluster::Error),
}

async fn dry_run(
    cluster: &Cluster,
    resource: &Resource,
    object: Vec<u8>,
) -> anyhow::Result<Answer> {
    let path = format!("{}?dryRun=All&fieldValidation=Strict", resource.path());
    let tried = cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), object);
    match tried.await {
        Ok(_) => Ok(Answer::Accepted),
        Err(error) => match error.code() {
            Some(404) => Ok(Answer::NotFound),
            Some(409) => Ok(Answer::IsThere),
            Some(_) => Ok(Answer::Rejected(error)),
            None => Err(error.into()),
        },
    }
}
