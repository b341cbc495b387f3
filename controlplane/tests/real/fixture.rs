//! What the tests work with: a folder of their own, requests, and waiting until something holds.

use std::path::PathBuf;
use std::time::Duration;

use controlplane::Options;
use http::{Method, Request};
use kube::Client;
use libtest_mimic::Failed;
use serde_json::{Value, json};

/// Garbage collection of a kind that is new to it takes the server up to 30 s.
pub const DEADLINE: Duration = Duration::from_secs(60);
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Removed with everything in it when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tare-cp-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    pub fn options(&self) -> Options {
        Options {
            dir: self.0.join("run"),
            logs: self.0.join("logs/test"),
            ..Options::default()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A user's requests.
pub struct Caller(pub Client);

impl Caller {
    pub async fn get(&self, path: &str) -> kube::Result<Value> {
        self.ask(Method::GET, path, Value::Null).await
    }

    pub async fn post(&self, path: &str, object: Value) -> kube::Result<Value> {
        self.ask(Method::POST, path, object).await
    }

    pub async fn merge(&self, path: &str, patch: Value) -> kube::Result<Value> {
        self.ask(Method::PATCH, path, patch).await
    }

    pub async fn delete(&self, path: &str) -> kube::Result<Value> {
        let options = json!({ "propagationPolicy": "Background" });
        self.ask(Method::DELETE, path, options).await
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> kube::Result<Value> {
        let content = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content)
            .body(body)
            .map_err(kube::Error::HttpError)?;
        self.0.request(request).await
    }

    /// Asks until what is there is what is wanted; the last answer is part of the failure.
    pub async fn until(
        &self,
        path: &str,
        holds: impl Fn(&kube::Result<Value>) -> bool,
    ) -> Result<Value, Failed> {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        loop {
            let answer = self.get(path).await;
            if holds(&answer) {
                return Ok(answer.unwrap_or_default());
            }
            if tokio::time::Instant::now() > deadline {
                return Err(format!("{path} stayed {answer:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The status of a refusal, or 0.
pub fn code<T>(answer: &kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        _ => 0,
    }
}

pub fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

pub fn text(object: &Value, pointer: &str) -> String {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
