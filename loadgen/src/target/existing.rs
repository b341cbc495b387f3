//! A cluster that is there already: nothing is started, a namespace is borrowed for each run.
//!
//! Guarantees: a cluster that is not on this machine is named before it is touched, and then only
//! with `--yes`; everything is created in one namespace that bears our label, which is gone after
//! each run and is found again after a crash. Leaves to others: its CRD, which its owner installs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::Method;
use kube::config::Kubeconfig;
use serde::Deserialize;

use crate::model::workload::Resource;
use crate::target::Order;
use crate::target::cluster;
use crate::target::cluster::Cluster;
use crate::target::context::{IN_CLUSTER, Target};

/// The label of a namespace that a bench made; so that what a crash left is known as ours.
pub const LABEL: &str = "loadgen.tare.dev/bench";

/// Longest wait for a namespace to be gone with everything in it.
const GONE: Duration = Duration::from_secs(300);

/// A cluster that may be borrowed, with the credentials for it.
#[derive(Debug, Clone)]
pub struct ExistingCluster {
    kubeconfig: Kubeconfig,
    /// URL of the API server.
    pub address: String,
    pub resource: Resource,
}

/// A borrowed cluster.
#[derive(Debug)]
pub struct Existing {
    kubeconfig: PathBuf,
    resource: Resource,
}

/// Why a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the kubeconfig again: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("the cluster has no {plural}.{group}; install the subject's CRD first: kubectl apply -f {}", crd.display())]
    NoCrd {
        plural: String,
        group: String,
        crd: PathBuf,
    },
    #[error("the cluster has a namespace {0} that no bench made; rename or delete it")]
    Foreign(String),
    #[error(
        "namespace {namespace} was still there after {} s; look into it, then delete it by hand",
        GONE.as_secs()
    )]
    StillThere { namespace: String },
}

impl ExistingCluster {
    /// The chosen cluster with a copy of its credentials, for the subject has no use of the user's
    /// other contexts. Nothing is asked of the cluster yet.
    ///
    /// # Errors
    /// `Kubeconfig`.
    pub fn of(target: &Target, file: Option<&Path>, resource: &Resource) -> Result<Self, Error> {
        let kubeconfig = match file {
            _ if target.context == IN_CLUSTER => in_cluster().unwrap_or_default(),
            Some(file) => Kubeconfig::read_from(file)?,
            None => Kubeconfig::read()?,
        };
        Ok(Self {
            kubeconfig: only(kubeconfig, &target.context),
            address: target.url.clone(),
            resource: Resource {
                namespace: "loadgen-bench".into(),
                ..resource.clone()
            },
        })
    }

    /// Removes what an earlier bench of this experiment left behind.
    ///
    /// # Errors
    /// When the cluster cannot be used.
    pub async fn clean(&self, dir: &Path) -> Result<(), Error> {
        let kubeconfig = self.write(dir)?;
        clean(&Cluster::connect(&kubeconfig).await?, &self.resource).await
    }

    fn write(&self, dir: &Path) -> Result<PathBuf, Error> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = dir.join("existing.kubeconfig");
        // A kubeconfig that was read can be written: every field of it is plain data.
        let text = serde_json::to_vec(&self.kubeconfig).unwrap_or_default();
        let mut options = std::fs::OpenOptions::new();
        let options = options.create(true).truncate(true).write(true).mode(0o600);
        let written = options.open(&path).and_then(|mut f| f.write_all(&text));
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Write { path, source }),
        }
    }
}

impl Existing {
    /// # Errors
    /// `NoCrd`, or whatever the cluster refuses.
    pub async fn start(order: &Order<'_>, existing: &ExistingCluster) -> Result<Self, Error> {
        let kubeconfig = existing.write(order.dir)?;
        let cluster = Cluster::connect(&kubeconfig).await?;
        let resource = &existing.resource;
        has_kind(&cluster, resource, order.crd).await?;
        clean(&cluster, resource).await?;
        if !cluster
            .make_namespace(&resource.namespace, &[(LABEL, "true")])
            .await?
        {
            return Err(Error::Foreign(resource.namespace.clone()));
        }
        Ok(Self {
            kubeconfig,
            resource: resource.clone(),
        })
    }

    /// The same for the harness and the subject: we make no users on a cluster that is not ours.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    /// Deletes everything that the run made.
    ///
    /// # Errors
    /// As for [`ExistingCluster::clean`].
    pub async fn stop(self) -> Result<(), Error> {
        clean(&Cluster::connect(&self.kubeconfig).await?, &self.resource).await
    }
}

