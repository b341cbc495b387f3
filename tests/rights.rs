//! Rights that are missing, and refusals with the same status (403) that are none.
//!
//! Guarantees: `/readyz` names a right without which nothing can be read, from the start and when it
//! is taken away later; an owner's reason says whether a right is missing or admission refuses.
//! Leaves to others: that each right of the shipped role is needed (`tests/real/rights.rs`).

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use kubesim::RequestFault;
use support::{Running, World, config, pass, web};
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

/// A refusal that can be lifted.
struct Refusal(Arc<AtomicBool>);

impl Refusal {
    /// Refuses the operator's requests of this verb and resource with 403 and these words.
    fn of(world: &World, verb: &'static str, resource: &'static str, words: String) -> Refusal {
        let in_force = Arc::new(AtomicBool::new(true));
        let refuses = Arc::clone(&in_force);
        world.server.faults().on_request(move |facts| {
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
    fn of_right(world: &World, verb: &'static str, resource: &'static str) -> Refusal {
        let group = match resource {
            "edgeapps" => "tare.dev",
            "deployments" => "apps",
            _ => "",
        };
        let words = format!(
            "{resource} is forbidden: User \"tare\" cannot {verb} resource \"{resource}\" in API \
             group \"{group}\" at the cluster scope"
        );
        Refusal::of(world, verb, resource, words)
    }

    fn lift(&self) {
        self.0.store(false, Relaxed);
    }

    fn enforce(&self) {
        self.0.store(true, Relaxed);
    }
}

async fn until_not_ready_because(world: &World, running: &Running, because: &str) {
    world
        .until(because, |_| {
            let readiness = running.metrics.readiness();
            readiness.is_err_and(|why| why.contains(because))
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn readyz_names_the_right_to_read_that_is_missing_and_it_heals() {
    for (verb, resource, right) in [
        ("list", "edgeapps", "list edgeapps in API group tare.dev"),
        ("list", "services", "list services in the core API group"),
        (
            "watch",
            "deployments",
            "watch deployments in API group apps",
        ),
    ] {
        let world = World::new(Mode::None);
        let refusal = Refusal::of_right(&world, verb, resource);
        let running = world.operate();
        until_not_ready_because(&world, &running, &format!("may not {right}")).await;
        refusal.lift();
        running.until_ready().await;
        world.create("web", web()).await;
        world.until_phase("web", "Running").await;
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_right_to_list_that_is_taken_away_while_running_is_told() {
    let world = World::new(Mode::None);
    let refusal = Refusal::of_right(&world, "list", "services");
    refusal.lift();
    let config = Config {
        resync: Some(Duration::from_secs(60)),
        ..config()
    };
    let running = world.operate_with(EdgeApps, world.server.client("tare"), config);
    running.until_ready().await;
    refusal.enforce();
    until_not_ready_because(&world, &running, "may not list services").await;
    // What watches show is worked on all the same.
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    assert!(running.metrics.readiness().is_err(), "it is still missing");
    refusal.lift();
    running.until_ready().await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_admission_refuses_is_no_missing_right() {
    let quota = "deployments.apps \"web\" is forbidden: exceeded quota: few, requested: \
                 count/deployments.apps=1, used: count/deployments.apps=1, limited: \
                 count/deployments.apps=1";
    let world = World::new(Mode::None);
    let refusal = Refusal::of(&world, "create", "deployments", quota.to_owned());
    let running = world.operate();
    world.create("web", web()).await;
    world
        .until("it is told", |world| {
            world.condition("web", "Degraded")["status"] == "True"
        })
        .await;
    let degraded = world.condition("web", "Degraded");
    assert_eq!(degraded["reason"], "Rejected");
    let message = degraded["message"].as_str().unwrap_or_default();
    assert!(message.contains("exceeded quota: few"), "{message}");
    refusal.lift();
    world.until_phase("web", "Running").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_correction_that_is_refused_again_and_again_is_no_fight() {
    let world = World::new(Mode::None);
    let refusal = Refusal::of_right(&world, "patch", "deployments");
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    let edit = Patch::Merge(serde_json::json!({ "spec": { "replicas": 9 } }));
    let deployments: kube::Api<Deployment> = world.api();
    let edited = deployments
        .patch("web", &PatchParams::default(), &edit)
        .await;
    edited.expect("edit the Deployment");
    pass(120).await;
    assert_eq!(world.condition("web", "Degraded")["reason"], "Forbidden");
    refusal.lift();
    world
        .until("the edit is undone", |world| {
            world.get("deployments", "web")["spec"]["replicas"] == 1
        })
        .await;
    world.until_phase("web", "Running").await;
    running.stop().await;
}

/// The words are those of kube-apiserver's admission plugin OwnerReferencesPermissionEnforcement.
#[tokio::test(start_paused = true)]
async fn the_right_that_an_owner_reference_asks_for_is_named() {
    let words = "services \"web\" is forbidden: cannot set blockOwnerDeletion if an ownerReference \
                 refers to a resource you can't set finalizers on: , <nil>";
    let world = World::new(Mode::None);
    let refusal = Refusal::of(&world, "create", "services", words.to_owned());
    let running = world.operate();
    world.create("web", web()).await;
    world
        .until("it is told", |world| {
            world.condition("web", "Degraded")["reason"] == "Forbidden"
        })
        .await;
    let message = world.condition("web", "Degraded")["message"].clone();
    let message = message.as_str().unwrap_or_default();
    let right = "the permission to update edgeapps/finalizers in API group tare.dev";
    assert!(message.contains(right), "{message}");
    refusal.lift();
    world.until_phase("web", "Running").await;
    running.stop().await;
}

/// The plugin learns of a new CRD within half a minute: no fault of the EdgeApp.
#[tokio::test(start_paused = true)]
async fn an_owner_kind_that_the_server_does_not_know_yet_is_waited_for() {
    let words = "services \"web\" is forbidden: cannot set blockOwnerDeletion in this case because \
                 cannot find RESTMapping for APIVersion tare.dev/v1alpha1 Kind EdgeApp: no matches \
                 for kind \"EdgeApp\" in version \"tare.dev/v1alpha1\"";
    let world = World::new(Mode::None);
    let refusal = Refusal::of(&world, "create", "services", words.to_owned());
    let running = world.operate();
    world.create("web", web()).await;
    pass(30).await;
    assert_eq!(
        world.condition("web", "Degraded")["status"],
        serde_json::Value::Null
    );
    refusal.lift();
    world.until_phase("web", "Running").await;
    running.stop().await;
}
