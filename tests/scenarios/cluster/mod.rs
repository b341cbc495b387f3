//! The cluster that a scenario takes place in: simulated or real, with the same verbs.
//!
//! Guarantees: a scenario sees only the objects of its own namespace; requests are counted in the same way
//! on both kinds of cluster.
//! Leaves to others: what its user does and waits for (`user`), what only one kind of cluster has
//! (`simulated`, `plane`), the operator (`operator`), the audit log (`audit`), service accounts (`account`).

pub mod account;
pub mod audit;
#[path = "../../shared/example.rs"]
pub mod example;
pub mod objects;
pub mod operator;
pub mod plane;
pub mod process;
pub mod simulated;
pub mod user;

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use audit::Answered;
use objects::text;
use plane::SharedPlane;
use simulated::Simulated;
use user::{JSON, MERGE, TIMEOUT, User, send};

/// An operator that has written nothing for so long has finished its work.
const QUIET: Duration = Duration::from_secs(3);
/// Requests at most that delete all EdgeApps of a namespace.
const DELETIONS: usize = 10;

/// A namespace of a simulated or of a real cluster, with what its user can do.
#[derive(Clone)]
pub struct Cluster {
    user: User,
    /// Cache mode of the operators.
    pub mode: Mode,
    kind: Kind,
}

impl Deref for Cluster {
    type Target = User;
    fn deref(&self) -> &User {
        &self.user
    }
}

#[derive(Clone)]
enum Kind {
    Simulated(Simulated),
    Real(Real),
}

/// What belongs to a namespace of a real cluster.
#[derive(Clone)]
pub struct Real {
    pub plane: Arc<SharedPlane>,
    /// The service account of the operators.
    account: String,
    /// The admin address of the operator that was started first.
    admin: Arc<OnceLock<SocketAddr>>,
}

impl Cluster {
    /// The cluster is the whole server: nobody shares it.
    pub fn simulated(simulated: Simulated) -> Cluster {
        Cluster {
            user: User {
                namespace: "default".to_owned(),
                client: simulated.client.clone(),
                timeout: simulated.timeout,
            },
            mode: simulated.mode,
            kind: Kind::Simulated(simulated),
        }
    }

