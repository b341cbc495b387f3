//! A kind of child whose CRD is not installed, and one that the operator does not declare.

use std::convert::Infallible;

use serde_json::{Value, json};
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, DEPLOYMENT, Failure, Kind, Operator, Owner,
    OwnerStatus, Plan, Reference, Requeue, SECRET,
};
use tare_runtime::cache::Mode;

use crate::cluster::objects::text;
use crate::cluster::simulated::{Running, Simulated, config, pass};

pub const POLICY: Kind = Kind {
    api_version: "policy.example.com/v1",
    kind: "Policy",
    plural: "policies",
    namespaced: true,
    status: &[],
};

/// An operator for EdgeApps that become a ConfigMap, or a Policy where their image is `policy`, or a Deployment, which
/// it does not declare, where that is `undeclared`; where it is `refers` they name a Secret, which it does not declare either.
/// Children end with `suffix`.
#[derive(Clone, Copy)]
struct Optional {
    suffix: &'static str,
}

#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct Status {
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

impl OwnerStatus for Status {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }
    fn ready(&self) -> bool {
        self.conditions.is_empty()
    }
    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

impl Operator for Optional {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[POLICY, CONFIG_MAP];

    fn references(&self, owner: &Owner<Self>) -> Vec<Reference> {
        let refers = owner.spec.image == "refers";
        Vec::from_iter(refers.then(|| Reference::new(SECRET, "password")))
    }

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<Status>, Infallible> {
        let name = format!("{}{}", owner.meta.name, self.suffix);
        let (kind, body) = match owner.spec.image.as_str() {
            "policy" => (POLICY, json!({ "spec": { "a": 1 } })),
            "undeclared" => (DEPLOYMENT, json!({ "spec": { "replicas": 1 } })),
            image => (CONFIG_MAP, json!({ "data": { "image": image } })),
        };
        Ok(Plan {
            children: vec![Child::new(kind, name, body)],
            status: Status {
                observed_generation: Some(owner.meta.generation),
                conditions: Vec::new(),
            },
            requeue: Requeue::Default,
        })
    }

    fn failed(&self, owner: &Owner<Self>, _: &Children, failure: &Failure) -> Option<Status> {
        let message = failure.message.as_str();
        let degraded = Condition::new("Degraded", true, failure.reason, message, 0);
        Some(Status {
            observed_generation: owner.meta.observed_generation,
            conditions: vec![degraded],
        })
    }
}

fn operate(cluster: &Simulated, suffix: &'static str) -> Running {
    let client = cluster.server.client("tare");
    cluster.operate_with(Optional { suffix }, client, config())
}

pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "policies.policy.example.com" },
        "spec": {
            "group": "policy.example.com", "scope": "Namespaced",
            "names": { "kind": "Policy", "plural": "policies", "singular": "policy" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": { "a": { "type": "integer" } } },
                } },
            } }],
        },
    })
}

fn install(cluster: &Simulated) {
    let installed = cluster.server.install(&definition().to_string());
    installed.expect("install the CRD");
}

async fn until_there(cluster: &Simulated, resource: &str, name: &str) {
    let what = format!("{resource} {name} is there");
    cluster
        .until(&what, |cluster| !cluster.get(resource, name).is_null())
        .await;
}

/// Where children are named like their owners and where they are not, which are two ways to list them.
const SUFFIXES: [&str; 2] = ["", "-child"];

pub async fn owners_that_do_not_need_a_missing_kind_are_reconciled(mode: Mode) {
    for suffix in SUFFIXES {
        let cluster = Simulated::new(mode);
        cluster.create("early", json!({ "image": "web:1" })).await;
        let running = operate(&cluster, suffix);
        until_there(&cluster, "configmaps", &format!("early{suffix}")).await;
        running.until_ready().await;
        cluster.create("late", json!({ "image": "web:1" })).await;
        until_there(&cluster, "configmaps", &format!("late{suffix}")).await;
        // A start finds them as they are.
        running.kill().await;
        let writes = cluster.writes();
        let running = operate(&cluster, suffix);
        running.until_ready().await;
        pass(3_600).await;
        assert_eq!(cluster.writes(), writes);
        running.stop().await;
    }
}