async fn has_kind(cluster: &Cluster, resource: &Resource, crd: &Path) -> Result<(), Error> {
    let Resource {
        group,
        version,
        plural,
        ..
    } = resource;
    let path = format!("/apis/{group}/{version}/{plural}?limit=1");
    let listed = cluster.ask::<serde::de::IgnoredAny>(Method::GET, &path, None, vec![]);
    match listed.await {
        Err(error) if error.code() == Some(404) => Err(Error::NoCrd {
            plural: plural.clone(),
            group: group.clone(),
            crd: crd.to_owned(),
        }),
        listed => Ok(listed.map(drop)?),
    }
}

#[derive(Deserialize)]
struct Names {
    items: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    metadata: Name,
}

#[derive(Deserialize)]
struct Name {
    name: String,
    #[serde(default)]
    finalizers: Vec<String>,
}

/// Deletes the namespace, if it is ours, and waits until it is gone. Finalizers of the objects are
/// taken off: the subject that would have done it has ended.
async fn clean(cluster: &Cluster, resource: &Resource) -> Result<(), Error> {
    let namespace = format!("/api/v1/namespaces/{}", resource.namespace);
    let get = || cluster.ask::<serde_json::Value>(Method::GET, &namespace, None, vec![]);
    match get().await {
        Err(error) if error.code() == Some(404) => return Ok(()),
        Ok(found) if found["metadata"]["labels"][LABEL].is_null() => return Ok(()),
        found => drop(found?),
    }
    let deleted = cluster.ask::<serde::de::IgnoredAny>(Method::DELETE, &namespace, None, vec![]);
    match deleted.await {
        // Being deleted already.
        Err(error) if matches!(error.code(), Some(404 | 409)) => {}
        deleted => drop(deleted?),
    }
    let deadline = Instant::now() + GONE;
    while Instant::now() < deadline {
        let page = format!("{}?limit=500", resource.path());
        let listed = cluster.ask::<Names>(Method::GET, &page, None, vec![]).await;
        let items = listed.map(|names| names.items).unwrap_or_default();
        for item in items.iter().filter(|i| !i.metadata.finalizers.is_empty()) {
            let patch = br#"{"metadata":{"finalizers":null}}"#.to_vec();
            match cluster.merge(resource, &item.metadata.name, patch).await {
                Err(error) if error.code() == Some(404) => {}
                patched => {
                    patched?;
                }
            }
        }
        match get().await {
            Err(error) if error.code() == Some(404) => return Ok(()),
            found => drop(found?),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err(Error::StillThere {
        namespace: resource.namespace.clone(),
    })
}

/// The kubeconfig with this context alone, and what belongs to it.
fn only(mut kubeconfig: Kubeconfig, context: &str) -> Kubeconfig {
    kubeconfig.contexts.retain(|c| c.name == context);
    let chosen = kubeconfig.contexts.first().and_then(|c| c.context.clone());
    let (cluster, user) = match chosen {
        Some(chosen) => (chosen.cluster, chosen.user),
        None => Default::default(),
    };
    kubeconfig.clusters.retain(|c| c.name == cluster);
    kubeconfig
        .auth_infos
        .retain(|u| Some(&u.name) == user.as_ref());
    kubeconfig.current_context = Some(context.to_owned());
    kubeconfig
}

/// The account of the Pod that this runs in, as a kubeconfig.
fn in_cluster() -> Option<Kubeconfig> {
    const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let host = std::env::var("KUBERNETES_SERVICE_HOST").ok()?;
    let port = std::env::var("KUBERNETES_SERVICE_PORT").ok()?;
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    let config = serde_json::json!({
        "clusters": [{"name": "in-cluster", "cluster": {
            "server": format!("https://{host}:{port}"), "certificate-authority": format!("{ACCOUNT}/ca.crt")}}],
        "users": [{"name": "in-cluster", "user": {"tokenFile": format!("{ACCOUNT}/token")}}],
        "contexts": [{"name": "in-cluster", "context": {"cluster": "in-cluster", "user": "in-cluster"}}],
        "current-context": "in-cluster",
    });
    serde_json::from_value(config).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_gets_the_credentials_of_one_context_only() {
        let kubeconfig = serde_json::json!({
            "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.7:6443"}},
                         {"name": "other", "cluster": {"server": "https://192.0.2.8:6443"}}],
            "users": [{"name": "u", "user": {"token": "t"}}, {"name": "boss", "user": {"token": "secret"}}],
            "contexts": [{"name": "far", "context": {"cluster": "c", "user": "u"}},
                         {"name": "near", "context": {"cluster": "other", "user": "boss"}}],
            "current-context": "near",
        });
        let all: Kubeconfig = serde_json::from_value(kubeconfig).expect("valid");
        let kept = only(all, "far");
        let text = serde_json::to_string(&kept).expect("plain data");
        assert_eq!(kept.current_context.as_deref(), Some("far"));
        assert!(
            text.contains("192.0.2.7") && text.contains("\"u\""),
            "{text}"
        );
        assert!(
            !text.contains("192.0.2.8") && !text.contains("boss"),
            "{text}"
        );
    }
}
