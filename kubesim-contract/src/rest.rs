//! Raw requests: paths, queries, JSON. A typed client would hide fields that the cases compare.

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Method, Request};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::{Value, json};

use crate::Context;
use crate::expect::{Check, Expect, Failure, eventually};

pub(crate) type Answer = Result<Value, kube::Error>;

/// Content types of patches.
#[derive(Clone, Copy)]
pub(crate) enum Patch {
    Merge,
    Json,
    Apply,
    Strategic,
}

/// Metadata only, by `Accept`.
pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(crate) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const JSON: &str = "application/json";

/// One collection of one kind. A name may be followed by a subresource: `web/status`.
#[derive(Clone)]
pub(crate) struct Collection {
    client: Client,
    path: String,
}

impl Context {
    /// Of the server: 37 for Kubernetes 1.37.
    pub(crate) async fn minor_version(&self) -> Result<u32, Failure> {
        let version = self.client.apiserver_version().await;
        let minor = version.succeeds("asking for the version")?.minor;
        // Some distributions write `36+`.
        let number = minor.trim_end_matches('+').parse();
        number.map_err(|_| Failure::new("the minor version", "a number", minor))
    }

    pub(crate) fn widgets(&self) -> Collection {
        self.widgets_in(&self.namespace)
    }

    pub(crate) fn widgets_in(&self, namespace: &str) -> Collection {
        self.at(&format!(
            "/apis/contract.tare.dev/v1/namespaces/{namespace}/widgets"
        ))
    }

    pub(crate) fn all_widgets(&self) -> Collection {
        self.at("/apis/contract.tare.dev/v1/widgets")
    }

    pub(crate) fn config_maps(&self) -> Collection {
        self.at(&format!("/api/v1/namespaces/{}/configmaps", self.namespace))
    }

    pub(crate) fn services(&self) -> Collection {
        self.at(&format!("/api/v1/namespaces/{}/services", self.namespace))
    }

    pub(crate) fn events(&self) -> Collection {
        self.at(&format!("/api/v1/namespaces/{}/events", self.namespace))
    }

    pub(crate) fn namespaces(&self) -> Collection {
        self.at("/api/v1/namespaces")
    }

    pub(crate) fn deployments(&self) -> Collection {
        let namespace = &self.namespace;
        self.at(&format!("/apis/apps/v1/namespaces/{namespace}/deployments"))
    }

    pub(crate) fn leases(&self) -> Collection {
        let namespace = &self.namespace;
        self.at(&format!(
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        ))
    }

    pub(crate) fn at(&self, path: &str) -> Collection {
        Collection::new(&self.client, path)
    }

    pub(crate) async fn compact(&self) -> Check {
        let Some(compact) = &self.compact else {
            return Err(Failure::new("compaction", "a way to do it", "none"));
        };
        let done = compact().await;
        done.map_err(|error| Failure::new("compaction", "success", error))?;
        // A server that was restarted to compact reports ready before its caches are filled; until then
        // it answers watches with 429.
        let widgets = self.widgets();
        eventually("widgets can be watched again", || async {
            match widgets.watch("resourceVersion=0&timeoutSeconds=1").await {
                Err(kube::Error::Api(status)) if status.code == 429 => Ok(false),
                started => started.succeeds("watching").map(|_| true),
            }
        })
        .await
    }
}

impl Collection {
    pub(crate) fn new(client: &Client, path: &str) -> Collection {
        Collection {
            client: client.clone(),
            path: path.to_owned(),
        }
    }

    pub(crate) async fn create(&self, body: Value) -> Answer {
        self.create_with("", body).await
    }

    pub(crate) async fn create_with(&self, query: &str, body: Value) -> Answer {
        self.send(Method::POST, "", query, JSON, &body).await
    }

    pub(crate) async fn create_raw(&self, body: Vec<u8>) -> Answer {
        let request = self.request(Method::POST, "", "", JSON, body)?;
        self.client.request(request).await
    }

    pub(crate) async fn get(&self, name: &str) -> Answer {
        self.get_as(name, "", JSON).await
    }

    pub(crate) async fn get_as(&self, name: &str, query: &str, accept: &str) -> Answer {
        let mut request = self.request(Method::GET, name, query, JSON, Vec::new())?;
        accepting(&mut request, accept);
        self.client.request(request).await
    }

    pub(crate) async fn update(&self, name: &str, body: &Value) -> Answer {
        self.send(Method::PUT, name, "", JSON, body).await
    }

    pub(crate) async fn patch(&self, name: &str, kind: Patch, body: Value) -> Answer {
        self.patch_with(name, "", kind, body).await
    }

    pub(crate) async fn patch_with(
        &self,
        name: &str,
        query: &str,
        kind: Patch,
        body: Value,
    ) -> Answer {
        let content_type = match kind {
            Patch::Merge => "application/merge-patch+json",
            Patch::Json => "application/json-patch+json",
            Patch::Apply => "application/apply-patch+yaml",
            Patch::Strategic => "application/strategic-merge-patch+json",
        };
        self.send(Method::PATCH, name, query, content_type, &body)
            .await
    }

