//! The server's handle: what a test holds.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::CustomResourceExt;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::admission::Admission;
use crate::api::commit::{seed_namespace, written};
use crate::api::{pod_log, seed};
use crate::error::Error;
use crate::faults::Faults;
use crate::model::built_in::BuiltIn;
use crate::model::json::meta_str;
use crate::model::kind::Kind;
use crate::requests::RequestCounts;
use crate::serve::{https, in_process};
use crate::state::Inner;
use crate::state::options::Options;
use crate::store::Backup;
use crate::tls::Tls;

/// A simulated API server; clones share one state.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

impl Server {
    /// An empty server with the namespaces `default` and `kube-system`.
    pub fn new(options: Options) -> Server {
        let inner = Arc::new(Inner::new(options));
        for namespace in ["default", "kube-system"] {
            seed_namespace(&inner, namespace);
        }
        Server { inner }
    }

    /// Installs a CustomResourceDefinition from YAML or JSON text, as `kubectl apply` would.
    ///
    /// # Errors
    /// The text does not parse, or the definition is refused or uses what is not implemented.
    pub fn install(&self, crd_yaml_or_json: &str) -> Result<(), Error> {
        let definition: Value = serde_saphyr::from_str(crd_yaml_or_json)
            .map_err(|cause| Error::Definition(cause.to_string()))?;
        seed::install(&self.inner, definition).map_err(|refusal| Error::Definition(refusal.message))
    }

    /// Installs the CustomResourceDefinition of a type that derives `kube::CustomResource`.
    ///
    /// # Errors
    /// The definition is refused or uses what is not implemented.
    pub fn install_crd<K: CustomResourceExt>(&self) -> Result<(), Error> {
        let definition =
            serde_json::to_value(K::crd()).map_err(|cause| Error::Definition(cause.to_string()))?;
        seed::install(&self.inner, definition).map_err(|refusal| Error::Definition(refusal.message))
    }

    /// Creates objects with their status, in their order, without requests that are counted or fail: for what is there before a
    /// controller starts. Types of `k8s_openapi`, types that derive `kube::CustomResource` and `DynamicObject` all say what they
    /// are; one that says no namespace goes to `default`.
    ///
    /// # Errors
    /// The first object that is refused; those before it are stored.
    pub fn seed(&self, objects: impl IntoIterator<Item = impl Serialize>) -> Result<(), Error> {
        for (nth, object) in objects.into_iter().enumerate() {
            let object = serde_json::to_value(object).map_err(|cause| Error::Seed {
                object: format!("object {nth}"),
                cause: cause.to_string(),
            })?;
            seed::seed(&self.inner, &object).map_err(|refusal| {
                let kind = object["kind"].as_str().unwrap_or("an object of no kind");
                let name = meta_str(&object, "name");
                Error::Seed {
                    object: match (meta_str(&object, "namespace"), name) {
                        ("", "") => kind.to_owned(),
                        ("", name) => format!("{kind} {name}"),
                        (namespace, name) => format!("{kind} {namespace}/{name}"),
                    },
                    cause: refusal.message,
                }
            })?;
        }
        Ok(())
    }

    /// Serves one more kind of Kubernetes itself, as data. A kind that is served already is replaced, without its
    /// objects.
    pub fn declare(&self, kind: BuiltIn) {
        self.inner.drop_kind(kind.group, kind.plural);
        self.inner.serve_kind(Kind::from(kind));
    }

    /// The requests of every user so far.
    pub fn requests(&self) -> RequestCounts {
        self.inner.requests.snapshot()
    }

    /// The faults in force.
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// What rewrites objects before they are stored.
    pub fn admission(&self) -> &Admission {
        &self.inner.admission
    }

    /// The newest resourceVersion.
    pub fn revision(&self) -> u64 {
        self.inner.store.revision()
    }

    /// Forgets all history: later watches and continue tokens from before now get 410.
    pub fn compact(&self) {
        self.inner.store.compact();
    }

    /// Everything that is stored, as a backup of the datastore has it.
    pub fn backup(&self) -> Backup {
        self.inner.store.backup()
    }

    /// Sets everything back to a backup of this server, as a datastore that is restored: resourceVersions start
    /// over from those of the backup, history is forgotten, and every watch ends. The resources that are served stay
    /// those of now.
    pub fn restore(&self, backup: &Backup) {
        for (table, record) in self.inner.store.restore(backup) {
            if let Some(served) = self.inner.served_by_id(table) {
                written(&self.inner, &served, &record, &record.object());
            }
        }
        self.inner.close_watches();
    }

    /// The object as it is stored, if it is there. `resource` is the plural; `namespace` is empty
    /// for cluster scope.
    pub fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let served = self.inner.by_plural(resource)?;
        let key = served.kind.key(namespace, name);
        Some(self.inner.store.get(served.table, &key)?.object())
    }

    /// All objects of a resource in the order of their keys.
    pub fn objects(&self, resource: &str) -> Vec<Value> {
        let Some(served) = self.inner.by_plural(resource) else {
            return Vec::new();
        };
        let records: Vec<_> = {
            let state = self.inner.store.lock();
            state
                .table(served.table)
                .map(|table| table.objects.values().cloned().collect())
                .unwrap_or_default()
        };
        records.iter().map(|record| record.object()).collect()
    }

    /// Ends every open watch, as a restarting server or a cut connection does.
    pub fn close_watches(&self) {
        self.inner.close_watches();
    }

    /// The pods of a Deployment fail: it is not ready from now on, whatever is written to its spec, and as ready as before
    /// after `lasts`. Whether there is such a Deployment.
    pub fn fail_pods(&self, namespace: &str, name: &str, lasts: Duration) -> bool {
        let Some(served) = self.inner.by_plural("deployments") else {
            return false;
        };
        let key = served.kind.key(namespace, name);
        let Some(record) = self.inner.store.get(served.table, &key) else {
            return false;
        };
        let at = (served.table, record.key.clone());
        self.inner.schedule.fail(lasts, at);
        self.inner.work.notify_one();
        true
    }

    /// No status of a workload or claim changes from now on, as where kube-controller-manager is down.
    pub fn stop_readiness(&self) {
        self.inner.schedule.stop();
    }

    /// The bearer token that makes a request `user`'s.
    pub fn token(&self, user: &str) -> String {
        self.inner.token(user)
    }

    /// An in-process client whose requests are counted under `user`.
    pub fn client(&self, user: &str) -> kube::Client {
        let inner = self.inner.clone();
        let user: Arc<str> = user.into();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (inner, user) = (inner.clone(), user.clone());
            in_process::answer(inner, user, request)
        });
        kube::Client::new(service, "default")
    }

    /// Serves HTTPS on the listener until `shutdown`, then ends watches, finishes what is in flight and
    /// joins the connections.
    ///
    /// # Errors
    /// The TLS configuration is refused. A failed accept is logged and tried again.
    pub async fn serve(
        self,
        listener: TcpListener,
        tls: Tls,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        https::serve(self.inner, listener, tls, shutdown).await
    }

    /// Appends a line to the log of a container of a Pod.
    ///
    /// # Errors
    /// There is no such Pod or container, the Pod has no node, or the text has more than one line.
    pub fn log_line(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        line: &str,
    ) -> Result<(), Error> {
        pod_log::append(&self.inner, namespace, pod, container, line).map_err(Error::Log)
    }
}
