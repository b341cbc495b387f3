//! Objects that an owner selects by their labels, and what it refers to and the operator may not read.

use std::convert::Infallible;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, Failure, Kind, Operator, Owner, Plan, Reference,
    Requeue, SECRET,
};
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use crate::authors::Status;
use crate::cluster::objects::text;
use crate::cluster::simulated::{Running, Simulated, config, pass};
use crate::cluster::user::{JSON, MERGE, send};
use crate::optional_kinds::{POLICY, definition};
use crate::permissions::{Refusal, until_not_ready_because};

/// An operator for EdgeApps that become a ConfigMap with the names and the keys of what their image refers to.
struct Selecting;

/// `app=web` is a selector, with `+` for a space; `everywhere:app=web` one for all namespaces, `policy:one` a name.
fn reference(image: &str) -> Reference {
    let selector = |text: &str| text.replace('+', " ");
    match image.split_once(':') {
        Some(("policy", name)) => Reference::new(POLICY, name),
        Some(("everywhere", labels)) => {
            Reference::labelled(SECRET, selector(labels)).in_namespace("")
        }
        _ => Reference::labelled(SECRET, selector(image)),
    }
}

impl Operator for Selecting {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];
    const REFERENCES: &'static [Kind] = &[SECRET, POLICY];

    fn references(&self, owner: &Owner<Self>) -> Vec<Reference> {
        vec![reference(&owner.spec.image)]
    }

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<Status>, Infallible> {
        let found = owner.references.all(&reference(&owner.spec.image));
        let found = found.iter().map(|secret| {
            let key = text(secret, "/data/key");
            format!("{}={key}", text(secret, "/metadata/name"))
        });
        let found = found.collect::<Vec<_>>().join(" ");
        Ok(Plan {
            children: vec![Child::new(
                CONFIG_MAP,
                &*owner.meta.name,
                json!({"data": {"found": found}}),
            )],
            status: Status {
                observed_generation: Some(owner.meta.generation),
                conditions: vec![Condition::new("Ready", true, "Read", "", 0)],
                ..Status::default()
            },
            requeue: Requeue::Default,
        })
    }

    fn failed(&self, owner: &Owner<Self>, _: &Children, failure: &Failure) -> Option<Status> {
        let ready = Condition::new("Ready", false, failure.reason, &*failure.message, 0);
        Some(Status {
            observed_generation: owner.meta.observed_generation,
            conditions: vec![ready],
            ..Status::default()
        })
    }
}

fn operate(cluster: &Simulated) -> Running {
    cluster.operate_with(Selecting, cluster.server.client("tare"), config())
}

fn secrets(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets{name}")
}

async fn create_namespace(cluster: &Simulated, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let path = "/api/v1/namespaces";
    let created = send(&cluster.client, Method::POST, path, JSON, &namespace).await;
    created.expect("create the namespace");
}

async fn create_secret(cluster: &Simulated, namespace: &str, name: &str, labels: Value) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"key": "b25l"},
        "metadata": {"name": name, "labels": labels},
    });
    let path = secrets(namespace, "");
    let created = send(&cluster.client, Method::POST, &path, JSON, &secret).await;
    created.expect("create the Secret");
}

async fn edit_secret(cluster: &Simulated, name: &str, patch: Value) {
    let path = secrets("default", &format!("/{name}"));
    let edited = send(&cluster.client, Method::PATCH, &path, MERGE, &patch).await;
    edited.expect("edit the Secret");
}

/// Sets a label, or removes it with `null`.
async fn label(cluster: &Simulated, name: &str, label: &str, value: Value) {
    edit_secret(
        cluster,
        name,
        json!({"metadata": {"labels": {label: value}}}),
    )
    .await;
}

async fn delete_secret(cluster: &Simulated, name: &str) {
    let path = secrets("default", &format!("/{name}"));
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    let deleted = send(&cluster.client, Method::DELETE, &path, JSON, &options).await;
    deleted.expect("delete the Secret");
}

