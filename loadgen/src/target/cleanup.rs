//! The clean-up: finds what runs left behind by its label, and removes it.
//!
//! Guarantees: only what carries the label is deleted, each object by the uid that was seen; a
//! namespace only if it carries the label itself and holds no other run's objects; bounded in
//! time, and what is left is said with the reason. Leaves to others: asking whether it should be.

pub mod bench_namespace;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::spec::workload::{BYSTANDERS_LABEL, FIXTURE_LABEL, RUN_LABEL, Resource, label_selector};
use crate::target::cluster::{CONNECTIONS, Cluster, Error, Of};
use crate::terminal::progress::Progress;

/// Gives up when nothing was removed for this long.
pub const STALL_S: u64 = 30;
/// First and longest pause between two polls.
const POLLS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(3)];
/// An empty namespace is gone within seconds.
const NAMESPACE_GOES: Duration = Duration::from_secs(30);

/// Objects with the label of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Those that were offered.
    Offered,
    /// Those that were there before.
    Fixtures,
}

/// Where to search, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub resource: &'a Resource,
    pub made: Made,
    /// Longest wait without anything going away.
    pub stall: Duration,
    /// All of them without.
    pub namespace: Option<&'a str>,
    /// All of them without.
    pub run: Option<&'a str>,
}

/// One object with the label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Found {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub deletion_timestamp: Option<String>,
    pub finalizers: Vec<String>,
    #[serde(deserialize_with = "labels")]
    pub labels: Labels,
}

/// What a clean-up has to know of them: there may be as many as objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// Empty where there is none.
    pub run: String,
    pub of_bystanders: bool,
}

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
    let mut all = BTreeMap::<String, String>::deserialize(deserializer)?;
    Ok(Labels {
        run: all.remove(RUN_LABEL).unwrap_or_default(),
        of_bystanders: all.contains_key(BYSTANDERS_LABEL),
    })
}

impl Found {
    pub fn run(&self) -> &str {
        &self.labels.run
    }

    /// Of a namespace, what selects those in it that do not go with it.
    fn others(&self) -> String {
        match self.labels.of_bystanders {
            true => label_selector(&format!("{RUN_LABEL}!={}", self.run())),
            false => String::new(),
        }
    }
}

/// What a clean-up removed and what it did not.
#[derive(Debug, Clone, Default)]
pub struct CleanUp {
    pub deleted: usize,
    /// Fixtures that were deleted.
    pub fixtures: usize,
    pub left: Vec<Found>,
    pub namespaces: Vec<(String, NamespaceEnd)>,
    /// What failed, a line each.
    pub warnings: Vec<String>,
}

impl CleanUp {
    pub fn namespaces_gone(&self) -> usize {
        let gone = |(_, end): &&(String, NamespaceEnd)| *end == NamespaceEnd::Gone;
        self.namespaces.iter().filter(gone).count()
    }

