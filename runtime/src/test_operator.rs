//! The operator of the unit tests: a `Site` has a Service and a Deployment of its own name.
//!
//! Guarantees: pure; its status follows the Deployment, so that every way in which an owner can be out of date
//! can be built from it. Leaves to others: everything that needs an API server (`tests/scenarios` of the
//! package `tare`).

use std::convert::Infallible;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api::{
    Child, Children, Condition, DEPLOYMENT, Kind, Operator, Owner, OwnerStatus, Plan, Requeue,
    SERVICE,
};

/// What a site should be.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Site",
    namespaced,
    status = "SiteStatus"
)]
pub(crate) struct SiteSpec {
    pub(crate) image: String,
    #[serde(default = "one")]
    pub(crate) replicas: i32,
}

fn one() -> i32 {
    1
}

/// What was last observed of a site.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SiteStatus {
    #[serde(default)]
    pub(crate) ready_replicas: i32,
    #[serde(default)]
    pub(crate) ready: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
}

impl OwnerStatus for SiteStatus {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }

    fn ready(&self) -> bool {
        self.ready
    }

    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

/// The operator for sites.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sites;

impl Operator for Sites {
    type Resource = Site;
    type Status = SiteStatus;
    type Error = Infallible;
    type Observed = ();

    const NAME: &'static str = "sites";
    const FINALIZER: Option<&'static str> = Some("example.com/cleanup");
    const KINDS: &'static [Kind] = &[SERVICE, DEPLOYMENT];

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<SiteStatus>, Infallible> {
        let (name, generation) = (owner.meta.name.as_ref(), owner.meta.generation);
        let seen = children.get(&DEPLOYMENT, name).cloned().unwrap_or_default();
        let ready = seen.is_ready(owner.spec.replicas);
        let labels = json!({"site": name});
        let deployment = json!({"spec": {
            "replicas": owner.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "site", "image": owner.spec.image, "env": null}]},
            },
        }});
        Ok(Plan {
            children: vec![
                Child::new(DEPLOYMENT, name, deployment).immutable(&["/spec/selector"]),
                Child::absent(SERVICE, name),
            ],
            status: SiteStatus {
                ready_replicas: seen.ready_replicas,
                ready,
                observed_generation: Some(generation),
                conditions: vec![Condition::new("Ready", ready, "Observed", "", generation)],
            },
            requeue: Requeue::Default,
        })
    }
}