    /// Server-side apply by a field manager.
    pub(crate) async fn apply(&self, name: &str, manager: &str, body: Value) -> Answer {
        let query = format!("fieldManager={manager}");
        self.patch_with(name, &query, Patch::Apply, body).await
    }

    pub(crate) async fn delete(&self, name: &str) -> Answer {
        self.delete_with(name, json!({})).await
    }

    /// With `DeleteOptions`, such as preconditions or a propagation policy.
    pub(crate) async fn delete_with(&self, name: &str, mut options: Value) -> Answer {
        options["kind"] = "DeleteOptions".into();
        options["apiVersion"] = "v1".into();
        self.send(Method::DELETE, name, "", JSON, &options).await
    }

    pub(crate) async fn delete_all(&self, query: &str) -> Answer {
        let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1" });
        self.send(Method::DELETE, "", query, JSON, &options).await
    }

    pub(crate) async fn list(&self, query: &str) -> Answer {
        self.get_as("", query, JSON).await
    }

    pub(crate) async fn exists(&self, name: &str) -> Result<bool, Failure> {
        match self.get(name).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
            got => got.succeeds(&format!("reading {name}")).map(|_| true),
        }
    }

    pub(crate) async fn watch(&self, query: &str) -> Result<Watch, kube::Error> {
        self.watch_as(query, JSON).await
    }

    pub(crate) async fn watch_as(&self, query: &str, accept: &str) -> Result<Watch, kube::Error> {
        let query = format!("watch=true&{query}");
        let mut request = self.request(Method::GET, "", &query, JSON, Vec::new())?;
        accepting(&mut request, accept);
        let events = self.client.request_events::<Value>(request).await?;
        Ok(Watch {
            events: events.boxed(),
        })
    }

    async fn send(
        &self,
        method: Method,
        name: &str,
        query: &str,
        content_type: &str,
        body: &Value,
    ) -> Answer {
        let body = body.to_string().into_bytes();
        let request = self.request(method, name, query, content_type, body)?;
        self.client.request(request).await
    }

    fn request(
        &self,
        method: Method,
        name: &str,
        query: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Request<Vec<u8>>, kube::Error> {
        let slash = if name.is_empty() { "" } else { "/" };
        Request::builder()
            .method(method)
            .uri(format!("{}{slash}{name}?{query}", self.path))
            .header(http::header::CONTENT_TYPE, content_type)
            .body(body)
            .map_err(kube::Error::HttpError)
    }
}

fn accepting(request: &mut Request<Vec<u8>>, accept: &str) {
    if let Ok(value) = http::HeaderValue::from_str(accept) {
        request.headers_mut().insert(http::header::ACCEPT, value);
    }
}

/// A running watch.
pub(crate) struct Watch {
    events: BoxStream<'static, Result<WatchEvent<Value>, kube::Error>>,
}

/// An event as it is sent.
#[derive(Debug)]
pub(crate) struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub(crate) kind: &'static str,
    pub(crate) object: Value,
}

impl Watch {
    /// The next event; `None` when the server has ended the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
        let event = match tokio::time::timeout(TIMEOUT, self.events.next()).await {
            Ok(event) => event.transpose().succeeds("watching")?,
            Err(_) => return Err(Failure::new("watching", "an event", "none in 30 s")),
        };
        let decoded =
            |error: serde_json::Error| Failure::new("an event", "JSON", error.to_string());
        Ok(match event {
            None => None,
            Some(event) => Some(match event {
                WatchEvent::Added(object) => Event::new("ADDED", object),
                WatchEvent::Modified(object) => Event::new("MODIFIED", object),
                WatchEvent::Deleted(object) => Event::new("DELETED", object),
                WatchEvent::Bookmark(mark) => {
                    Event::new("BOOKMARK", serde_json::to_value(mark).map_err(decoded)?)
                }
                WatchEvent::Error(status) => {
                    Event::new("ERROR", serde_json::to_value(status).map_err(decoded)?)
                }
            }),
        })
    }

    /// The next event about an object; bookmarks may come at any time.
    pub(crate) async fn change(&mut self) -> Result<Event, Failure> {
        loop {
            match self.next().await? {
                Some(event) if event.kind == "BOOKMARK" => {}
                Some(event) => return Ok(event),
                None => return Err(Failure::new("watching", "an event", "the end")),
            }
        }
    }

    /// Checks kind and object name of the next event; returns the object.
    pub(crate) async fn expect(&mut self, kind: &str, name: &str) -> Result<Value, Failure> {
        let event = self.change().await?;
        let got = crate::expect::text(&event.object, "/metadata/name");
        if event.kind == kind && got == name {
            return Ok(event.object);
        }
        Err(Failure::new(
            "the next event",
            format!("{kind} {name}"),
            format!("{} {got}", event.kind),
        ))
    }
}

impl Event {
    fn new(kind: &'static str, object: Value) -> Event {
        Event { kind, object }
    }
}
