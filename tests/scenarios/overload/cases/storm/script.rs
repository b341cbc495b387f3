//! What other clients do to the objects of one EdgeApp, and when.
//!
//! Guarantees: a script follows from its seed. Acts of one EdgeApp follow each other in their order. What a script has made
//! unready it makes ready again at its end. A child is edited so rarely that no field conflict backs off.
//! Leaves to others: what must hold after it (`storm`).

use std::time::Duration;

use http::Method;
use kubesim::Clock;
use kubesim::readiness::Observed;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::cluster::Cluster;
use crate::cluster::user::{JSON, MERGE};
use crate::overload::rng::Rng;

/// Of each EdgeApp at the start.
pub const REPLICAS: i64 = 2;
/// From the loss of readiness to ready where nothing else happens: the entry of an idle owner is due after the first second.
const NOT_READY_FOR: Duration = Duration::from_millis(1_900);
/// Two acts that follow each other are at most so far apart.
const APART_MS: u64 = 3_000;
/// Edits of the children of one EdgeApp at most; the fourth of a child within a minute is a field conflict.
const EDITS: u64 = 3;

/// How often an act is tried where the server is too busy, and after which time.
const TRIES: u32 = 10;
const RETRY: Duration = Duration::from_secs(2);

/// What happens to an EdgeApp and its children.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The Deployment has no ready pod, and nobody else writes its status.
    LoseReadiness,
    /// All of its pods are ready.
    Ready,
    /// A harmless edit: an annotation that no plan names.
    Annotation,
    Replicas,
    Image,
    Label,
    Selector,
    SelectorKey,
    Ports,
    DeleteDeployment,
    DeleteService,
    /// The EdgeApp gets another image.
    NewImage(u64),
    /// It gets another number of replicas.
    NewReplicas(u64),
    /// It loses its port, and with it its Service.
    NoPort,
}

/// Changes that an operator has to set back.
const FOREIGN: [Act; 8] = [
    Act::Replicas,
    Act::Image,
    Act::Label,
    Act::Selector,
    Act::SelectorKey,
    Act::Ports,
    Act::DeleteDeployment,
    Act::DeleteService,
];

/// What happens to one EdgeApp, each at its time since the burst began.
#[derive(Debug)]
pub struct Script {
    name: String,
    /// When the next act may come.
    at: Duration,
    acts: Vec<(Duration, Act)>,
}

impl Script {
    /// Every client does something to every idle EdgeApp.
    pub fn of_clients(seed: u64, idle: usize, window: Duration) -> Vec<Script> {
        let mut rng = Rng::new(seed ^ 0x0570_0000);
        let scripts = (0..idle).map(|n| {
            let mut script = Script::begin(n, window, &mut rng);
            script.draw(&mut rng);
            script
        });
        scripts.collect()
    }

    /// Every Deployment loses its readiness and is ready again.
    pub fn of_readiness(seed: u64, idle: usize, window: Duration) -> Vec<Script> {
        let mut rng = Rng::new(seed ^ 0x0f1a_0000);
        let scripts = (0..idle).map(|n| {
            let mut script = Script::begin(n, window, &mut rng);
            script.then(Duration::ZERO, Act::LoseReadiness);
            script.then(NOT_READY_FOR, Act::Ready);
            script
        });
        scripts.collect()
    }

    /// One in which nothing happens before a time within `window`.
    fn begin(n: usize, window: Duration, rng: &mut Rng) -> Script {
        let ms = rng.below(window.as_millis() as u64);
        Script {
            name: format!("idle-{n}"),
            at: Duration::from_millis(ms),
            acts: Vec::new(),
        }
    }

    /// An act so long after the last one.
    fn then(&mut self, after: Duration, act: Act) {
        self.at += after;
        self.acts.push((self.at, act));
    }

    fn draw(&mut self, rng: &mut Rng) {
        let mut edits = 0;
        for _ in 0..1 + rng.below(2) {
            let first = match rng.below(4) {
                0 => Act::Annotation,
                1 => Act::NewImage(rng.below(9)),
                _ => Act::LoseReadiness,
            };
            self.then(Duration::ZERO, first);
            for _ in 0..1 + rng.below(3) {
                let after = Duration::from_millis(rng.below(APART_MS));
                let act = match rng.below(8) {
                    0..2 => Act::Ready,
                    2 => Act::LoseReadiness,
                    3 => Act::NewReplicas(1 + rng.below(3)),
                    4 if rng.one_in(4) => Act::NoPort,
                    _ if edits < EDITS => {
                        edits += 1;
                        rng.pick(&FOREIGN)
                    }
                    _ => Act::Annotation,
                };
                self.then(after, act);
            }
            let after = Duration::from_millis(rng.below(APART_MS));
            self.then(after, Act::Ready);
        }
    }

