//! What a chart owns beside its Job, and the marks on all of it.
//!
//! Guarantees: pure; labels, annotations and owner references are those of helm-controller v0.17 (`apply` of wrangler v3.5.1), so that
//! either program finds what the other one has made. The annotation with the object as it was applied is left out: it is
//! wrangler's memory, and nothing here needs it.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Value, json};

use crate::chart::Chart;
use crate::digest::hex;

const PREFIX: &str = "objectset.rio.cattle.io";
const OWNER_KIND: &str = "helm.cattle.io/v1, Kind=HelmChart";

/// Where the owner of an object without an owner reference is named.
pub fn owner_of(annotations: &std::collections::BTreeMap<String, String>) -> Option<(&str, &str)> {
    let said = |what: &str| {
        annotations
            .get(&format!("{PREFIX}/{what}"))
            .map(String::as_str)
    };
    (said("owner-gvk")? == OWNER_KIND).then_some(())?;
    Some((said("owner-namespace")?, said("owner-name")?))
}

/// The set that an object is of: `helm-chart-registration` under the name of the controller for what installs, without it for
/// what deletes.
pub fn set_id(chart: Chart<'_>, controller: &str) -> String {
    match chart.is_deleted {
        true => "helm-chart-registration".to_owned(),
        false => format!("{controller}-chart-registration"),
    }
}

/// Adds labels, annotations and, where it is in the namespace of the chart, the owner reference.
pub fn mark(object: &mut Value, chart: Chart<'_>, uid: &str, set: &str) {
    let hashed = [set, OWNER_KIND, chart.name, chart.namespace].concat();
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, hashed.as_bytes());
    let metadata = &mut object["metadata"];
    metadata["labels"][format!("{PREFIX}/hash")] = json!(hex(hash.as_ref()));
    let annotations = &mut metadata["annotations"];
    for (what, text) in [
        ("id", set),
        ("owner-gvk", OWNER_KIND),
        ("owner-name", chart.name),
        ("owner-namespace", chart.namespace),
    ] {
        annotations[format!("{PREFIX}/{what}")] = json!(text);
    }
    if metadata["namespace"] == chart.namespace {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "helm.cattle.io/v1", "kind": "HelmChart", "name": chart.name, "uid": uid,
            "controller": false, "blockOwnerDeletion": false,
        }]);
    }
}

/// As whom the Job works.
pub fn service_account(chart: Chart<'_>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": true,
        "metadata": {"name": format!("helm-{}", chart.name), "namespace": chart.namespace},
    })
}

/// What it may do.
pub fn role_binding(chart: Chart<'_>, cluster_role: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("helm-{}-{}", chart.namespace, chart.name)},
        "roleRef": {
            "kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": cluster_role,
        },
        "subjects": [{
            "name": format!("helm-{}", chart.name), "kind": "ServiceAccount",
            "namespace": chart.namespace,
        }],
    })
}