async fn until_found(cluster: &Simulated, owner: &str, found: &str) {
    let begun = Instant::now();
    cluster
        .until(&format!("{owner} has found {found:?}"), |cluster| {
            cluster.get("configmaps", owner)["data"]["found"] == found
        })
        .await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{owner} {found}");
}

pub async fn a_plan_follows_what_its_owner_selects_by_labels(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster);
    running.until_ready().await;
    for (owner, image) in [
        ("web", "app=web,tier+in+(gold,silver)"),
        ("other", "app=other"),
    ] {
        cluster.create(owner, json!({"image": image})).await;
        until_found(&cluster, owner, "").await;
    }
    let gold = json!({"app": "web", "tier": "gold"});
    let two = json!({"data": {"key": "dHdv"}});
    // Created, changed, a label removed and set, deleted: each time long after the owner was idle, and one write for it.
    for step in 0..7 {
        pass(1_800).await;
        let writes = cluster.writes();
        let found = match step {
            0 => {
                create_secret(&cluster, "default", "one", gold.clone()).await;
                "one=b25l"
            }
            1 => {
                edit_secret(&cluster, "one", two.clone()).await;
                "one=dHdv"
            }
            2 => {
                create_secret(&cluster, "default", "two", gold.clone()).await;
                "one=dHdv two=b25l"
            }
            3 => {
                label(&cluster, "one", "tier", Value::Null).await;
                "two=b25l"
            }
            4 => {
                label(&cluster, "one", "tier", "silver".into()).await;
                "one=dHdv two=b25l"
            }
            5 => {
                delete_secret(&cluster, "two").await;
                "one=dHdv"
            }
            _ => {
                label(&cluster, "one", "app", "web-2".into()).await;
                ""
            }
        };
        until_found(&cluster, "web", found).await;
        pass(60).await;
        assert_eq!(cluster.writes(), writes + 1, "step {step}");
    }
    // What nobody selects, and what nobody has selected lately, asks for nothing.
    create_namespace(&cluster, "elsewhere").await;
    let reads = |cluster: &Simulated| {
        let asked = [
            ("list", "edgeapps"),
            ("get", "edgeapps"),
            ("list", "secrets"),
        ];
        asked.map(|(verb, resource)| cluster.requests(verb, resource))
    };
    let before = reads(&cluster);
    create_secret(&cluster, "default", "nobodys", json!({"app": "web-3"})).await;
    create_secret(&cluster, "elsewhere", "theirs", gold.clone()).await;
    pass(60).await;
    assert_eq!(reads(&cluster), before);
    // It changes while no operator runs.
    label(&cluster, "one", "app", "web".into()).await;
    until_found(&cluster, "web", "one=dHdv").await;
    running.kill().await;
    label(&cluster, "one", "app", "other".into()).await;
    let running = operate(&cluster);
    until_found(&cluster, "web", "").await;
    until_found(&cluster, "other", "one=dHdv").await;
    // An owner that selects by other labels from now on.
    cluster
        .change("web", json!({"image": "app+notin+(web)"}))
        .await;
    until_found(&cluster, "web", "nobodys=b25l one=dHdv").await;
    pass(60).await;
    create_secret(&cluster, "default", "plain", Value::Null).await;
    until_found(&cluster, "web", "nobodys=b25l one=dHdv plain=b25l").await;
    label(&cluster, "plain", "app", "web".into()).await;
    until_found(&cluster, "web", "nobodys=b25l one=dHdv").await;
    running.stop().await;
}

