//! Missing permissions, and other refusals with the same status (403).
//!
//! Guarantees: `/readyz` names a missing permission to read, at the start and when it is revoked later;
//! the reason on an owner says whether a permission is missing or admission refuses.
//! Leaves to others: that each permission of the shipped role is needed (`permission_table`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use kubesim::RequestFault;
use serde_json::{Value, json};
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, text, web};
use crate::cluster::operator::Operator;
use crate::cluster::plane::LIMITED;
use crate::cluster::simulated::{Running, Simulated, config, pass};

pub async fn a_missing_permission_is_named_on_the_object(cluster: Cluster) {
    let operator = operate_without_creating_services(&cluster).await;
    cluster.create("web", web()).await;
    let degraded = cluster.until_degraded("web", "Forbidden").await;
    let message = text(condition(&degraded, "Ready"), "/message");
    assert!(
        message.contains("may not create Service \"web\""),
        "{message}"
    );
    // An EdgeApp without a Service does not need the permission.
    cluster
        .create("plain", json!({ "image": "registry.local/web:1" }))
        .await;
    cluster.until_running("plain").await;
    operator.terminate().await;
    cluster.end().await;
}

/// An operator that may do everything but create Services: refused by a fault on the simulated
/// cluster, which has no authorization, and by a Role on a real one.
async fn operate_without_creating_services(cluster: &Cluster) -> Operator {
    let user = match cluster.as_simulated() {
        Some(simulated) => {
            Refusal::of_permission(simulated, "create", "services");
            "tare"
        }
        None => {
            grant_all_but_creating_services(cluster).await;
            LIMITED
        }
    };
    let operator = cluster.operate_as(user).await;
    operator.until_ready().await;
    operator
}

async fn grant_all_but_creating_services(cluster: &Cluster) {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let edgeapps = ["edgeapps", "edgeapps/status", "edgeapps/finalizers"];
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": { "name": "almost" },
        "rules": [
            rule("tare.dev", &edgeapps, &["*"]),
            rule("apps", &["deployments"], &["*"]),
            rule("", &["services"], &["get", "list", "watch"]),
            rule("", &["events"], &["create"]),
        ],
    });
    cluster.make("roles", role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "almost" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "almost" },
        "subjects": [{
            "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": LIMITED,
        }],
    });
    cluster.make("rolebindings", binding).await;
}

pub async fn readyz_names_the_missing_permission_to_read_until_it_is_granted(mode: Mode) {
    for (verb, resource, permission) in [
        ("list", "edgeapps", "list edgeapps in API group tare.dev"),
        ("list", "services", "list services in the core API group"),
        (
            "watch",
            "deployments",
            "watch deployments in API group apps",
        ),
    ] {
        let cluster = Simulated::new(mode);
        let refusal = Refusal::of_permission(&cluster, verb, resource);
        let running = cluster.operate();
        until_not_ready_because(&cluster, &running, &format!("may not {permission}")).await;
        refusal.lift();
        running.until_ready().await;
        cluster.create("web", web()).await;
        cluster.until_phase("web", "Running").await;
        running.stop().await;
    }
}

pub async fn a_permission_to_list_that_is_revoked_while_running_is_told(mode: Mode) {
    let cluster = Simulated::new(mode);
    let refusal = Refusal::of_permission(&cluster, "list", "services");
    refusal.lift();
    let config = Config {
        resync: Some(Duration::from_secs(50)),
        ..config()
    };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    running.until_ready().await;
    refusal.enforce();
    until_not_ready_because(&cluster, &running, "may not list services").await;
    // What watches show is worked on all the same.
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    assert!(running.metrics.readiness().is_err(), "it is still missing");
    refusal.lift();
    running.until_ready().await;
    running.stop().await;
}

