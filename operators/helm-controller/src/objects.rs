//! Objects of any kind as JSON, by their paths.
//!
//! Guarantees: an object that is not there is `None` and no error; a write that finds what it wants sends nothing. Leaves to
//! others: what is written.

use http::{Method, Request, header};
use kube::Client;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::job::has;

/// Field manager of all writes.
pub const MANAGER: &str = "helm-controller";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
/// Lists as metadata alone.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The API server.
#[derive(Clone)]
pub struct Objects(pub Client);

/// The metadata of a list's items.
#[derive(Deserialize)]
struct List {
    /// `null` where there are none.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Value,
}

/// Kind, name and namespace of an object: what finds it.
pub fn like(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace},
    })
}

/// The collection of an object that has `apiVersion`, `kind` and perhaps a namespace.
fn collection(object: &Value) -> String {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if api_version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    // Every kind here has this plural.
    let plural = object["kind"].as_str().unwrap_or_default().to_lowercase() + "s";
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/{api_version}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{api_version}/{plural}"),
    }
}

fn path(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}/{name}", collection(object))
}

/// `None` where the server says that there is none.
fn found(answer: Result<Value, kube::Error>) -> Result<Option<Value>, kube::Error> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

impl Objects {
    async fn send(
        &self,
        method: Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let body = match body {
            Value::Null => Vec::new(),
            body => serde_json::to_vec(body).map_err(kube::Error::SerdeError)?,
        };
        let request = Request::builder().method(method).uri(path);
        let request = request.header(header::CONTENT_TYPE, content).body(body);
        self.0
            .request(request.map_err(kube::Error::HttpError)?)
            .await
    }

    /// The object with kind, name and namespace of `like`.
    pub async fn get(&self, like: &Value) -> Result<Option<Value>, kube::Error> {
        let path = path(like);
        let read = self.send(Method::GET, &path, "application/json", &Value::Null);
        found(read.await)
    }

    /// The metadata of objects: `/api/v1/secrets?labelSelector=…`.
    pub async fn metadata(&self, path: &str) -> Result<Vec<Value>, kube::Error> {
        let request = Request::get(path)
            .header(header::ACCEPT, METADATA)
            .body(Vec::new());
        let list: List = self
            .0
            .request(request.map_err(kube::Error::HttpError)?)
            .await?;
        let items = list.items.into_iter().flatten();
        Ok(items.map(|item| item.metadata).collect())
    }

    /// Creates it; `false` where it is there already.
    pub async fn create(&self, object: &Value) -> Result<bool, kube::Error> {
        let path = format!("{}?fieldManager={MANAGER}", collection(object));
        match self
            .send(Method::POST, &path, "application/json", object)
            .await
        {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Creates it, or makes what is there have all of it and no other keys in its data. `is_there`: it probably exists. Whether
    /// anything was written.
    pub async fn ensure(&self, wanted: &Value, is_there: bool) -> Result<bool, kube::Error> {
        if !is_there && self.create(wanted).await? {
            return Ok(true);
        }
        let Some(found) = self.get(wanted).await? else {
            return self.create(wanted).await;
        };
        let mut patch = wanted.clone();
        let data = found["data"].as_object().into_iter().flatten();
        let surplus = data.filter(|(key, _)| wanted["data"].get(key.as_str()).is_none());
        let surplus: Map<String, Value> =
            surplus.map(|(key, _)| (key.clone(), Value::Null)).collect();
        if has(&found, wanted) && surplus.is_empty() {
            return Ok(false);
        }
        if let Some(data) = patch["data"].as_object_mut() {
            data.extend(surplus);
        }
        patch["metadata"]["uid"] = found["metadata"]["uid"].clone();
        self.merge(wanted, "", &patch).await?;
        Ok(true)
    }

    /// Merges `patch` into an object, or, with `/status`, into that of it.
    pub async fn merge(&self, like: &Value, of: &str, patch: &Value) -> Result<(), kube::Error> {
        let path = format!("{}{of}?fieldManager={MANAGER}", path(like));
        self.send(Method::PATCH, &path, MERGE, patch)
            .await
            .map(|_| ())
    }

    /// Sets `spec.suspend` of a Job; `false` where it has that value, or where there is no Job.
    pub async fn suspend(&self, job: &Value, suspend: bool) -> Result<bool, kube::Error> {
        let patch = json!([
            {"op": "test", "path": "/spec/suspend", "value": !suspend},
            {"op": "replace", "path": "/spec/suspend", "value": suspend},
        ]);
        let path = format!("{}?fieldManager={MANAGER}", path(job));
        match self.send(Method::PATCH, &path, JSON_PATCH, &patch).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if [404, 422].contains(&status.code) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes it; one that is not there is a success.
    pub async fn delete(&self, object: &Value) -> Result<(), kube::Error> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        });
        let path = path(object);
        let deleted = self.send(Method::DELETE, &path, "application/json", &options);
        found(deleted.await).map(|_| ())
    }
}
