//! Reads the object that an ownerReference names.
//!
//! Guarantees: it counts only with the uid of the reference, so that a namesake is not taken for it; one
//! that cannot be read is named all the same, and why.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::core::{GroupVersion, GroupVersionKind};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt};

/// An owner, as far as it can be read.
pub struct Found {
    pub name: String,
    pub owners: Vec<OwnerReference>,
}

/// Asks the server what the kind is called in paths and whether it has namespaces, then reads the
/// object; its metadata is enough.
pub async fn find(
    client: &Client,
    namespace: &str,
    owner: &OwnerReference,
) -> anyhow::Result<Found> {
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
