//! Removing the namespace of a bench on an existing cluster, with everything in it.
//!
//! Guarantees: only a namespace with loadgen's label is deleted; bounded in time. Leaves to others:
//! objects in namespaces of the user (`cleanup`).

use std::time::{Duration, Instant};

use crate::spec::workload::Resource;
use crate::target::Error;
use crate::target::cleanup::Found;
use crate::target::cluster::{Cluster, Of};

/// Longest wait for a namespace to be gone with everything in it.
pub const GONE: Duration = Duration::from_secs(300);

/// Deletes the namespace, if it has the label, and waits until it is gone. Removes the finalizers of
/// the objects: the subject that would have done so has ended.
///
/// # Errors
/// The server rejects a request or does not answer, or `StillThere`.
pub async fn remove(cluster: &Cluster, name: &str, resources: &[Resource]) -> Result<(), Error> {
    let namespace = format!("/api/v1/namespaces/{name}");
    let find = || cluster.find::<Of<Found>>(&namespace);
    let found = find().await?.map(|found| found.metadata);
    let Some(found) = found.filter(|found| !found.run().is_empty()) else {
        return Ok(());
    };
    // False where it is being deleted already.
    cluster.delete_this(&namespace, &found.uid).await?;
    let deadline = Instant::now() + GONE;
    while Instant::now() < deadline {
        for resource in resources {
            remove_finalizers(cluster, resource).await?;
        }
        if find().await?.is_none() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err(Error::StillThere {
        namespace: name.to_owned(),
    })
}

/// Of a page of objects in the namespace of `resource`.
async fn remove_finalizers(cluster: &Cluster, resource: &Resource) -> Result<(), Error> {
    let mut items: Vec<Of<Found>> = Vec::new();
    let first = |page| {
        items = page;
        false
    };
    // What cannot be listed now may be listed on the next look.
    let _ = cluster.pages(&resource.path(), "", first).await;
    for item in items.iter().filter(|i| !i.metadata.finalizers.is_empty()) {
        let patch = br#"{"metadata":{"finalizers":null}}"#.to_vec();
        match cluster.merge(resource, &item.metadata.name, patch).await {
            Err(error) if error.code() == Some(404) => {}
            patched => {
                patched?;
            }
        }
    }
    Ok(())
}
