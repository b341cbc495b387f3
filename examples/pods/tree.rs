//! What owns a Pod, up to the root: the dynamic API, for kinds that are known at run time only.
//!
//! Guarantees: an owner counts only with the uid of the reference, so that a namesake is not taken for
//! it; each object is read once; an owner that cannot be read is named all the same.

use std::collections::HashMap;
use std::fmt::Write;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::core::{GroupVersion, GroupVersionKind};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt};

use super::screen::Screen;

pub async fn show(
    client: Client,
    pods: &Api<Pod>,
    name: &str,
    screen: &Screen,
) -> anyhow::Result<()> {
    let pod = pods.get(name).await?;
    let mut forest = Vec::new();
    for lineage in lineages(&client, &pod).await? {
        plant(&mut forest, &lineage);
    }
    let mut text = String::new();
    for root in &forest {
        draw(root, "", "", &mut text)?;
    }
    screen.text(&text)?;
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
                let found = find(client, &namespace, reference).await?;
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

/// An owner, as far as it can be read.
struct Found {
    name: String,
    owners: Vec<OwnerReference>,
}

/// Asks the server what the kind is called in paths and whether it has namespaces, then reads the
/// object; its metadata is enough.
async fn find(client: &Client, namespace: &str, owner: &OwnerReference) -> anyhow::Result<Found> {
    let OwnerReference { kind, name, .. } = owner;
    let but = |why: &str| Found {
        name: format!("{kind} {name} ({why})"),
        owners: Vec::new(),
    };
    let version: GroupVersion = owner.api_version.parse()?;
    let wanted = GroupVersionKind::gvk(&version.group, &version.version, kind);
    let (resource, capabilities) = match discovery::pinned_kind(client, &wanted).await {
        Ok(found) => found,
        Err(kube::Error::Discovery(_)) => return Ok(but("no such kind here")),
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            return Ok(but("no such kind here"));
        }
        Err(other) => return Err(other.into()),
    };
    let (api, name): (Api<DynamicObject>, String) = match capabilities.scope {
        Scope::Namespaced => (
            Api::namespaced_with(client.clone(), namespace, &resource),
            format!("{kind} {namespace}/{name}"),
        ),
        Scope::Cluster => (
            Api::all_with(client.clone(), &resource),
            format!("{kind} {name}"),
        ),
    };
    let found: Option<PartialObjectMeta<DynamicObject>> =
        match api.get_metadata_opt(&owner.name).await {
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                return Ok(but("may not be read"));
            }
            found => found?,
        };
    match found.filter(|object| object.uid().as_ref() == Some(&owner.uid)) {
        Some(object) => Ok(Found {
            name,
            owners: object.owner_references().to_vec(),
        }),
        None => Ok(but("gone")),
    }
}

struct Node {
    name: String,
    children: Vec<Node>,
}

/// Adds a way from a root down; what two ways share from the root is there once.
fn plant(forest: &mut Vec<Node>, lineage: &[String]) {
    let Some((name, below)) = lineage.split_first() else {
        return;
    };
    let at = forest.iter().position(|node| node.name == *name);
    let at = at.unwrap_or_else(|| {
        let (name, children) = (name.clone(), Vec::new());
        forest.push(Node { name, children });
        forest.len() - 1
    });
    plant(&mut forest[at].children, below);
}

fn draw(node: &Node, branch: &str, indent: &str, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{branch}{}", node.name)?;
    let last = node.children.len().saturating_sub(1);
    for (i, child) in node.children.iter().enumerate() {
        let (branch, below) = if i == last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        draw(
            child,
            &format!("{indent}{branch}"),
            &format!("{indent}{below}"),
            text,
        )?;
    }
    Ok(())
}
