//! Fixtures on a cluster: made before the objects that need them, and found again by the label of their run.
//!
//! Guarantees: an object that is there already is used as it is, and is not ours. Leaves to others: what is in
//! them (`model::workload::fixture`), and removing them (`cleanup`).

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::shard::Shard;
use crate::model::workload;
use crate::model::workload::{Fixture, Resource, root};
use crate::target::cleanup::{Made, Scope};
use crate::target::cluster::{Cluster, JSON};
use crate::target::{cleanup, cluster};

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place and the way out.
    #[error(transparent)]
    Fixture(#[from] workload::Error),
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
}

/// The kinds of one version of an API.
#[derive(Debug, Deserialize)]
struct Kinds {
    resources: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    name: String,
    kind: String,
    namespaced: bool,
}

/// What each fixture is to the server, in their order; `None` where it does not serve the kind. Those without a
/// namespace are in `namespace`.
///
/// # Errors
/// The server rejects the question or does not answer.
pub async fn resources(
    cluster: &Cluster,
    fixtures: &[Fixture],
    namespace: &str,
) -> Result<Vec<Option<Resource>>, cluster::Error> {
    let mut known: BTreeMap<&str, Vec<Kind>> = BTreeMap::new();
    let mut found = Vec::new();
    for fixture in fixtures {
        let version = fixture.api_version.as_str();
        if !known.contains_key(version) {
            let path = root(version);
            let asked = cluster.ask::<Kinds>(Method::GET, &path, None, vec![]);
            let kinds = match asked.await {
                Err(error) if error.code() == Some(404) => Vec::new(),
                asked => asked?.resources,
            };
            known.insert(version, kinds);
        }
        let mut kinds = known.get(version).into_iter().flatten();
        // A subresource has the kind of its object, or another one.
        let kind = kinds.find(|kind| kind.kind == fixture.kind && !kind.name.contains('/'));
        found.push(kind.map(|kind| resource(fixture, kind, namespace)));
    }
    Ok(found)
}

fn resource(fixture: &Fixture, kind: &Kind, namespace: &str) -> Resource {
    let (group, version) = match fixture.api_version.split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", fixture.api_version.as_str()),
    };
    let own = fixture.namespace.as_deref();
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: fixture.kind.clone(),
        plural: kind.name.clone(),
        namespace: own.unwrap_or(namespace).to_owned(),
        run: None,
        prefix: fixture.name.clone(),
        namespaced: kind.namespaced,
        shard: Shard::default(),
    }
}

/// What to do about a kind that the server does not serve.
pub fn not_served(fixture: &Fixture) -> workload::Error {
    let (kind, version) = (&fixture.kind, &fixture.api_version);
    fixture.error(&format!(
        "the server does not serve {kind} of {version}; add its definition to crds, or install it"
    ))
}

/// Makes them, one after the other; those of a run carry its label.
///
/// # Errors
/// The first one that the server does not take, with its place.
pub async fn create(
    cluster: &Cluster,
    fixtures: &[Fixture],
    namespace: &str,
    run: Option<&str>,
) -> Result<(), Error> {
    for fixture in fixtures {
        // One by one: a fixture may be what the next one is in, or its definition.
        let found = resources(cluster, std::slice::from_ref(fixture), namespace).await?;
        let Some(resource) = found.into_iter().flatten().next() else {
            return Err(not_served(fixture).into());
        };
        let object = fixture.object(namespace, run)?;
        let path = resource.path();
        let made = cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), object);
        match made.await {
            Err(error) if error.code() == Some(409) => {}
            Err(error) if error.code().is_some() => {
                return Err(fixture.error(&error.words()).into());
            }
            made => drop(made?),
        }
    }
    Ok(())
}

/// The kinds of them that the server serves, each with its namespace once: the last one first, as they are
/// removed.
///
/// # Errors
/// As for [`resources`].
pub async fn to_remove(
    cluster: &Cluster,
    fixtures: &[Fixture],
    namespace: &str,
) -> Result<Vec<Resource>, cluster::Error> {
    let found = resources(cluster, fixtures, namespace).await?;
    let mut kinds: Vec<Resource> = Vec::new();
    for resource in found.into_iter().flatten().rev() {
        if !kinds.iter().any(|known| known.path() == resource.path()) {
            kinds.push(resource);
        }
    }
    Ok(kinds)
}

/// Deletes those of a run, without waiting until they are gone.
///
/// # Errors
/// The server rejects a deletion or does not answer.
pub async fn delete(
    cluster: &Cluster,
    fixtures: &[Fixture],
    namespace: &str,
    run: &str,
) -> Result<(), cluster::Error> {
    for resource in to_remove(cluster, fixtures, namespace).await? {
        let scope = Scope {
            resource: &resource,
            made: Made::Fixtures,
            stall: Duration::ZERO,
            namespace: Some(&resource.namespace),
            run: Some(run),
        };
        for found in cleanup::objects(cluster, &scope).await? {
            let path = format!("{}/{}", resource.path(), found.name);
            cluster.delete_this(&path, &found.uid).await?;
        }
    }
    Ok(())
}
