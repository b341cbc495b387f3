//! A namespace of its own on a real API server, and a person at it.
//!
//! Guarantees: nothing of a scenario reaches into another's namespace; a wait ends by a deadline
//! and says what was waited for, and what was there instead.
//! Leaves to others: the operator's process (`operator`), who asked what (`audit`).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::account;
use crate::audit::{self, Asked};
use crate::site::Site;

/// The longest that anything may take: discovery of a new kind by the garbage collector is 30 s.
const PATIENCE: Duration = Duration::from_secs(90);

pub const MERGE: &str = "application/merge-patch+json";
pub const JSON: &str = "application/json";

/// Where a scenario takes place.
#[derive(Clone)]
pub struct World {
    pub namespace: String,
    pub site: Arc<Site>,
    /// Cache mode of the operators here.
    pub mode: &'static str,
    /// The service account of the operators here.
    account: String,
    /// Where the operator that was started first answers.
    admin: Arc<OnceLock<SocketAddr>>,
}

impl World {
    /// In a new namespace.
    pub async fn new(site: &Arc<Site>, mode: &'static str) -> World {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "generateName": "real-" },
        });
        let made = send(
            &site.client,
            Method::POST,
            "/api/v1/namespaces",
            JSON,
            &namespace,
        )
        .await
        .expect("create the namespace");
        World {
            namespace: text(&made, "/metadata/name"),
            site: Arc::clone(site),
            mode,
            account: account::SHIPPED.to_owned(),
            admin: Arc::default(),
        }
    }

    /// The same with operators under another account.
    pub fn under(mut self, account: &str) -> World {
        account.clone_into(&mut self.account);
        self
    }

    /// The account that operators here have unless another one is asked for.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The log of the operators under that account.
    pub fn log(&self) -> PathBuf {
        self.log_of(&self.account)
    }

    pub fn log_of(&self, user: &str) -> PathBuf {
        let file = format!("{}-{user}.log", self.namespace);
        self.site.logs.join(file)
    }

    /// Where the operator that was started first answers, if there was one.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin.get().copied()
    }

    pub fn started_at(&self, admin: SocketAddr) {
        self.admin.get_or_init(|| admin);
    }

    pub fn path(&self, resource: &str, name: &str) -> String {
        let group = match resource {
            "edgeapps" => "/apis/tare.dev/v1alpha1",
            "deployments" | "replicasets" => "/apis/apps/v1",
            "webapps" | "myservices" | "echoes" => "/apis/example.com/v1",
            "inferenceservices" => "/apis/ai.example.com/v1",
            "roles" | "rolebindings" => "/apis/rbac.authorization.k8s.io/v1",
            _ => "/api/v1",
        };
        let slash = if name.is_empty() { "" } else { "/" };
        format!(
            "{group}/namespaces/{}/{resource}{slash}{name}",
            self.namespace
        )
    }

    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        send(&self.site.client, method, path, kind, body).await
    }

    /// Creates an object of any kind; gives what the server made of it.
    pub async fn make(&self, resource: &str, object: Value) -> Value {
        let path = self.path(resource, "");
        let made = self.ask(Method::POST, &path, JSON, &object);
        made.await
            .unwrap_or_else(|error| panic!("create {resource} {object}: {error}"))
    }

    /// Creates an EdgeApp as a user would.
    pub async fn create(&self, name: &str, spec: Value) -> Value {
        self.make("edgeapps", edgeapp(name, spec)).await
    }

    pub async fn patch(&self, resource: &str, name: &str, patch: Value) -> Value {
        let path = self.path(resource, name);
        let patched = self.ask(Method::PATCH, &path, MERGE, &patch);
        patched
            .await
            .unwrap_or_else(|error| panic!("patch {resource} {name}: {error}"))
    }

    /// Merges `spec` into the spec of an EdgeApp.
    pub async fn change(&self, name: &str, spec: Value) {
        self.patch("edgeapps", name, json!({ "spec": spec })).await;
    }

    pub async fn delete(&self, resource: &str, name: &str) {
        self.delete_with(resource, name, "Background").await;
    }

    pub async fn delete_with(&self, resource: &str, name: &str, propagation: &str) {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation,
        });
        let path = self.path(resource, name);
        let deleted = self.ask(Method::DELETE, &path, JSON, &options);
        deleted
            .await
            .unwrap_or_else(|error| panic!("delete {resource} {name}: {error}"));
    }

    /// An object, or `null` where there is none.
    pub async fn get(&self, resource: &str, name: &str) -> Value {
        self.get_at(&self.path(resource, name)).await
    }

    async fn get_at(&self, path: &str) -> Value {
        match self.ask(Method::GET, path, JSON, &Value::Null).await {
            Ok(object) => object,
            Err(kube::Error::Api(status)) if status.code == 404 => Value::Null,
            Err(error) => panic!("get {path}: {error}"),
        }
    }

    /// All objects of a kind in the namespace.
    pub async fn all(&self, resource: &str) -> Vec<Value> {
        let list = self.get(resource, "").await;
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until what is found at `name` is as wanted; gives it.
    pub async fn until(
        &self,
        what: &str,
        resource: &str,
        name: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until_at(what, &self.path(resource, name), holds).await
    }

    /// The same anywhere in the cluster.
    pub async fn until_at(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let object = self.get_at(path).await;
            if holds(&object) {
                return object;
            }
            assert!(
                Instant::now() < deadline,
                "never came true: {what}; {path} is {object}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn until_gone(&self, resource: &str, name: &str) {
        self.until("it is gone", resource, name, Value::is_null)
            .await;
    }

    /// Waits until the EdgeApp is Running and has seen its newest spec.
    pub async fn until_running(&self, name: &str) -> Value {
        self.until("it is Running", "edgeapps", name, is_running)
            .await
    }

    pub async fn until_all_running(&self, count: usize) -> Vec<Value> {
        let list = self
            .until("all are Running", "edgeapps", "", |list| {
                let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
                items.len() == count && items.iter().all(is_running)
            })
            .await;
        list["items"].as_array().cloned().unwrap_or_default()
    }

    pub async fn until_degraded(&self, name: &str, reason: &str) -> Value {
        let degraded = |object: &Value| {
            let found = condition(object, "Degraded");
            found["status"] == "True" && found["reason"] == reason
        };
        self.until("it is Degraded", "edgeapps", name, degraded)
            .await
    }

    /// What a user has asked for in this namespace so far, from the audit log.
    pub fn asked(&self, user: &str) -> Vec<Asked> {
        let user = self.site.username(user);
        audit::requests(&self.site.audit_log, &user, &self.namespace)
    }

    /// Waits until no user of these has written anything for three seconds.
    pub async fn until_quiet(&self, users: &[&str]) {
        const QUIET: Duration = Duration::from_secs(3);
        let deadline = Instant::now() + PATIENCE;
        let mut writes = self.writes(users);
        let mut since = Instant::now();
        while since.elapsed() < QUIET {
            assert!(Instant::now() < deadline, "{users:?} never stop writing");
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = self.writes(users);
            if now != writes {
                (writes, since) = (now, Instant::now());
            }
        }
    }

    fn writes(&self, users: &[&str]) -> usize {
        let of = |user: &&str| self.asked(user);
        users.iter().flat_map(of).filter(Asked::is_write).count()
    }

    /// Takes the finalizers off the EdgeApps of all other namespaces.
    pub async fn release_everywhere(&self) {
        let all = "/apis/tare.dev/v1alpha1/edgeapps";
        let deadline = Instant::now() + PATIENCE;
        let list = loop {
            match self.ask(Method::GET, all, JSON, &Value::Null).await {
                // A kind that is new is served a moment later.
                Err(kube::Error::Api(status))
                    if status.code == 429 && Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                list => break list.expect("list all EdgeApps"),
            }
        };
        let release = json!({ "metadata": { "finalizers": null } });
        for object in list["items"].as_array().into_iter().flatten() {
            let namespace = text(object, "/metadata/namespace");
            let name = text(object, "/metadata/name");
            if namespace != self.namespace {
                let path =
                    format!("/apis/tare.dev/v1alpha1/namespaces/{namespace}/edgeapps/{name}");
                let released = self.ask(Method::PATCH, &path, MERGE, &release).await;
                released.unwrap_or_else(|error| panic!("release {path}: {error}"));
            }
        }
    }

    /// Takes the EdgeApps away, with no operator at work any more. The namespace stays: it goes
    /// with the control plane, and its own end would be some sixty lists.
    pub async fn end(self) {
        let path = self.path("edgeapps", "");
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
        let deleted = self.ask(Method::DELETE, &path, JSON, &options).await;
        deleted.expect("delete what is left");
        let left = self.all("edgeapps").await;
        let release = json!({ "metadata": { "finalizers": null } });
        let released = left.iter().map(async |object| {
            let name = text(object, "/metadata/name");
            self.patch("edgeapps", &name, release.clone()).await;
        });
        futures::future::join_all(released).await;
    }
}

pub fn edgeapp(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "metadata": { "name": name }, "spec": spec,
    })
}

/// A spec with a headless Service and two variables.
pub fn web() -> Value {
    json!({
        "image": "registry.local/web:1", "port": 8080, "headless": true,
        "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
    })
}

pub fn is_running(object: &Value) -> bool {
    let observed = &object["status"]["observedGeneration"];
    object["status"]["phase"] == "Running" && *observed == object["metadata"]["generation"]
}

pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == kind);
    found.unwrap_or(&Value::Null)
}

/// The container of a Deployment.
pub fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

pub fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let body = match body {
        Value::Null => Vec::new(),
        some => some.to_string().into_bytes(),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, kind)
        .body(body)
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}
