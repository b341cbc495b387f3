//! A server with ConfigMaps, and a record of what was reconciled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kubesim::{Options, RequestFault, Server};
use serde_json::{Value, json};
use tokio::time::sleep;

/// The server, and clients of it for a user and for the controller.
pub struct World {
    pub server: Server,
    /// ConfigMaps as the user has them.
    pub maps: Api<ConfigMap>,
}

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";

impl World {
    /// An empty server.
    pub fn new() -> World {
        let server = Server::new(Options::default());
        let maps = Api::namespaced(server.client("user"), NAMESPACE);
        World { server, maps }
    }

    /// What the controller works with.
    pub fn client(&self) -> kube::Client {
        self.server.client("controller")
    }

    /// Creates a ConfigMap with `v`, and with an owner reference to `owner`.
    pub async fn create(&self, name: &str, v: &str, owner: Option<&ConfigMap>) {
        let owners = owner.map(|owner| {
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "controller": true,
                "name": owner.metadata.name, "uid": owner.metadata.uid}])
        });
        let map = json!({
            "metadata": {"name": name, "labels": {"of": name}, "ownerReferences": owners},
            "data": {"v": v},
        });
        let map = serde_json::from_value(map).expect("a ConfigMap");
        let created = self.maps.create(&PostParams::default(), &map).await;
        created.expect("it is created");
    }

    /// Sets `v`.
    pub async fn edit(&self, name: &str, v: &str) {
        self.patch(name, json!({"data": {"v": v}})).await;
    }

    pub async fn patch(&self, name: &str, patch: Value) {
        let params = PatchParams::default();
        let patched = self.maps.patch(name, &params, &Patch::Merge(patch)).await;
        patched.expect("it is patched");
    }

    pub async fn delete(&self, name: &str) {
        let deleted = self.maps.delete(name, &DeleteParams::default()).await;
        deleted.expect("it is deleted");
    }

    /// What happens meanwhile is shown by no watch, and found by none that begins where it was.
    pub async fn lose_history(&self, meanwhile: impl Future<Output = ()>) {
        self.server
            .faults()
            .on_request(|request| match request.verb {
                "watch" => RequestFault::Status {
                    code: 503,
                    reason: "ServiceUnavailable".to_owned(),
                    message: "on purpose".to_owned(),
                    retry_after_s: None,
                },
                _ => RequestFault::Pass,
            });
        self.server.close_watches();
        seconds(1).await;
        meanwhile.await;
        self.server.compact();
        self.server.faults().clear();
    }

    /// The ConfigMap, if it is there.
    pub async fn get(&self, name: &str) -> Option<ConfigMap> {
        self.maps.get_opt(name).await.expect("the server answers")
    }
}

/// What reconciles saw: names with the `v` of each, in order.
#[derive(Default)]
pub struct Reconciled {
    all: Mutex<Vec<(String, String)>>,
    working: Mutex<BTreeSet<String>>,
    /// How many ran at once, at most.
    most: Mutex<usize>,
}

impl Reconciled {
    /// A reconcile of `map` that takes `lasts`. Fails the test where the object has two at once.
    pub async fn reconcile(&self, map: &ConfigMap, lasts: Duration) {
        let name = map.metadata.name.clone().unwrap_or_default();
        let data = map.data.clone().unwrap_or_default();
        let v = data.get("v").cloned().unwrap_or_default();
        self.all.lock().expect("no panic").push((name.clone(), v));
        {
            let mut working = self.working.lock().expect("no panic");
            assert!(working.insert(name.clone()), "{name} has two reconciles");
            let mut most = self.most.lock().expect("no panic");
            *most = working.len().max(*most);
        }
        sleep(lasts).await;
        self.working.lock().expect("no panic").remove(&name);
    }

    /// How often each object was reconciled.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (name, _) in self.all.lock().expect("no panic").iter() {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    }

    pub fn count(&self, name: &str) -> usize {
        self.counts().get(name).copied().unwrap_or_default()
    }

    /// The `v` of each reconcile of an object.
    pub fn versions(&self, name: &str) -> Vec<String> {
        let all = self.all.lock().expect("no panic");
        let of_name = all.iter().filter(|(other, _)| other == name);
        of_name.map(|(_, v)| v.clone()).collect()
    }

    pub fn most_at_once(&self) -> usize {
        *self.most.lock().expect("no panic")
    }
}

/// Seconds of the server's time.
pub async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

/// What went wrong in a reconcile of a test.
#[derive(Debug, thiserror::Error)]
#[error("on purpose")]
pub struct OnPurpose;

/// A record that a controller and a test share.
pub fn record() -> Arc<Reconciled> {
    Arc::default()
}
