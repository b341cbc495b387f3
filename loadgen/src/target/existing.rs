//! An existing cluster: nothing is started, and each run has a namespace.
//!
//! Guarantees: a cluster that loadgen did not start is named before it is used, and then only with
//! `--yes`. Everything is created in one namespace, which has a name and a label of this bench; it is deleted
//! after each run, and `loadgen clean` finds it after a crash. Leaves to others: the CRD, which its owner
//! installs.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

use crate::private_file;
use crate::run_id;
use crate::spec::workload::{Fixture, RUN_LABEL, Resource};
use crate::target::cleanup::bench_namespace;
use crate::target::cluster::Cluster;
use crate::target::context::Target;
use crate::target::fixtures;
use crate::target::{Error, Order};

/// An existing cluster with the credentials for it.
#[derive(Debug, Clone)]
pub struct ExistingCluster {
    kubeconfig: Kubeconfig,
    /// URL of the API server.
    pub address: String,
    /// The value of the label of everything that is created.
    pub run: String,
    /// What is created, each in the namespace of the bench.
    resources: Vec<Resource>,
    /// What is created before it.
    pub fixtures: Vec<Fixture>,
}

/// The cluster during one run.
#[derive(Debug)]
pub struct Existing {
    kubeconfig: PathBuf,
    of: ExistingCluster,
}

impl ExistingCluster {
    /// The chosen cluster with a copy of its credentials only: the subject does not need the user's
    /// other contexts. Sends nothing.
    pub fn of(
        target: &Target,
        run: String,
        resources: Vec<Resource>,
        fixtures: Vec<Fixture>,
    ) -> Self {
        Self {
            kubeconfig: only(target.kubeconfig.clone(), &target.context),
            address: target.url.clone(),
            run,
            resources,
            fixtures,
        }
    }

    /// Removes what this bench created.
    ///
    /// # Errors
    /// When the cluster cannot be used.
    pub async fn clean(&self, dir: &Path) -> Result<(), Error> {
        let kubeconfig = self.write(dir)?;
        let cluster = Cluster::connect(&kubeconfig).await?;
        self.remove(&cluster).await
    }

    /// The namespace with everything in it, then the fixtures.
    async fn remove(&self, cluster: &Cluster) -> Result<(), Error> {
        let namespace = run_id::namespace(&self.run);
        bench_namespace::remove(cluster, &namespace, &self.resources).await?;
        Ok(fixtures::delete(cluster, &self.fixtures, &namespace, &self.run).await?)
    }

    fn write(&self, dir: &Path) -> Result<PathBuf, Error> {
        let path = dir.join("existing.kubeconfig");
        // A kubeconfig that was read can be written: every field of it is plain data.
        let text = serde_json::to_vec(&self.kubeconfig).unwrap_or_default();
        match private_file::write(&path, &text) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Write { path, source }),
        }
    }
}

impl Existing {
    /// # Errors
    /// `NoCrd`, or what the cluster rejects.
    pub async fn start(order: &Order<'_>, existing: &ExistingCluster) -> Result<Self, Error> {
        let kubeconfig = existing.write(order.dir)?;
        let cluster = Cluster::connect(&kubeconfig).await?;
        let ExistingCluster { run, resources, .. } = existing;
        for resource in resources {
            has_kind(&cluster, resource, order).await?;
        }
        let namespace = run_id::namespace(run);
        existing.remove(&cluster).await?;
        if !cluster
            .make_namespace(&namespace, &[(RUN_LABEL, run)])
            .await?
        {
            return Err(Error::Foreign(namespace));
        }
        Ok(Self {
            kubeconfig,
            of: existing.clone(),
        })
    }

    /// The same for the harness and the subject: loadgen creates no users on an existing cluster.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    /// Deletes everything that the run made.
    ///
    /// # Errors
    /// As for [`ExistingCluster::clean`].
    pub async fn stop(self) -> Result<(), Error> {
        let cluster = Cluster::connect(&self.kubeconfig).await?;
        self.of.remove(&cluster).await
    }
}

async fn has_kind(cluster: &Cluster, resource: &Resource, order: &Order<'_>) -> Result<(), Error> {
    let path = format!("{}?limit=1", resource.path_everywhere());
    let listed = cluster.find::<serde::de::IgnoredAny>(&path).await?;
    listed.map(drop).ok_or_else(|| Error::NoCrd {
        name: resource.full_name(),
        way: way(order),
    })
}

/// How its owner installs a CRD. Those of a workload were written for this run only, and go with it.
fn way(order: &Order<'_>) -> String {
    match order.crds.first().filter(|crd| !crd.starts_with(order.dir)) {
        Some(crd) => format!("kubectl apply -f {}", crd.display()),
        None => "loadgen workloads WORKLOAD --crds | kubectl apply --server-side -f -".into(),
    }
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
