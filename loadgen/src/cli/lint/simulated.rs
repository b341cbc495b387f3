//! A workload on the simulated server with its own definitions, where no cluster is named.
//!
//! Guarantees: nothing leaves this process; what the simulated server does not serve is said not to be tried. Leaves to
//! others: webhooks, permissions and quotas, which only a cluster has.

use kubesim::{Options, Server};

use crate::cli::lint::{dry_run, rejected};
use crate::spec::workload;
use crate::spec::workload::{Resource, Workload};
use crate::target::cluster::Cluster;
use crate::target::fixtures;

/// What the schemas of the definitions reject, a line each.
///
/// # Errors
/// A template cannot be rendered.
pub async fn on_server(
    workload: &Workload,
    namespace: &str,
) -> anyhow::Result<Vec<workload::Error>> {
    println!(
        "no cluster is named: tried with the definitions of the workload alone; --context NAME asks a cluster"
    );
    let server = Server::new(Options::default());
    for manifest in &workload.crds {
        if let Err(error) = server.install(&manifest.text) {
            let message = format!("{}: {error}; correct the definition", manifest.file);
            return Ok(vec![workload.source.error("crds", message)]);
        }
    }
    let cluster = Cluster::simulated(&server, "lint");
    cluster.ensure_namespace(namespace).await?;
    let mut unserved = Vec::new();
    for resource in workload.scenario.resources() {
        if !cluster.serves(&resource).await? {
            let name = resource.full_name();
            println!("?    {name}: not tried, because the simulated server does not serve it");
            unserved.push(name);
        }
    }
    let is_served = |resource: &Resource| !unserved.contains(&resource.full_name());
    let mut problems = rejected(&cluster, workload, namespace, is_served).await?;
    let resources = fixtures::resources(&cluster, &workload.fixtures, namespace).await?;
    for (fixture, resource) in workload.fixtures.iter().zip(&resources) {
        match resource {
            None => println!(
                "?    fixture {} {}: not tried, because the simulated server does not serve it",
                fixture.kind, fixture.name
            ),
            Some(resource) => {
                let tried = dry_run::fixture(&cluster, fixture, resource, namespace);
                problems.extend(tried.await?);
            }
        }
    }
    Ok(problems)
}