    /// A new namespace of a control plane that others use too.
    pub async fn real(plane: &Arc<SharedPlane>, mode: Mode) -> Cluster {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "generateName": "real-" },
        });
        let path = "/api/v1/namespaces";
        let created = send(&plane.client, Method::POST, path, JSON, &namespace).await;
        let created = created.expect("create the namespace");
        Cluster {
            user: User {
                namespace: text(&created, "/metadata/name"),
                client: plane.client.clone(),
                timeout: TIMEOUT,
            },
            mode,
            kind: Kind::Real(Real {
                plane: Arc::clone(plane),
                account: account::SHIPPED.to_owned(),
                admin: Arc::default(),
            }),
        }
    }

    /// The same namespace, with operators under another service account.
    pub fn under(mut self, account: &str) -> Cluster {
        if let Kind::Real(real) = &mut self.kind {
            account.clone_into(&mut real.account);
        }
        self
    }

    /// What only the simulated cluster has, where this is one.
    pub fn as_simulated(&self) -> Option<&Simulated> {
        match &self.kind {
            Kind::Simulated(simulated) => Some(simulated),
            Kind::Real(_) => None,
        }
    }

    /// What only a real cluster has. For scenarios that are listed for real clusters alone.
    pub fn as_real(&self) -> &Real {
        match &self.kind {
            Kind::Simulated(_) => panic!("this scenario needs a real cluster"),
            Kind::Real(real) => real,
        }
    }

    /// The log of the operators under the account of this scenario.
    pub fn log(&self) -> PathBuf {
        self.log_of(&self.as_real().account)
    }

    fn log_of(&self, user: &str) -> PathBuf {
        let file = format!("{}-{user}.log", self.namespace);
        self.as_real().plane.logs.join(file)
    }

    /// The admin address of the operator that was started first, if one was started.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.as_real().admin.get().copied()
    }

    /// Waits until this number of the operator's requests of this kind have been sent.
    pub async fn until_requested(&self, verb: &str, resource: &str, at_least: usize) {
        let deadline = Instant::now() + self.timeout;
        while self.requests(verb, resource) < at_least {
            let found = self.requests(verb, resource);
            assert!(
                Instant::now() < deadline,
                "timeout while waiting for {at_least} times {verb} {resource}: {found}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// How many requests of this kind the operator has sent, answered with success or not.
    pub fn requests(&self, verb: &str, resource: &str) -> usize {
        match &self.kind {
            Kind::Simulated(simulated) => simulated.requests(verb, resource) as usize,
            Kind::Real(_) => audit::count(&self.answered("tare"), verb, resource),
        }
    }

    /// How many requests of this kind were successful.
    pub fn successes(&self, verb: &str, resource: &str) -> usize {
        match &self.kind {
            Kind::Simulated(simulated) => simulated.successes(verb, resource) as usize,
            Kind::Real(_) => {
                let mut answered = self.answered("tare");
                answered.retain(|one| one.code < 300);
                audit::count(&answered, verb, resource)
            }
        }
    }

    /// How many requests to write each of these users has sent.
    pub fn writes(&self, users: &[&str]) -> usize {
        let of = |user: &&str| match &self.kind {
            Kind::Simulated(simulated) => simulated.server.requests().writes(user) as usize,
            Kind::Real(_) => {
                let answered = self.answered(user);
                answered.iter().filter(|one| one.is_write()).count()
            }
        };
        users.iter().map(of).sum()
    }

    /// How many requests to write were refused.
    pub fn refused_writes(&self) -> usize {
        match &self.kind {
            Kind::Simulated(simulated) => simulated.refused_writes() as usize,
            Kind::Real(_) => {
                let answered = self.answered("tare");
                let is_refused = |one: &&Answered| one.is_write() && one.code >= 300;
                answered.iter().filter(is_refused).count()
            }
        }
    }

    /// The answered requests of a user in this namespace, from the audit log of a real cluster.
    pub fn answered(&self, user: &str) -> Vec<Answered> {
        let plane = &self.as_real().plane;
        audit::requests(&plane.audit_log, &plane.username(user), &self.namespace)
    }

    /// These users in the order of their writes here, each once for every turn.
    pub fn turns(&self, users: &[&str]) -> Vec<String> {
        let plane = &self.as_real().plane;
        let users: Vec<String> = users.iter().map(|user| plane.username(user)).collect();
        audit::turns(&plane.audit_log, &users, &self.namespace)
    }

    /// Waits until none of these users has written anything for three seconds.
    pub async fn until_quiet(&self, users: &[&str]) {
        let deadline = Instant::now() + self.timeout;
        let mut writes = self.writes(users);
        let mut since = Instant::now();
        while since.elapsed() < QUIET {
            assert!(Instant::now() < deadline, "{users:?} do not stop writing");
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = self.writes(users);
            if now != writes {
                (writes, since) = (now, Instant::now());
            }
        }
    }

    /// Waits until these users have finished, and fails if one writes later without a cause: within
    /// an hour on the simulated cluster, with relists; a real one is not watched for longer.
    pub async fn assert_stays_idle(&self, users: &[&str]) {
        self.until_quiet(users).await;
        if self.as_simulated().is_some() {
            let writes = self.writes(users);
            simulated::pass(3_600).await;
            assert_eq!(self.writes(users), writes, "writes within an hour");
        }
    }

    /// Installs the CRD of EdgeApps, on a real cluster as its user does.
    pub async fn install_crd(&self) {
        match &self.kind {
            Kind::Simulated(simulated) => {
                let installed = simulated.server.install(tare::edgeapp::CRD_YAML);
                installed.expect("install the CRD");
            }
            Kind::Real(real) => real.plane.install_crd().await,
        }
    }

    /// Removes the finalizers of the EdgeApps of all other namespaces.
    pub async fn release_everywhere(&self) {
        let all = "/apis/tare.dev/v1alpha1/edgeapps";
        let deadline = Instant::now() + self.timeout;
        let list = loop {
            match self.request(Method::GET, all, JSON, &Value::Null).await {
                // A new kind is served a moment later.
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
                let released = self.request(Method::PATCH, &path, MERGE, &release).await;
                released.unwrap_or_else(|error| panic!("release {path}: {error}"));
            }
        }
    }

    /// Removes the EdgeApps after the operator has ended. The namespace stays until the control plane
    /// ends: its deletion would cost some sixty lists.
    pub async fn end(self) {
        if self.as_simulated().is_some() {
            return;
        }
        let path = self.path("edgeapps", "");
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
        // Thousands take longer than a request may; what one has deleted is gone for the next.
        let mut deleted = self.request(Method::DELETE, &path, JSON, &options).await;
        for _ in 1..DELETIONS {
            if deleted.is_ok() {
                break;
            }
            deleted = self.request(Method::DELETE, &path, JSON, &options).await;
        }
        deleted.expect("delete the EdgeApps that are left");
        let left = self.all("edgeapps").await;
        let release = json!({ "metadata": { "finalizers": null } });
        let released = left.iter().map(async |object| {
            let name = text(object, "/metadata/name");
            self.patch("edgeapps", &name, release.clone()).await;
        });
        futures::future::join_all(released).await;
    }
}