    /// Nothing is left and nothing failed; a namespace that the server still empties counts as gone.
    pub fn is_complete(&self) -> bool {
        let goes = |end: &NamespaceEnd| matches!(end, NamespaceEnd::Gone | NamespaceEnd::Emptying);
        let namespaces = self.namespaces.iter().all(|(_, end)| goes(end));
        self.left.is_empty() && self.warnings.is_empty() && namespaces
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceEnd {
    #[error("gone")]
    Gone,
    #[error("deleted; the server is still emptying it")]
    Emptying,
    #[error("left there, because it holds objects that are not of this run")]
    InUse,
    #[error("left there: {0}")]
    Failed(String),
}

impl<'a> Scope<'a> {
    /// The same for a kind of fixture, which has a namespace of its own or that of the objects.
    pub fn of_fixture(&self, resource: &'a Resource) -> Self {
        Self {
            resource,
            made: Made::Fixtures,
            namespace: self.namespace.map(|_| resource.namespace.as_str()),
            ..*self
        }
    }

    fn collection(&self) -> String {
        match self.namespace {
            Some(namespace) => self.in_namespace(namespace),
            None => self.resource.path_everywhere(),
        }
    }

    fn in_namespace(&self, namespace: &str) -> String {
        let resource = Resource {
            namespace: namespace.to_owned(),
            ..self.resource.clone()
        };
        resource.path()
    }

    fn selector(&self) -> String {
        let run = match self.run {
            Some(run) => format!("{RUN_LABEL}={run}"),
            None => RUN_LABEL.to_owned(),
        };
        label_selector(&match self.made {
            Made::Offered => format!("{run},!{FIXTURE_LABEL}"),
            Made::Fixtures => format!("{run},{FIXTURE_LABEL}"),
        })
    }
}

/// Every object in scope; none where the resource is not served.
///
/// # Errors
/// When the server rejects the list or does not answer.
pub async fn objects(cluster: &Cluster, scope: &Scope<'_>) -> Result<Vec<Found>, Error> {
    match list(cluster, &scope.collection(), &scope.selector()).await {
        Err(error) if error.code() == Some(404) => Ok(vec![]),
        other => other,
    }
}

/// Every namespace in scope that a run made for itself.
///
/// # Errors
/// As for [`objects`].
pub async fn namespaces(cluster: &Cluster, scope: &Scope<'_>) -> Result<Vec<Found>, Error> {
    let mut found = list(cluster, "/api/v1/namespaces", &scope.selector()).await?;
    // A run that has one namespace for its objects has another one for bystanders.
    let is_beside = |ns: &Found| scope.run.is_some() && ns.labels.of_bystanders;
    found.retain(|ns| {
        let is_named = scope.namespace.is_none_or(|wanted| wanted == ns.name);
        is_named || is_beside(ns)
    });
    Ok(found)
}

async fn list(cluster: &Cluster, collection: &str, selector: &str) -> Result<Vec<Found>, Error> {
    let found: Vec<Of<Found>> = cluster.all(collection, selector).await?;
    Ok(found.into_iter().map(|item| item.metadata).collect())
}

/// Removes everything in scope, then the fixtures with the same label, and waits until it is gone. The scopes
/// differ in their kind only.
pub async fn run(
    cluster: &Cluster,
    scopes: &[Scope<'_>],
    fixtures: &[Resource],
    progress: &Progress,
) -> CleanUp {
    let mut cleaned = CleanUp::default();
    let Some(scope) = scopes.first() else {
        return cleaned;
    };
    for scope in scopes {
        let mut of_kind = CleanUp::default();
        let removed = remove_objects(cluster, scope, progress, &mut of_kind).await;
        cleaned.deleted += of_kind.deleted;
        cleaned.left.append(&mut of_kind.left);
        cleaned.warnings.append(&mut of_kind.warnings);
        if let Err(error) = removed {
            cleaned
                .warnings
                .push(format!("the rest could not be listed: {}", error.words()));
            return cleaned;
        }
    }
    for resource in fixtures {
        let scope = scope.of_fixture(resource);
        let mut of_kind = CleanUp::default();
        let removed = remove_objects(cluster, &scope, progress, &mut of_kind).await;
        cleaned.fixtures += of_kind.deleted;
        cleaned.warnings.append(&mut of_kind.warnings);
        let failed = removed.err().map(|error| error.words());
        let left = (!of_kind.left.is_empty()).then(|| format!("{} left", of_kind.left.len()));
        let problem = failed.or(left);
        let line = problem.map(|problem| format!("fixtures, {}: {problem}", resource.kinds()));
        cleaned.warnings.extend(line);
    }
    match namespaces(cluster, scope).await {
        Ok(found) => {
            for namespace in found {
                progress.step(&format!("removing namespace {}", namespace.name));
                let end = remove_namespace(cluster, scopes, &namespace).await;
                cleaned.namespaces.push((namespace.name, end));
            }
        }
        // Whoever may not list namespaces could not make one either.
        Err(error) if error.code() == Some(403) => {}
        Err(error) => cleaned
            .warnings
            .push(format!("namespaces could not be listed: {}", error.words())),
    }
    cleaned
}

async fn remove_objects(
    cluster: &Cluster,
    scope: &Scope<'_>,
    progress: &Progress,
    cleaned: &mut CleanUp,
) -> Result<(), Error> {
    let mut known: HashSet<String> = HashSet::new();
    let (mut last_left, mut moved_at) = (usize::MAX, Instant::now());
    let mut pause = POLLS[0];
    let mut failure = None;
    let mut nothing_seen = false;
    loop {
        let left = match objects(cluster, scope).await {
            Ok(left) => left,
            // A server that is busy with thousands of deletions may be slow once.
            Err(error) if error.code().is_none() && moved_at.elapsed() < scope.stall => {
                tokio::time::sleep(pause).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        known.extend(left.iter().map(|found| found.uid.clone()));
        cleaned.deleted = known.len() - left.len();
        progress.count("removed", cleaned.deleted as u64, known.len() as u64);
        if left.len() < last_left {
            (last_left, moved_at) = (left.len(), Instant::now());
        }
        let pending: Vec<&Found> = left
            .iter()
            .filter(|found| found.deletion_timestamp.is_none())
            .collect();
        let give_up =
            moved_at.elapsed() > scope.stall || (failure.is_some() && left.len() == pending.len());
        // Lists once more: a create that was not answered may have been executed after the list.
        if left.is_empty() && !nothing_seen {
            nothing_seen = true;
            tokio::time::sleep(POLLS[0]).await;
            continue;
        }
        if left.is_empty() || give_up {
            cleaned.warnings.extend(failure);
            cleaned.warnings.extend(held_up(&left));
            cleaned.left = left;
            return Ok(());
        }
        failure = delete(cluster, scope, &pending).await;
        pause = if pending.is_empty() {
            (pause * 3 / 2).min(POLLS[1])
        } else {
            POLLS[0]
        };
        tokio::time::sleep(pause).await;
    }
}

/// The first failure in the server's words, if there was one.
async fn delete(cluster: &Cluster, scope: &Scope<'_>, pending: &[&Found]) -> Option<String> {
    let deletions = pending.iter().map(|found| {
        let path = format!("{}/{}", scope.in_namespace(&found.namespace), found.name);
        async move { cluster.delete_this(&path, &found.uid).await }
    });
    let refusals = futures::stream::iter(deletions)
        .buffer_unordered(CONNECTIONS)
        .filter_map(|deleted| std::future::ready(deleted.err()));
    // All are sent, and one message is kept of however many fail.
    let first = refusals.fold(None, |first, error| {
        std::future::ready(first.or_else(|| Some(error.words())))
    });
    first
        .await
        .map(|words| format!("a deletion failed: {words}"))
}

/// What objects that do not go wait for.
fn held_up(left: &[Found]) -> Option<String> {
    let waiting = left.iter().filter(|f| f.deletion_timestamp.is_some());
    let held: Vec<&Found> = waiting.filter(|f| !f.finalizers.is_empty()).collect();
    let first = held.first()?;
    Some(format!(
        "{} wait for their finalizer {}: start the operator that set it, and clean again",
        held.len(),
        first.finalizers.join(", ")
    ))
}

/// The namespace that every cluster has, and into which nobody's objects of a run are copied.
const DEFAULT: &str = "default";
/// Of a Secret that goes with a ServiceAccount.
const OF_SERVICE_ACCOUNT: &str = "/metadata/annotations/kubernetes.io~1service-account.name";
/// A cluster adds a few objects to each namespace.
const ADDED: usize = 50;

/// Whether the cluster puts the object into every namespace, as kube-controller-manager does with `kube-root-ca.crt`, Istio
/// with `istio-ca-root-cert`, and OpenShift with the Secrets of its ServiceAccounts: another of its name and content is in
/// `default`, or it goes with a ServiceAccount.
async fn is_added(cluster: &Cluster, scope: &Scope<'_>, item: &Found) -> Result<bool, Error> {
    let read = async |namespace: &str| {
        let path = format!("{}/{}", scope.in_namespace(namespace), item.name);
        let read = cluster.get::<Value>(&path).await;
        match read {
            Ok(object) => Ok(Some(object)),
            // Who may not read `default` cannot tell.
            Err(error) if matches!(error.code(), Some(403 | 404)) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let Some(object) = read(&item.namespace).await? else {
        return Ok(false);
    };
    if object.pointer(OF_SERVICE_ACCOUNT).is_some() {
        return Ok(true);
    }
    let content = |mut object: Value| {
        object["metadata"].take();
        object
    };
    let of_default = read(DEFAULT).await?.map(content);
    Ok(of_default == Some(content(object)))
}

async fn remove_namespace(
    cluster: &Cluster,
    scopes: &[Scope<'_>],
    namespace: &Found,
) -> NamespaceEnd {
    let failed = |error: &Error| NamespaceEnd::Failed(error.words());
    // What is of the whole cluster is in no namespace.
    for scope in scopes.iter().filter(|scope| scope.resource.namespaced) {
        let collection = scope.in_namespace(&namespace.name);
        let mut others: Vec<Of<Found>> = Vec::new();
        let selector = namespace.others();
        let listed = cluster.pages(&collection, &selector, |page| {
            others.extend(page);
            others.len() <= ADDED
        });
        match listed.await {
            Err(error) if error.code() == Some(404) => continue,
            Err(error) => return failed(&error),
            Ok(_) if others.len() > ADDED => return NamespaceEnd::InUse,
            Ok(_) => {}
        }
        for item in &others {
            match is_added(cluster, scope, &item.metadata).await {
                Ok(true) => {}
                Ok(false) => return NamespaceEnd::InUse,
                Err(error) => return failed(&error),
            }
        }
    }
    let path = format!("/api/v1/namespaces/{}", namespace.name);
    if let Err(error) = cluster.delete_this(&path, &namespace.uid).await {
        return failed(&error);
    }
    let deadline = Instant::now() + NAMESPACE_GOES;
    loop {
        match cluster.get::<Of<Found>>(&path).await {
            Err(error) if error.code() == Some(404) => return NamespaceEnd::Gone,
            Ok(item) if item.metadata.uid != namespace.uid => return NamespaceEnd::Gone,
            _ if Instant::now() > deadline => return NamespaceEnd::Emptying,
            _ => tokio::time::sleep(POLLS[0]).await,
        }
    }
}

#[cfg(test)]
mod tests;