pub async fn an_owner_that_needs_a_missing_kind_says_so_until_it_is_there(mode: Mode) {
    for suffix in SUFFIXES {
        let cluster = Simulated::new(mode);
        cluster.create("web", json!({ "image": "policy" })).await;
        let running = operate(&cluster, suffix);
        cluster
            .until("the condition tells it", |cluster| {
                cluster.condition("web", "Degraded")["reason"] == "KindMissing"
            })
            .await;
        let message = text(&cluster.condition("web", "Degraded"), "/message");
        assert!(
            message.contains("policies of policy.example.com/v1"),
            "{message}"
        );
        pass(600).await;
        let events = cluster.server.objects("events");
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0]["reason"], "KindMissing");

        install(&cluster);
        until_there(&cluster, "policies", &format!("web{suffix}")).await;
        pass(120).await;
        assert_eq!(cluster.condition("web", "Degraded"), Value::Null);
        // Its watch is open, too: nothing else shows what happens to it.
        delete_policy(&cluster, &format!("web{suffix}")).await;
        until_there(&cluster, "policies", &format!("web{suffix}")).await;
        running.stop().await;
    }
}

async fn delete_policy(cluster: &Simulated, name: &str) {
    let path = format!("/apis/policy.example.com/v1/namespaces/default/policies/{name}");
    delete(cluster, &path).await;
}

async fn delete(cluster: &Simulated, path: &str) {
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    let json = crate::cluster::user::JSON;
    let deleted =
        crate::cluster::user::send(&cluster.client, http::Method::DELETE, path, json, &options);
    deleted
        .await
        .unwrap_or_else(|error| panic!("delete {path}: {error}"));
}

/// The server answers 404 to the making of a child, and its namespace is there.
pub async fn a_kind_that_goes_while_the_operator_runs_stops_no_other(mode: Mode) {
    let cluster = Simulated::new(mode);
    install(&cluster);
    let running = operate(&cluster, "");
    running.until_ready().await;
    cluster.create("web", json!({ "image": "policy" })).await;
    until_there(&cluster, "policies", "web").await;
    pass(120).await;
    delete(
        &cluster,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policies.policy.example.com",
    )
    .await;
    pass(120).await;
    running.until_ready().await;
    cluster.create("other", json!({ "image": "web:1" })).await;
    until_there(&cluster, "configmaps", "other").await;
    cluster.create("late", json!({ "image": "policy" })).await;
    for name in ["web", "late"] {
        cluster
            .until(&format!("{name} says so"), |cluster| {
                cluster.condition(name, "Degraded")["reason"] == "KindMissing"
            })
            .await;
    }
    install(&cluster);
    for name in ["web", "late"] {
        until_there(&cluster, "policies", name).await;
    }
    running.stop().await;
}

/// Neither listed nor watched, it would never be found again.
pub async fn a_planned_child_of_a_kind_that_is_not_declared_is_an_error(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster, "");
    running.until_ready().await;
    cluster
        .create("web", json!({ "image": "undeclared" }))
        .await;
    cluster
        .until("the condition tells it", |cluster| {
            cluster.condition("web", "Degraded")["status"] == "True"
        })
        .await;
    let degraded = cluster.condition("web", "Degraded");
    assert_eq!(degraded["reason"], "UndeclaredKind");
    let message = text(&degraded, "/message");
    for named in [
        "Deployment of apps/v1 (\"web\")",
        "Policy of policy.example.com/v1, ConfigMap of v1",
    ] {
        assert!(message.contains(named), "{message}");
    }
    assert_eq!(
        cluster.get("deployments", "web"),
        Value::Null,
        "nothing is made"
    );
    cluster.change("web", json!({ "image": "web:1" })).await;
    until_there(&cluster, "configmaps", "web").await;
    running.stop().await;
}

/// It would never be read, and the plan would take it to be missing.
pub async fn a_reference_to_a_kind_that_is_not_declared_is_an_error(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster, "");
    running.until_ready().await;
    cluster.create("web", json!({ "image": "refers" })).await;
    cluster
        .until("the condition tells it", |cluster| {
            cluster.condition("web", "Degraded")["reason"] == "UndeclaredKind"
        })
        .await;
    let degraded = cluster.condition("web", "Degraded");
    let message = text(&degraded, "/message");
    assert!(
        message.contains("Secret (\"password\"), which is not among the REFERENCES"),
        "{message}"
    );
    running.stop().await;
}