pub async fn what_is_selected_in_all_namespaces_is_followed_in_all(mode: Mode) {
    let cluster = Simulated::new(mode);
    create_namespace(&cluster, "elsewhere").await;
    let running = operate(&cluster);
    cluster
        .create("web", json!({"image": "everywhere:app=web"}))
        .await;
    until_found(&cluster, "web", "").await;
    for (namespace, found) in [("default", "one=b25l"), ("elsewhere", "one=b25l one=b25l")] {
        pass(60).await;
        create_secret(&cluster, namespace, "one", json!({"app": "web"})).await;
        until_found(&cluster, "web", found).await;
    }
    label(&cluster, "one", "app", Value::Null).await;
    until_found(&cluster, "web", "one=b25l").await;
    running.stop().await;
}

pub async fn a_selector_that_the_server_refuses_is_that_owners_failure(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster);
    cluster.create("bad", json!({"image": "app=web,,=("})).await;
    cluster.create("web", json!({"image": "app=web"})).await;
    until_found(&cluster, "web", "").await;
    cluster
        .until("it says so", |cluster| {
            cluster.condition("bad", "Ready")["reason"] == "Rejected"
        })
        .await;
    create_secret(&cluster, "default", "one", json!({"app": "web"})).await;
    until_found(&cluster, "web", "one=b25l").await;
    running.stop().await;
}

pub async fn what_owners_refer_to_and_may_not_be_read_is_told_until_it_may(mode: Mode) {
    for verb in ["watch", "list"] {
        let cluster = Simulated::new(mode);
        cluster
            .server
            .install(&definition().to_string())
            .expect("a CRD");
        let refusal = Refusal::of_permission(&cluster, verb, "secrets");
        let running = operate(&cluster);
        cluster.create("web", json!({"image": "app=web"})).await;
        let because = format!("may not {verb} secrets in the core API group");
        until_not_ready_because(&cluster, &running, &because).await;
        // One that does not need it is planned.
        cluster
            .create("named", json!({"image": "policy:one"}))
            .await;
        until_found(&cluster, "named", "").await;
        match verb {
            "list" => {
                let is_told = |cluster: &Simulated| {
                    let ready = cluster.condition("web", "Ready");
                    ready["reason"] == "Forbidden"
                        && text(&ready, "/message").contains("may not list Secret")
                };
                cluster.until("its condition tells it", is_told).await;
            }
            // It can be read: only changes are not noticed.
            _ => until_found(&cluster, "web", "").await,
        }
        refusal.lift();
        running.until_ready().await;
        create_secret(&cluster, "default", "one", json!({"app": "web"})).await;
        cluster
            .until("it is noticed", |cluster| {
                cluster.get("configmaps", "web")["data"]["found"] == "one=b25l"
            })
            .await;
        running.stop().await;
    }
}

pub async fn a_kind_that_owners_refer_to_may_be_missing(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster);
    running.until_ready().await;
    cluster.create("web", json!({"image": "app=web"})).await;
    until_found(&cluster, "web", "").await;
    cluster
        .create("named", json!({"image": "policy:one"}))
        .await;
    cluster
        .until("its condition tells it", |cluster| {
            let ready = cluster.condition("named", "Ready");
            ready["reason"] == "KindMissing"
                && text(&ready, "/message").contains("policies of policy.example.com/v1")
        })
        .await;
    pass(600).await;
    running.until_ready().await;
    assert_eq!(cluster.get("configmaps", "named"), Value::Null);
    cluster
        .server
        .install(&definition().to_string())
        .expect("a CRD");
    cluster
        .until("it is planned", |cluster| {
            cluster.get("configmaps", "named")["data"]["found"] == ""
        })
        .await;
    // Its watch is open, too: nothing else shows what is made.
    pass(600).await;
    let policy = json!({
        "apiVersion": "policy.example.com/v1", "kind": "Policy", "metadata": {"name": "one"},
    });
    let path = "/apis/policy.example.com/v1/namespaces/default/policies";
    let created = send(&cluster.client, Method::POST, path, JSON, &policy).await;
    created.expect("create the Policy");
    until_found(&cluster, "named", "one=").await;
    running.stop().await;
}
