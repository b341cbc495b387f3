//! Fixtures on a cluster: created before the objects that need them, found again by the label of their run, deleted.
//!
//! Guarantees: an object that exists already is used as it is, and is not deleted. Leaves to others: what is in
//! them (`spec::workload::fixture`), and waiting until they are gone (`cleanup`).

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};
use serde::de::IgnoredAny;

use crate::spec::shard::Shard;
use crate::spec::workload;
use crate::spec::workload::{Fixture, Resource, group_and_version, root};
use crate::target::cleanup::{Made, Scope};
use crate::target::cluster::{Cluster, JSON};
use crate::target::{Error, cleanup, cluster};

/// The resource of each fixture, in their order; `None` where the server does not serve its kind. A fixture without a
/// namespace is in `namespace`.
///
/// # Errors
/// The server rejects a request or does not answer.
pub async fn resources(
    cluster: &Cluster,
    fixtures: &[Fixture],
    namespace: &str,
) -> Result<Vec<Option<Resource>>, cluster::Error> {
    let mut known: BTreeMap<&str, Vec<APIResource>> = BTreeMap::new();
    let mut found = Vec::new();
    for fixture in fixtures {
        let version = fixture.api_version.as_str();
        if !known.contains_key(version) {
            let path = root(version);
            let kinds = cluster.find::<APIResourceList>(&path).await?;
            known.insert(version, kinds.map_or(Vec::new(), |kinds| kinds.resources));
        }
        let mut kinds = known.get(version).into_iter().flatten();
        // A subresource has the kind of its object, or another one.
        let kind = kinds.find(|kind| kind.kind == fixture.kind && !kind.name.contains('/'));
        found.push(kind.map(|kind| resource(fixture, kind, namespace)));
    }
    Ok(found)
}

fn resource(fixture: &Fixture, kind: &APIResource, namespace: &str) -> Resource {
    let (group, version) = group_and_version(&fixture.api_version);
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

/// That the server does not serve a kind, and what to do.
pub fn not_served(fixture: &Fixture) -> workload::Error {
    let (kind, version) = (&fixture.kind, &fixture.api_version);
    fixture.error(&format!(
        "the server does not serve {kind} of {version}; add its definition to crds, or install it"
    ))
}

/// What the server said to a fixture, and what to do.
pub fn rejected(fixture: &Fixture, error: &cluster::Error) -> workload::Error {
    let words = error.words();
    fixture.error(&match error.code() {
        Some(403) => format!("{words}; ask for a Role that allows it"),
        _ => format!("the server rejects it: {words}; correct the fixture"),
    })
}

/// Creates the fixtures, one after the other. With `run` they carry its label.
///
/// # Errors
/// The first fixture that the server rejects, with its place.
pub async fn create(
    cluster: &Cluster,
    fixtures: &[Fixture],
    namespace: &str,
    run: Option<&str>,
) -> Result<(), Error> {
    for fixture in fixtures {
        // One after the other: a fixture may be the namespace of the next one, or define its kind.
        let found = resources(cluster, std::slice::from_ref(fixture), namespace).await?;
        let Some(resource) = found.into_iter().flatten().next() else {
            return Err(not_served(fixture).into());
        };
        let object = fixture.object(namespace, run)?;
        let path = resource.path();
        let made = cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), object);
        match made.await {
            Err(error) if error.code() == Some(409) => {}
            Err(error) if error.code().is_some() => return Err(rejected(fixture, &error).into()),
            made => drop(made?),
        }
    }
    Ok(())
}

/// Where the fixtures are, in the order of their removal: what was created last comes first. Fixtures of one kind in one
/// namespace are one entry; kinds that the server does not serve have none.
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

/// Deletes the fixtures of a run, and does not wait until they are gone.
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