    /// Does all of it.
    pub async fn play(&self, cluster: &Cluster, began: Instant) -> Result<(), Failed> {
        for (at, act) in &self.acts {
            sleep_until(began + *at).await;
            self.act(cluster, *act).await?;
        }
        Ok(())
    }

    async fn act(&self, cluster: &Cluster, act: Act) -> Result<(), Failed> {
        let name = &*self.name;
        let (method, path, body) = match request(name, act) {
            Request::Delete(resource) => (
                Method::DELETE,
                cluster.path(resource, name),
                json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" }),
            ),
            Request::Patch(resource, body) => (Method::PATCH, cluster.path(resource, name), body),
            Request::Status(body) => {
                let path = cluster.path("deployments", name) + "/status";
                (Method::PATCH, path, body)
            }
        };
        let content_type = match method {
            Method::DELETE => JSON,
            _ => MERGE,
        };
        for tries_left in (0..TRIES).rev() {
            let answer = cluster.request(method.clone(), &path, content_type, &body);
            match answer.await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) => match status.code {
                    // A child may be gone, or be the next one of its name without a status.
                    404 | 409 | 422 => return Ok(()),
                    // The server is too busy to answer in time. Any client of it tries again.
                    429 | 500.. if tries_left > 0 => sleep(RETRY).await,
                    _ => return Err(format!("{name}: {act:?}: {status:?}").into()),
                },
                Err(error) => return Err(format!("{name}: {act:?}: {error}").into()),
            }
        }
        Ok(())
    }
}

enum Request {
    Delete(&'static str),
    Patch(&'static str, Value),
    Status(Value),
}

fn request(name: &str, act: Act) -> Request {
    let deployment = |body| Request::Patch("deployments", body);
    let service = |body| Request::Patch("services", body);
    let edgeapp = |spec| Request::Patch("edgeapps", json!({ "spec": spec }));
    let other = format!("not-{name}");
    match act {
        Act::LoseReadiness => Request::Status(status(name, false)),
        Act::Ready => Request::Status(status(name, true)),
        Act::Annotation => {
            deployment(json!({ "metadata": { "annotations": { "example.com/seen": "yes" } } }))
        }
        Act::Replicas => deployment(json!({ "spec": { "replicas": 9 } })),
        Act::Image => {
            let containers = json!([{ "name": "app", "image": "evil:1" }]);
            let template = json!({ "spec": { "containers": containers } });
            deployment(json!({ "spec": { "template": template } }))
        }
        Act::Label => deployment(json!({ "metadata": { "labels": { "tare.dev/owner": other } } })),
        Act::Selector => service(json!({ "spec": { "selector": { "tare.dev/owner": other } } })),
        Act::SelectorKey => service(json!({ "spec": { "selector": { "added": "key" } } })),
        Act::Ports => service(json!({ "spec": { "ports": [{ "port": 81, "targetPort": 1 }] } })),
        Act::DeleteDeployment => Request::Delete("deployments"),
        Act::DeleteService => Request::Delete("services"),
        Act::NewImage(n) => edgeapp(json!({ "image": format!("registry.local/web:new-{n}") })),
        Act::NewReplicas(replicas) => edgeapp(json!({ "replicas": replicas })),
        Act::NoPort => edgeapp(json!({ "port": null, "headless": null })),
    }
}

/// A merge patch of the status of a Deployment. While it is not ready the readiness agent leaves it alone; from the first
/// ready one on it sees to the Deployment again, which may have another generation or other replicas by then.
fn status(name: &str, ready: bool) -> Value {
    let observed = Observed {
        name: name.to_owned(),
        generation: 0,
        replicas: REPLICAS,
        status: Value::Null,
    };
    let now = Clock::new().now();
    let mut status = observed.wanted(ready, &now);
    if let Some(status) = status.as_object_mut() {
        // It speaks of the generation of which it spoke before.
        status.remove("observedGeneration");
        for count in ["readyReplicas", "availableReplicas", "unavailableReplicas"] {
            status.entry(count).or_insert(Value::Null);
        }
    }
    let conditions = status["conditions"].as_array_mut();
    if let Some(conditions) = conditions.filter(|_| !ready) {
        conditions.push(json!({
            "type": controlplane::readiness::HELD, "status": "True", "reason": "Storm",
            "message": "another client writes this status", "lastUpdateTime": now, "lastTransitionTime": now,
        }));
    }
    json!({ "status": status })
}
