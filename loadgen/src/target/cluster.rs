//! One API server, as the harness talks to it: few verbs, lean answers, a deadline on each.
//!
//! Guarantees: no request outlives its deadline and none is retried in secret; a refusal keeps
//! the server's words. Leaves to others: what to send and when.

mod error;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::WatchEvent;
use kube::{Client, Config};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::record::request_counts::RequestCounts;
use crate::spec::workload::Resource;
pub use crate::target::cluster::error::Error;
use crate::target::proxy;

/// Longest wait for an answer; a watch has its own.
const ANSWER: Duration = Duration::from_secs(30);

/// Requests in flight at once: they keep a local server busy on a few cores, and stay below its in-flight limits.
pub const CONNECTIONS: usize = 24;

/// A connection pool to one server.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

/// What a write answers, as far as it matters.
#[derive(Debug, Clone, Deserialize)]
pub struct Ack {
    pub metadata: AckMeta,
}

#[derive(Debug, Clone, Deserialize)]
pub struct AckMeta {
    #[serde(default)]
    pub generation: i64,
}

impl Cluster {
    /// # Errors
    /// `Kubeconfig` or `Client`; the server is not asked yet.
    pub async fn connect(kubeconfig: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Kubeconfig {
            path: kubeconfig.to_owned(),
            source,
        };
        let file = Kubeconfig::read_from(kubeconfig).map_err(failed)?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(file.clone(), &options).await;
        let mut config = config.map_err(failed)?;
        proxy::choose(&mut config, &file, None).map_err(Error::Proxy)?;
        Self::of(config)
    }

    /// # Errors
    /// `Client`; the server is not asked yet.
    pub fn of(mut config: Config) -> Result<Self, Error> {
        config.default_retry = false;
        // The watch may be silent for as long as nothing happens; plain requests have ANSWER.
        config.read_timeout = None;
        Ok(Self {
            client: Client::try_from(config).map_err(Error::Client)?,
        })
    }

    /// A simulated server in this process.
    pub fn simulated(server: &kubesim::Server, user: &str) -> Self {
        Self {
            client: server.client(user),
        }
    }

    /// Whether the server serves this kind.
    ///
    /// # Errors
    /// `Request` or `Silent`.
    pub async fn serves(&self, resource: &Resource) -> Result<bool, Error> {
        let path = format!("{}?limit=1", resource.path());
        Ok(self.find::<IgnoredAny>(&path).await?.is_some())
    }

