//! Selection owns a Pod, up to the root: the dynamic API, for kinds that are known at run time only.
//!
//! Guarantees: each object is read once; references in a circle end.

mod draw;
mod owner;

use std::collections::HashMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Api, Client, ResourceExt};
use owner::Found;

use super::screen::Screen;

pub async fn show(
    client: Client,
    pods: &Api<Pod>,
    name: &str,
    screen: &Screen,
) -> anyhow::Result<()> {
    let pod = pods.get(name).await?;
    screen.text(&draw::tree(&lineages(&client, &pod).await?))?;
    Ok(())
}

/// A way from the Pod up, as far as it is known.
struct Climb {
    /// From the Pod upwards.
    names: Vec<String>,
    /// Uids on the way: references in a circle end where they would begin again.
    seen: Vec<String>,
    next: Vec<OwnerReference>,
}

/// Every way from a root down to the Pod.
async fn lineages(client: &Client, pod: &Pod) -> anyhow::Result<Vec<Vec<String>>> {
    let namespace = pod.namespace().unwrap_or_default();
    let mut known: HashMap<String, Found> = HashMap::new();
    let mut done = Vec::new();
    let mut open = vec![Climb {
        names: vec![format!("Pod {namespace}/{}", pod.name_any())],
        seen: vec![pod.uid().unwrap_or_default()],
        next: pod.owner_references().to_vec(),
    }];
    while let Some(climb) = open.pop() {
        if climb.next.is_empty() {
            done.push(climb.names.into_iter().rev().collect());
            continue;
        }
        // The last in, the first out: the order of the references stays.
        for reference in climb.next.iter().rev() {
            if !known.contains_key(&reference.uid) {
                let found = owner::find(client, &namespace, reference).await?;
                known.insert(reference.uid.clone(), found);
            }
            let found = &known[&reference.uid];
            let circle = climb.seen.contains(&reference.uid);
            open.push(Climb {
                names: [&climb.names[..], std::slice::from_ref(&found.name)].concat(),
                seen: [&climb.seen[..], std::slice::from_ref(&reference.uid)].concat(),
                next: if circle {
                    Vec::new()
                } else {
                    found.owners.clone()
                },
            });
        }
    }
    Ok(done)
}