pub async fn the_permission_that_an_owner_reference_needs_is_named(mode: Mode) {
    let words = "services \"web\" is forbidden: cannot set blockOwnerDeletion if an ownerReference \
                 refers to a resource you can't set finalizers on: , <nil>";
    let cluster = Simulated::new(mode);
    let refusal = Refusal::of(&cluster, "create", "services", words.to_owned());
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster
        .until("the condition tells it", |cluster| {
            cluster.condition("web", "Degraded")["reason"] == "Forbidden"
        })
        .await;
    let message = cluster.condition("web", "Degraded")["message"].clone();
    let message = message.as_str().unwrap_or_default();
    let permission = "the permission to update edgeapps/finalizers in API group tare.dev";
    assert!(message.contains(permission), "{message}");
    refusal.lift();
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

pub async fn an_owner_kind_that_the_server_does_not_know_yet_is_waited_for(mode: Mode) {
    let words = "services \"web\" is forbidden: cannot set blockOwnerDeletion in this case because \
                 cannot find RESTMapping for APIVersion tare.dev/v1alpha1 Kind EdgeApp: no matches \
                 for kind \"EdgeApp\" in version \"tare.dev/v1alpha1\"";
    let cluster = Simulated::new(mode);
    let refusal = Refusal::of(&cluster, "create", "services", words.to_owned());
    let running = cluster.operate();
    cluster.create("web", web()).await;
    pass(30).await;
    assert_eq!(cluster.condition("web", "Degraded")["status"], Value::Null);
    refusal.lift();
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

pub async fn an_exceeded_quota_is_no_missing_permission(mode: Mode) {
    let quota = "deployments.apps \"web\" is forbidden: exceeded quota: few, requested: \
                 count/deployments.apps=1, used: count/deployments.apps=1, limited: \
                 count/deployments.apps=1";
    let cluster = Simulated::new(mode);
    let refusal = Refusal::of(&cluster, "create", "deployments", quota.to_owned());
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster
        .until("the condition tells it", |cluster| {
            cluster.condition("web", "Degraded")["status"] == "True"
        })
        .await;
    let degraded = cluster.condition("web", "Degraded");
    assert_eq!(degraded["reason"], "Rejected");
    let message = degraded["message"].as_str().unwrap_or_default();
    assert!(message.contains("exceeded quota: few"), "{message}");
    refusal.lift();
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

/// A refusal that can be lifted.
pub struct Refusal(Arc<AtomicBool>);

impl Refusal {
    /// Refuses the operator's requests of this verb and resource with 403 and these words.
    fn of(
        cluster: &Simulated,
        verb: &'static str,
        resource: &'static str,
        words: String,
    ) -> Refusal {
        let in_force = Arc::new(AtomicBool::new(true));
        let refuses = Arc::clone(&in_force);
        cluster.server.faults().on_request(move |facts| {
            let is_meant = (facts.user, facts.verb, facts.resource) == ("tare", verb, resource);
            match is_meant && refuses.load(Relaxed) {
                true => RequestFault::Status {
                    code: 403,
                    reason: "Forbidden".to_owned(),
                    message: words.clone(),
                    retry_after_s: None,
                },
                false => RequestFault::Pass,
            }
        });
        Refusal(in_force)
    }

    /// As kube-apiserver's authorisation refuses.
    pub fn of_permission(
        cluster: &Simulated,
        verb: &'static str,
        resource: &'static str,
    ) -> Refusal {
        let group = match resource {
            "edgeapps" => "tare.dev",
            "deployments" => "apps",
            _ => "",
        };
        let words = format!(
            "{resource} is forbidden: User \"tare\" cannot {verb} resource \"{resource}\" in API \
             group \"{group}\" at the cluster scope"
        );
        Refusal::of(cluster, verb, resource, words)
    }

    pub fn lift(&self) {
        self.0.store(false, Relaxed);
    }

    fn enforce(&self) {
        self.0.store(true, Relaxed);
    }
}

pub async fn until_not_ready_because(cluster: &Simulated, running: &Running, because: &str) {
    cluster
        .until(because, |_| {
            let readiness = running.metrics.readiness();
            readiness.is_err_and(|why| why.contains(because))
        })
        .await;
}