    /// `gitVersion` of the server.
    ///
    /// # Errors
    /// `Request` or `Silent`.
    pub async fn version(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            git_version: String,
        }
        let version: Version = self.get("/version").await?;
        Ok(version.git_version)
    }

    /// Makes a namespace, or finds it there.
    ///
    /// # Errors
    /// `Request` or `Silent`.
    pub async fn ensure_namespace(&self, name: &str) -> Result<(), Error> {
        self.make_namespace(name, &[]).await.map(drop)
    }

    /// Makes a namespace with these labels; false where there is one of that name.
    ///
    /// # Errors
    /// `Request` or `Silent`.
    pub async fn make_namespace(&self, name: &str, labels: &[(&str, &str)]) -> Result<bool, Error> {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let body = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
        });
        let made = self.ask::<Ack>(
            Method::POST,
            "/api/v1/namespaces",
            Some(JSON),
            body.to_string().into_bytes(),
        );
        match made.await {
            Err(error) if error.code() == Some(409) => Ok(false),
            // Whoever may not make one may use one that exists.
            Err(error) if error.code() == Some(403) && self.has_namespace(name).await => Ok(false),
            other => other.map(|_| true),
        }
    }

    async fn has_namespace(&self, name: &str) -> bool {
        let path = format!("/api/v1/namespaces/{name}");
        let asked = self.get::<IgnoredAny>(&path);
        asked.await.is_ok()
    }

    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn create(&self, resource: &Resource, object: Vec<u8>) -> Result<Ack, Error> {
        self.ask(Method::POST, &resource.path(), Some(JSON), object)
            .await
    }

    /// # Errors
    /// As for [`Cluster::create`].
    pub async fn merge(
        &self,
        resource: &Resource,
        name: &str,
        patch: Vec<u8>,
    ) -> Result<Ack, Error> {
        let path = format!("{}/{name}", resource.path());
        self.merge_at(&path, patch).await
    }

    /// The same for whatever is at a path.
    ///
    /// # Errors
    /// As for [`Cluster::create`].
    pub async fn merge_at(&self, path: &str, patch: Vec<u8>) -> Result<Ack, Error> {
        let content_type = Some(MERGE_PATCH);
        self.ask(Method::PATCH, path, content_type, patch).await
    }

    /// In the background, as `kubectl delete --wait=false` does.
    ///
    /// # Errors
    /// As for [`Cluster::create`].
    pub async fn delete(&self, resource: &Resource, name: &str) -> Result<(), Error> {
        self.delete_at(&format!("{}/{name}", resource.path())).await
    }

    /// The same for whatever is at a path.
    ///
    /// # Errors
    /// As for [`Cluster::create`].
    pub async fn delete_at(&self, path: &str) -> Result<(), Error> {
        let options =
            br#"{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"}"#;
        self.ask::<IgnoredAny>(Method::DELETE, path, Some(JSON), options.to_vec())
            .await
            .map(drop)
    }

    /// Deletes the object at `path` only if it is this very one, in the background; false when
    /// it is gone or another.
    ///
    /// # Errors
    /// As for [`Cluster::create`].
    pub async fn delete_this(&self, path: &str, uid: &str) -> Result<bool, Error> {
        let options = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        });
        let body = options.to_string().into_bytes();
        let deleted = self.ask::<IgnoredAny>(Method::DELETE, path, Some(JSON), body);
        match deleted.await {
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(false),
            other => other.map(|_| true),
        }
    }

    /// # Errors
    /// `Request` where the server keeps none.
    pub async fn request_counts(&self) -> Result<RequestCounts, Error> {
        self.get("/kubesim/requests").await
    }

    /// The revision that the datastore stands at: the resourceVersion of a list, which is that of the
    /// whole datastore and not of the objects in the list.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn revision(&self) -> Result<u64, Error> {
        let path = "/api/v1/namespaces?limit=1";
        let list: List<IgnoredAny> = self.get(path).await?;
        let version = serde_json::from_str(&list.metadata.resource_version);
        let failed = |error| Error::of(Method::GET, path, kube::Error::SerdeError(error));
        version.map_err(failed)
    }

    /// How many objects a collection has, counted up to `most`; `selector` ends in `&` unless it is empty.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn count(
        &self,
        collection: &str,
        selector: &str,
        most: usize,
    ) -> Result<usize, Error> {
        let path = format!("{collection}?{selector}limit={most}");
        let list: List<IgnoredAny> = self.get(&path).await?;
        Ok(list.items.len())
    }

    /// How many objects of a collection are `wanted`, counted up to `most`.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn count_those(
        &self,
        collection: &str,
        wanted: impl Fn(&Meta) -> bool,
        most: usize,
    ) -> Result<usize, Error> {
        let mut found = 0;
        let wanted = |item: &Of<Meta>| wanted(&item.metadata);
        self.pages(collection, "", |page: Vec<Of<Meta>>| {
            found += page.iter().filter(|item| wanted(item)).count();
            found < most
        })
        .await?;
        Ok(found.min(most))
    }

    /// # Errors
    /// As for [`Cluster::count`].
    pub async fn those(
        &self,
        collection: &str,
        wanted: impl Fn(&Meta) -> bool,
    ) -> Result<Vec<Meta>, Error> {
        let all: Vec<Of<Meta>> = self.all(collection, "").await?;
        let all = all.into_iter().map(|item| item.metadata);
        Ok(all.filter(wanted).collect())
    }

    /// Every object of a collection; `selector` ends in `&` unless it is empty.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn all<T: DeserializeOwned>(
        &self,
        collection: &str,
        selector: &str,
    ) -> Result<Vec<T>, Error> {
        let mut found = Vec::new();
        self.pages(collection, selector, |page| {
            found.extend(page);
            true
        })
        .await?;
        Ok(found)
    }

    /// Gives a collection to `take`, page by page, until there is no more or it says that it has enough. The version to watch
    /// from, of the last page that was read.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn pages<T: DeserializeOwned>(
        &self,
        collection: &str,
        selector: &str,
        mut take: impl FnMut(Vec<T>) -> bool,
    ) -> Result<String, Error> {
        let mut token = String::new();
        loop {
            let path = format!("{collection}?{selector}limit=500{token}");
            let page: List<T> = self.get(&path).await?;
            let goes_on = take(page.items);
            match page.metadata.token.filter(|token| !token.is_empty()) {
                Some(next) if goes_on => token = format!("&continue={next}"),
                _ => return Ok(page.metadata.resource_version),
            }
        }
    }

    /// The server's own metrics page.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn metrics(&self) -> Result<String, Error> {
        self.text("/metrics").await
    }

    /// What is at a path, as text.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn text(&self, path: &str) -> Result<String, Error> {
        let asked = request(Method::GET, path, None, vec![])?;
        answered(Method::GET, path, self.client.request_text(asked)).await
    }

    /// The events of a watch; one that is an error ends it.
    ///
    /// # Errors
    /// `Request` in the server's words.
    pub async fn events<T: DeserializeOwned + Clone + Send + 'static>(
        &self,
        path: &str,
    ) -> Result<BoxStream<'static, Result<WatchEvent<T>, Error>>, Error> {
        let asked = request(Method::GET, path, None, vec![])?;
        let events = self.client.request_events::<T>(asked).await;
        let events = events.map_err(|source| Error::of(Method::GET, path, source))?;
        let path = path.to_owned();
        let event = move |event| {
            let event = match event {
                Ok(WatchEvent::Error(status)) => Err(kube::Error::Api(status)),
                event => event,
            };
            event.map_err(|source| Error::of(Method::GET, &path, source))
        };
        Ok(events.map(event).boxed())
    }

    /// What is at a path, decoded.
    ///
    /// # Errors
    /// As for [`Self::ask`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.ask(Method::GET, path, None, vec![]).await
    }

    /// The same; `None` where nothing is there.
    ///
    /// # Errors
    /// As for [`Self::ask`].
    pub async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        match self.get(path).await {
            Err(error) if error.code() == Some(404) => Ok(None),
            found => found.map(Some),
        }
    }

    /// One request with a deadline, its answer decoded.
    ///
    /// # Errors
    /// `Request` in the server's words, or `Silent`.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<T, Error> {
        let request = request(method.clone(), path, content_type, body)?;
        answered(method, path, self.client.request(request)).await
    }
}

