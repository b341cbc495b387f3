//! Owners without a namespace, and children where their owners are not: the same story for both.

mod operators;

use http::Method;
use serde_json::{Value, json};
use tare_runtime::app::program::Program;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, text};
use crate::cluster::simulated::{Running, config};
use crate::cluster::user::{JSON, MERGE};
use crate::fields::rest;
use operators::{Room, Team};
pub use operators::{Rooms, Teams};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The CRDs of the two operators, in JSON.
pub fn crds() -> [(&'static str, String); 2] {
    [
        ("teams", Program::of::<Team>("", "").crd().into_owned()),
        ("rooms", Program::of::<Room>("", "").crd().into_owned()),
    ]
}

/// One owner in a cluster with two more namespaces.
pub struct Scene {
    pub cluster: Cluster,
    /// `teams` or `rooms`.
    owners: &'static str,
    pub name: String,
    pub namespaces: [String; 2],
}

impl Scene {
    pub async fn new(cluster: Cluster, owners: &'static str) -> Scene {
        let namespaces = ["a", "z"].map(|end| format!("{end}-{owners}-{}", cluster.namespace));
        for namespace in &namespaces {
            let object =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let made = cluster.request(Method::POST, "/api/v1/namespaces", JSON, &object);
            made.await.expect("create a namespace");
        }
        // A control plane has them from its start.
        if cluster.as_simulated().is_some() {
            for (_, crd) in crds() {
                let crd = serde_json::from_str(&crd).expect("a CRD");
                let installed = cluster.request(Method::POST, CRDS, JSON, &crd).await;
                installed.expect("install the CRD");
            }
        }
        let scene = Scene {
            name: format!("web-{}", cluster.namespace),
            cluster,
            owners,
            namespaces,
        };
        let served = |list: &Value| list["items"].is_array();
        let all = format!("/apis/scope.example.com/v1/{owners}");
        scene
            .cluster
            .until_at("the kind is served", &all, served)
            .await;
        scene
    }

    fn is_namespaced(&self) -> bool {
        self.owners == "rooms"
    }

    pub fn owner_path(&self, name: &str) -> String {
        match self.is_namespaced() {
            true => format!(
                "/apis/scope.example.com/v1/namespaces/{}/rooms/{name}",
                self.cluster.namespace
            ),
            false => format!("/apis/scope.example.com/v1/teams/{name}"),
        }
    }

    /// A ConfigMap in one of the two namespaces.
    pub fn map(&self, place: usize) -> String {
        format!(
            "/api/v1/namespaces/{}/configmaps/{}",
            self.namespaces[place], self.name
        )
    }

    pub fn role(&self) -> String {
        let namespace = match self.is_namespaced() {
            true => &*self.cluster.namespace,
            false => "",
        };
        format!(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/{namespace}{}",
            self.name
        )
    }

    /// Starts the operator; it takes this scene's owners alone.
    pub async fn operate(&self) -> Running {
        let (mode, timeout) = (self.cluster.mode, self.cluster.timeout);
        let client = match self.cluster.as_simulated() {
            Some(simulated) => simulated.server.client("tare"),
            None => self.cluster.client.clone(),
        };
        let config = Config {
            selector: Some(format!("scene={}", self.cluster.namespace)),
            ..config()
        };
        let running = match self.is_namespaced() {
            true => Running::start(Rooms::<true>, mode, timeout, client, config),
            false => Running::start(Teams, mode, timeout, client, config),
        };
        running.until_ready().await;
        running
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> Value {
        let kind = match method {
            Method::PATCH => MERGE,
            _ => JSON,
        };
        let sent = self
            .cluster
            .request(method.clone(), path, kind, &body)
            .await;
        sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub async fn create(&self, name: &str, spec: Value) -> Value {
        let kind = match self.is_namespaced() {
            true => "Room",
            false => "Team",
        };
        let object = json!({
            "apiVersion": "scope.example.com/v1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "labels": {"scene": self.cluster.namespace}},
        });
        let path = self.owner_path("");
        self.send(Method::POST, path.trim_end_matches('/'), object)
            .await
    }

    pub async fn change(&self, spec: Value) {
        let path = self.owner_path(&self.name);
        self.send(Method::PATCH, &path, json!({"spec": spec})).await;
    }

    pub async fn delete(&self, path: &str) {
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        self.send(Method::DELETE, path, options).await;
    }

    pub async fn until_gone(&self, path: &str) {
        let gone = Value::is_null;
        self.cluster
            .until_at(&format!("{path} is gone"), path, gone)
            .await;
    }

    pub async fn until_colour(&self, path: &str, colour: &str) -> Value {
        let has = |object: &Value| {
            object["data"]["colour"] == colour || object["rules"][0]["apiGroups"][0] == colour
        };
        self.cluster
            .until_at(&format!("{path} is {colour}"), path, has)
            .await
    }

    /// Waits until the owner is ready and `count` children were seen.
    pub async fn until_seen(&self, count: usize) -> Value {
        let path = self.owner_path(&self.name);
        let what = format!("{count} children are seen");
        let has_seen = |object: &Value| {
            object["status"]["seen"] == count
                && condition(object, "Ready")["status"] == "True"
                && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        };
        self.cluster.until_at(&what, &path, has_seen).await
    }

    pub async fn until_failed(&self, name: &str, reason: &str) -> String {
        let failed = |object: &Value| condition(object, "Ready")["reason"] == reason;
        let path = self.owner_path(name);
        let object = self.cluster.until_at(reason, &path, failed).await;
        text(condition(&object, "Ready"), "/message")
    }

    /// How a child says whose it is.
    pub fn assert_is_of(&self, child: &Value, owner: &Value) {
        let uid = text(owner, "/metadata/uid");
        let labels = &child["metadata"]["labels"];
        assert_eq!(labels["scope.example.com/owner"], *self.name);
        if self.is_namespaced() {
            assert_eq!(
                labels["scope.example.com/owner-namespace"],
                *self.cluster.namespace
            );
            assert_eq!(uid_in(labels), uid);
            assert!(child["metadata"]["ownerReferences"].is_null(), "{child}");
        } else {
            assert_eq!(text(child, "/metadata/ownerReferences/0/uid"), uid);
            assert_eq!(child["metadata"]["ownerReferences"][0]["controller"], true);
        }
    }
}

/// The uid of the owner in the labels of a child; empty where there is none.
pub fn uid_in(labels: &Value) -> &str {
    let sealed = labels["scope.example.com/owner-uid"].as_str();
    sealed
        .unwrap_or_default()
        .split('.')
        .next()
        .unwrap_or_default()
}

/// Children elsewhere come, are set back, leave the plan, collide and go as those in the owner's namespace do.
async fn as_at_home(scene: Scene) {
    let [first, second] = &scene.namespaces;
    let (role, maps) = (scene.role(), [scene.map(0), scene.map(1)]);
    let operator = scene.operate().await;
    let owner = scene
        .create(
            &scene.name,
            json!({"colour": "blue", "namespaces": [first, second]}),
        )
        .await;
    for path in [&maps[0], &maps[1], &role] {
        let child = scene.until_colour(path, "blue").await;
        scene.assert_is_of(&child, &owner);
    }
    scene.until_seen(3).await;
    // Drift, long after the owner was idle.
    for path in [&maps[0], &maps[1]] {
        rest(&scene.cluster).await;
        scene
            .send(Method::PATCH, path, json!({"data": {"colour": "grey"}}))
            .await;
        scene.until_colour(path, "blue").await;
    }
    for path in [&maps[1], &role] {
        rest(&scene.cluster).await;
        scene.delete(path).await;
        scene.until_colour(path, "blue").await;
    }
    // A change, and one that leaves the plan.
    scene
        .change(json!({"colour": "red", "namespaces": [second]}))
        .await;
    scene.until_gone(&maps[0]).await;
    for path in [&maps[1], &role] {
        scene.until_colour(path, "red").await;
    }
    scene.until_seen(2).await;
    // Somebody else's object of that name.
    let foreign = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": scene.name}, "data": {"colour": "grey"},
    });
    let (there, _) = maps[0].rsplit_once('/').expect("a path");
    scene.send(Method::POST, there, foreign).await;
    scene.change(json!({"namespaces": [first, second]})).await;
    let told = scene.until_failed(&scene.name, "Collision").await;
    assert!(told.contains(&format!("{first}/{}", scene.name)), "{told}");
    scene.until_colour(&maps[0], "grey").await;
    scene.delete(&maps[0]).await;
    scene.until_colour(&maps[0], "red").await;
    scene.until_seen(3).await;
    // What happens while no operator runs.
    operator.kill().await;
    scene
        .send(Method::PATCH, &maps[0], json!({"data": {"colour": "grey"}}))
        .await;
    scene.delete(&role).await;
    let operator = scene.operate().await;
    scene.until_colour(&maps[0], "red").await;
    scene.until_colour(&role, "red").await;
    operator.kill().await;
    scene
        .change(json!({"colour": "green", "namespaces": [first]}))
        .await;
    let operator = scene.operate().await;
    scene.until_gone(&maps[1]).await;
    scene.until_colour(&maps[0], "green").await;
    scene.until_seen(2).await;
    // The end, and a new owner of the same name.
    let owner = scene.owner_path(&scene.name);
    scene.delete(&owner).await;
    let spec = json!({"colour": "blue", "namespaces": [first, second]});
    for path in [&maps[0], &role, &owner] {
        scene.until_gone(path).await;
    }
    let again = scene.create(&scene.name, spec).await;
    for path in [&maps[0], &maps[1], &role] {
        let child = scene.until_colour(path, "blue").await;
        scene.assert_is_of(&child, &again);
    }
    scene.until_seen(3).await;
    if scene.cluster.as_simulated().is_some() {
        scene.cluster.assert_stays_idle(&["tare"]).await;
    }
    scene.delete(&owner).await;
    for path in [&maps[0], &maps[1], &role, &owner] {
        scene.until_gone(path).await;
    }
    operator.stop().await;
}

pub async fn an_owner_without_a_namespace_has_children_in_any(cluster: Cluster) {
    as_at_home(Scene::new(cluster, "teams").await).await;
}

pub async fn children_elsewhere_are_found_by_label_and_go_under_the_finalizer(cluster: Cluster) {
    as_at_home(Scene::new(cluster, "rooms").await).await;
}
