//! The operators of the scenarios of scope: `Teams` has owners without a namespace, `Rooms` owners in one, with children
//! elsewhere.

use std::convert::Infallible;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tare_runtime::api::{
    CLUSTER_ROLE, CONFIG_MAP, Child, Children, Condition, DEPLOYMENT, Failure, Kind, Operator,
    Owner, OwnerStatus, Plan, Requeue,
};
use tare_runtime::model::Meta;

const FINALIZER: &str = "scope.example.com/children";

/// What an owner without a namespace wants.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "scope.example.com",
    version = "v1",
    kind = "Team",
    status = "Status"
)]
pub struct TeamSpec {
    pub colour: String,
    /// Where it has a ConfigMap.
    pub namespaces: Vec<String>,
}

/// What an owner in a namespace wants.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "scope.example.com",
    version = "v1",
    kind = "Room",
    status = "Status",
    namespaced
)]
#[serde(rename_all = "camelCase")]
pub struct RoomSpec {
    pub colour: String,
    /// Where it has a ConfigMap beside the one in its own namespace.
    pub namespaces: Vec<String>,
    /// Where it has a Deployment.
    pub works_in: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Children that the plan has seen.
    #[serde(default)]
    pub seen: usize,
    /// Whether its Deployment is ready.
    #[serde(default)]
    pub works: bool,
    pub observed_generation: Option<i64>,
    #[serde(default)]
    #[schemars(schema_with = "any_list")]
    pub conditions: Vec<Condition>,
}

fn any_list(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "array", "items": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
    }})
}

impl OwnerStatus for Status {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }
    fn ready(&self) -> bool {
        self.conditions.iter().any(|one| one.status == "True")
    }
    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

/// A ConfigMap in each namespace, and a ClusterRole.
fn children(meta: &Meta, colour: &str, namespaces: &[String]) -> Vec<Child> {
    let data = || json!({"data": {"colour": colour}});
    let name = &*meta.name;
    let maps = namespaces
        .iter()
        .map(|namespace| Child::new(CONFIG_MAP, name, data()).in_namespace(namespace));
    let rule = json!({"apiGroups": [colour], "resources": ["pods"], "verbs": ["get"]});
    let role = Child::new(CLUSTER_ROLE, role(meta), json!({"rules": [rule]}));
    maps.chain([role]).collect()
}

/// The name of the ClusterRole: those of owners in two namespaces are two.
fn role(meta: &Meta) -> String {
    format!("{}{}", meta.namespace, meta.name)
}

fn status(meta: &Meta, seen: usize, wanted: usize) -> Status {
    Status {
        seen,
        observed_generation: Some(meta.generation),
        conditions: vec![Condition::new("Ready", seen == wanted, "Counted", "", 0)],
        ..Status::default()
    }
}

fn failed(meta: &Meta, failure: &Failure) -> Option<Status> {
    let message = &*failure.message;
    Some(Status {
        observed_generation: meta.observed_generation,
        conditions: vec![Condition::new("Ready", false, failure.reason, message, 0)],
        ..Status::default()
    })
}

fn seen(meta: &Meta, seen: &Children, namespaces: &[String]) -> usize {
    let maps = namespaces
        .iter()
        .filter(|namespace| seen.get_in(namespace, &CONFIG_MAP, &meta.name).is_some());
    maps.count() + usize::from(seen.get(&CLUSTER_ROLE, &role(meta)).is_some())
}

pub struct Teams;

impl Operator for Teams {
    type Resource = Team;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "teams";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP, CLUSTER_ROLE];

    fn plan(&self, owner: &Owner<Self>, all: &Children) -> Result<Plan<Status>, Infallible> {
        let (meta, spec) = (&owner.meta, &owner.spec);
        let children = match &*spec.colour {
            "nowhere" => vec![Child::new(CONFIG_MAP, "lost", json!({}))],
            colour => children(meta, colour, &spec.namespaces),
        };
        let seen = seen(meta, all, &spec.namespaces);
        Ok(Plan {
            status: status(meta, seen, children.len()),
            children,
            requeue: Requeue::Default,
        })
    }

    fn failed(&self, owner: &Owner<Self>, _: &Children, failure: &Failure) -> Option<Status> {
        failed(&owner.meta, failure)
    }
}

/// With a finalizer, or without the one that it needs.
pub struct Rooms<const FINALIZED: bool>;

impl<const FINALIZED: bool> Operator for Rooms<FINALIZED> {
    type Resource = Room;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "rooms";
    const FINALIZER: Option<&'static str> = if FINALIZED { Some(FINALIZER) } else { None };
    const KINDS: &'static [Kind] = &[CONFIG_MAP, CLUSTER_ROLE, DEPLOYMENT];

    fn plan(&self, owner: &Owner<Self>, all: &Children) -> Result<Plan<Status>, Infallible> {
        let (meta, spec) = (&owner.meta, &owner.spec);
        assert_ne!(spec.colour, "panic", "this colour is not for plans");
        let mut children = children(meta, &spec.colour, &spec.namespaces);
        let own = json!({"data": {"colour": spec.colour}});
        children.push(Child::new(CONFIG_MAP, format!("own-{}", meta.name), own));
        let mut status = status(meta, seen(meta, all, &spec.namespaces), children.len() - 1);
        if let Some(namespace) = &spec.works_in {
            let labels = json!({"app": &*meta.name});
            let pod = json!({"containers": [{"name": "c", "image": spec.colour}]});
            let body = json!({"spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            }});
            children.push(Child::new(DEPLOYMENT, &*meta.name, body).in_namespace(namespace));
            let deployment = all.get_in(namespace, &DEPLOYMENT, &meta.name);
            status.works = deployment.is_some_and(|deployment| deployment.is_ready(1));
        }
        Ok(Plan {
            children,
            status,
            requeue: Requeue::Default,
        })
    }

    fn failed(&self, owner: &Owner<Self>, _: &Children, failure: &Failure) -> Option<Status> {
        failed(&owner.meta, failure)
    }
}