/// The answer to a request, within the deadline.
async fn answered<T>(
    method: Method,
    path: &str,
    answer: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(answer) => answer.map_err(|source| Error::of(method, path, source)),
        Err(_) => Err(Error::Silent {
            method,
            path: path.into(),
        }),
    }
}

/// What tells whose an object is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    pub name: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub owner_references: Vec<OwnerReference>,
}

#[derive(Debug, Deserialize)]
pub struct OwnerReference {
    pub kind: String,
    pub name: String,
}

/// A page of a list.
#[derive(Deserialize)]
struct List<T> {
    metadata: ListMeta,
    items: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    /// Servers that aggregate others' APIs may leave it out; who watches needs it.
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    token: Option<String>,
}

/// An object of which only the metadata is read.
#[derive(Debug, Deserialize)]
pub struct Of<M> {
    pub metadata: M,
}

pub const JSON: &str = "application/json";
pub const MERGE_PATCH: &str = "application/merge-patch+json";

/// A request that the client completes with host and credentials.
///
/// # Errors
/// `Build` when the path is no path.
pub fn request(
    method: Method,
    path: &str,
    content_type: Option<&str>,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, Error> {
    let mut request = Request::builder().method(method.clone()).uri(path);
    if let Some(content_type) = content_type {
        request = request.header(http::header::CONTENT_TYPE, content_type);
    }
    request.body(body).map_err(|source| Error::Build {
        method,
        path: path.into(),
        source,
    })
}
