//! The user of a scenario: creates, changes and deletes objects of one namespace, and waits for them.
//!
//! Guarantees: a request that fails names its path; a wait ends by a deadline and says what it waited for and
//! what was there instead.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::objects::{condition, edgeapp, is_running};

/// The longest wait for one condition on a real cluster: the garbage collector needs 30 s to discover a new kind.
pub const TIMEOUT: Duration = Duration::from_secs(90);

pub const MERGE: &str = "application/merge-patch+json";
pub const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub const JSON: &str = "application/json";

/// Works in one namespace, with every permission.
#[derive(Clone)]
pub struct User {
    pub namespace: String,
    pub client: Client,
    /// The longest wait for one condition.
    pub timeout: Duration,
}

impl User {
    pub fn path(&self, resource: &str, name: &str) -> String {
        let group = match resource {
            "edgeapps" => "/apis/tare.dev/v1alpha1",
            "deployments" | "replicasets" | "statefulsets" => "/apis/apps/v1",
            "webapps" | "myservices" | "echoes" | "tenants" | "fragiles" | "caches"
            | "certificates" | "issuers" | "externalsecrets" => "/apis/example.com/v1",
            "widgets" => "/apis/contract.tare.dev/v1",
            "poddisruptionbudgets" => "/apis/policy/v1",
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

    /// Sends one request as the user.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        send(&self.client, method, path, content_type, body).await
    }

    /// Creates an object of any kind; returns it as the server stored it.
    pub async fn make(&self, resource: &str, object: Value) -> Value {
        let path = self.path(resource, "");
        let made = self.request(Method::POST, &path, JSON, &object);
        made.await
            .unwrap_or_else(|error| panic!("create {resource} {object}: {error}"))
    }

    /// Creates an EdgeApp.
    pub async fn create(&self, name: &str, spec: Value) -> Value {
        self.make("edgeapps", edgeapp(name, spec)).await
    }

    /// Creates EdgeApps all at once.
    pub async fn create_all(&self, names: &[String], spec: Value) {
        let created = names.iter().map(|name| self.create(name, spec.clone()));
        futures::future::join_all(created).await;
    }

    /// Merges `patch` into an object.
    pub async fn patch(&self, resource: &str, name: &str, patch: Value) -> Value {
        self.patch_with(resource, name, MERGE, patch).await
    }

    /// Patches an object by a patch of this content type.
    pub async fn patch_with(&self, resource: &str, name: &str, kind: &str, patch: Value) -> Value {
        let path = self.path(resource, name);
        let patched = self.request(Method::PATCH, &path, kind, &patch);
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
        let deleted = self.request(Method::DELETE, &path, JSON, &options);
        deleted
            .await
            .unwrap_or_else(|error| panic!("delete {resource} {name}: {error}"));
    }

    /// An object, or `null` where there is none.
    pub async fn get(&self, resource: &str, name: &str) -> Value {
        self.get_at(&self.path(resource, name)).await
    }

    async fn get_at(&self, path: &str) -> Value {
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.request(Method::GET, path, JSON, &Value::Null).await {
                Ok(object) => return object,
                Err(kube::Error::Api(status)) if status.code == 404 => return Value::Null,
                // "storage is (re)initializing": a server that has just started.
                Err(kube::Error::Api(status))
                    if status.code == 429 && Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => panic!("get {path}: {error}"),
            }
        }
    }

    /// All objects of a kind in the namespace.
    pub async fn all(&self, resource: &str) -> Vec<Value> {
        let list = self.get(resource, "").await;
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until the object `name` (without a name: the list) is as `holds` wants; returns it.
    pub async fn until(
        &self,
        what: &str,
        resource: &str,
        name: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until_at(what, &self.path(resource, name), holds).await
    }

    /// The same for any path of the API.
    pub async fn until_at(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + self.timeout;
        loop {
            let object = self.get_at(path).await;
            if holds(&object) {
                return object;
            }
            assert!(
                Instant::now() < deadline,
                "timeout while waiting until {what}; {path} is {object}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn until_gone(&self, resource: &str, name: &str) {
        let what = format!("{resource} {name} is gone");
        self.until(&what, resource, name, Value::is_null).await;
    }

    /// Waits until there is one of that name; returns it.
    pub async fn until_there(&self, resource: &str, name: &str) -> Value {
        let what = format!("{resource} {name} is there");
        let is_there = |object: &Value| !object.is_null();
        self.until(&what, resource, name, is_there).await
    }

    /// Waits until the EdgeApp is Running and its newest spec is observed.
    pub async fn until_running(&self, name: &str) -> Value {
        let what = format!("{name} is Running");
        self.until(&what, "edgeapps", name, is_running).await
    }

    pub async fn until_all_running(&self, count: usize) -> Vec<Value> {
        let what = format!("{count} EdgeApps are Running");
        let list = self.until(&what, "edgeapps", "", |list| {
            let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
            items.len() == count && items.iter().all(is_running)
        });
        list.await["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until the EdgeApp is Degraded for this reason; returns it.
    pub async fn until_degraded(&self, name: &str, reason: &str) -> Value {
        let degraded = |object: &Value| {
            let found = condition(object, "Degraded");
            found["status"] == "True" && found["reason"] == reason
        };
        let what = format!("{name} is Degraded: {reason}");
        self.until(&what, "edgeapps", name, degraded).await
    }
}

/// Sends one request and decodes its answer.
pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let body = match body {
        Value::Null => Vec::new(),
        some => some.to_string().into_bytes(),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, content_type)
        .body(body)
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}
