//! One run: a server, one or two replicas of the operator that are started again whenever they are killed, and a user
//! who takes the steps.
//!
//! Guarantees: on paused time, in one thread; equal schedules give equal traces.
//! Leaves to others: replicas (`keeper`), what a request meets on its way (`transport`), what is right
//! (`writes`, `converged`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kubesim::{Backup, Options, Readiness, Server};
use serde_json::{Value, json};
use tare_runtime::metrics::Metrics;
use tokio::time::sleep;

use crate::edits::edited;
use crate::faults::{Awaited, Crash, Faults};
use crate::keeper::{Replica, Starter};
use crate::process::Process;
use crate::reaction::Reaction;
use crate::schedule::Schedule;
use crate::step::{Resource, Step};
use crate::subject::{NAMESPACE, Outside, Subject};
use crate::wall;
use crate::writes::Makers;

mod others;

/// The names of the owners by number.
pub fn name(owner: u16) -> String {
    format!("app-{owner}")
}

/// A cluster with an operator and a user.
pub struct World {
    pub server: Server,
    pub subject: Subject,
    pub faults: Faults,
    user: Client,
    starter: Starter,
    first: Replica,
    /// Works beside the first one, without leader election.
    second: Option<Replica>,
    backup: Option<Backup>,
    outside: Outside,
    /// The object that owns what belongs to somebody else.
    stranger: Value,
    /// Each child as it was when somebody last deleted it, by resource and name.
    deleted: HashMap<(Resource, String), Value>,
}

impl World {
    /// An empty cluster with an operator.
    pub async fn new(schedule: &Schedule, traced: bool) -> World {
        let server = Server::new(Options {
            ready_delay: Duration::from_millis(schedule.ready_delay_ms),
            ready: match schedule.never_ready {
                true => Readiness::Never,
                false => Readiness::All,
            },
            seed: schedule.seed,
            start_s: Some(wall::start(schedule.seed)),
            ..Options::default()
        });
        let subject = schedule.subject;
        server.install(subject.crd()).expect("the CRD is valid");
        let faults = Faults::new(schedule.seed, schedule.capacity.latency_ms(), traced);
        if schedule.first_unshown {
            faults.lock().first_unshown = Some(subject.plural());
        }
        let outside = Outside::default();
        let starter = Starter {
            replica: 0,
            schedule: schedule.clone(),
            server: server.clone(),
            faults: faults.clone(),
            outside: outside.clone(),
            makers: Makers::default(),
            limits: schedule.capacity.limits(),
            concurrency: schedule.capacity.workers(),
        };
        let user = server.client("user");
        let mut world = World {
            server,
            subject,
            faults,
            user,
            first: Replica::start(&starter),
            second: None,
            starter,
            backup: None,
            outside,
            stranger: Value::Null,
            deleted: HashMap::new(),
        };
        let stranger = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "stranger" },
        });
        let made = world.send(Method::POST, "secrets", "", &stranger).await;
        world.stranger = made.expect("the server is empty");
        world
    }

    /// Takes one step.
    pub async fn take(&mut self, number: usize, step: &Step) {
        self.faults.note(format_args!("#{number} {step:?}"));
        match step {
            Step::Pass { ms } => sleep(Duration::from_millis(*ms)).await,
            Step::Create { owner, spec } => self.create(*owner, spec).await,
            Step::CreateMany { first, count, spec } => {
                for owner in *first..*first + *count {
                    self.create(owner, spec).await;
                }
            }
            Step::FailPods { owner, ms } => {
                let lasts = Duration::from_millis(*ms);
                self.server.fail_pods(NAMESPACE, &name(*owner), lasts);
            }
            Step::StopReadiness => self.server.stop_readiness(),
            Step::Change { owner, spec } => {
                // What the new spec does not name goes.
                let old = self.object(self.subject.plural(), &name(*owner));
                let mut patch = spec.clone();
                for key in old["spec"]
                    .as_object()
                    .into_iter()
                    .flat_map(|old| old.keys())
                {
                    if patch.get(key).is_none() {
                        patch[key] = Value::Null;
                    }
                }
                let patch = json!({ "spec": patch });
                self.patch(self.subject.plural(), &name(*owner), &patch)
                    .await;
            }
            Step::Delete { owner, propagation } => {
                self.delete(self.subject.plural(), &name(*owner), propagation)
                    .await;
            }
            Step::Recreate { owner, spec } => {
                self.delete(self.subject.plural(), &name(*owner), "Background")
                    .await;
                self.create(*owner, spec).await;
            }
            Step::Edit { owner, edit } => {
                let (resource, patch) = edited(*edit, self.subject, &name(*owner), number as u64);
                self.patch(resource, &self.child(resource, *owner), &patch)
                    .await;
            }
            Step::EditAfterWrite {
                owner,
                edit,
                after_ms,
            } => {
                let (resource, patch) = edited(*edit, self.subject, &name(*owner), number as u64);
                let child = self.child(resource, *owner);
                let reaction = Reaction {
                    deployment: self.child("deployments", *owner),
                    after_ms: *after_ms,
                    request: self.request(Method::PATCH, resource, &child, &patch),
                };
                self.faults.lock().reactions.push(reaction);
            }
            Step::DeleteChild { owner, resource } => self.delete_child(resource, *owner).await,
            Step::MakeAgain { owner, resource } => self.make_again(resource, *owner).await,
            Step::TakeOver { owner, resource } => {
                let patch = json!({ "metadata": { "ownerReferences": [self.reference()] } });
                self.patch(resource, &self.child(resource, *owner), &patch)
                    .await;
            }
            Step::Occupy { owner, resource } => self.occupy(*owner, resource).await,
            Step::Vacate => self.vacate().await,
            Step::Request {
                verb,
                resource,
                fault,
                times,
            } => {
                self.faults.lock().requests.push(Awaited {
                    verb,
                    resource,
                    fault: *fault,
                    left: *times,
                });
            }
            Step::Event { resource, fault } => self.faults.lock().events.push((resource, *fault)),
            Step::FailCleanups { times } => self.outside.fail(*times),
            Step::CloseWatches => self.server.close_watches(),
            Step::Compact => self.server.compact(),
            Step::Backup => self.backup = Some(self.server.backup()),
            Step::Restore => self.restore().await,
            Step::RemoveCrd { seconds } => self.remove_crd(*seconds).await,
            Step::Outage { outage, seconds } => {
                self.faults.lock().outage = Some(*outage);
                self.server.close_watches();
                sleep(Duration::from_secs(*seconds)).await;
                self.faults.lock().outage = None;
            }
            Step::Suspend { seconds } => {
                self.first.with_process(Process::suspend);
                sleep(Duration::from_secs(*seconds)).await;
                self.first.with_process(Process::resume);
            }
            Step::Kill { down_ms } => self.first.kill(Duration::from_millis(*down_ms)),
            Step::SecondStarts => {
                if self.second.is_none() {
                    let starter = Starter {
                        replica: 1,
                        ..self.starter.clone()
                    };
                    self.second = Some(Replica::start(&starter));
                }
            }
            Step::SecondEnds => {
                if let Some(second) = self.second.take() {
                    second.end().await;
                }
            }
            Step::Crash {
                writes,
                when,
                down_ms,
            } => {
                self.faults.lock().crashes.push_back(Crash {
                    writes: *writes,
                    when: *when,
                    down_ms: *down_ms,
                });
            }
        }
        self.check_bounds();
    }

    /// The end of all faults: what belongs to others goes, and every replica runs.
    pub async fn calm(&mut self) {
        self.faults.note(format_args!("calm"));
        self.faults.lock().clear();
        self.outside.fail(0);
        // One that was killed just now is still there.
        sleep(Duration::from_millis(1)).await;
        while self.replicas().any(|replica| replica.metrics().is_none()) {
            sleep(Duration::from_secs(60)).await;
        }
        self.vacate().await;
    }

    /// The replicas that work.
    pub fn replicas(&self) -> impl Iterator<Item = &Replica> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// The bounds of every queue hold.
    pub fn check_bounds(&self) {
        for metrics in self.replicas().filter_map(Replica::metrics) {
            self.check_bounds_of(&metrics);
        }
    }

    fn check_bounds_of(&self, metrics: &Metrics) {
        let Starter {
            limits,
            concurrency,
            ..
        } = &self.starter;
        for (what, found, most) in [
            ("entries", &metrics.entries, limits.entries),
            ("owners in flight", &metrics.in_flight, *concurrency),
            ("bytes of specs", &metrics.spec_bytes, limits.spec_bytes),
        ] {
            let found = found.load(Relaxed);
            if found > most as u64 {
                self.faults.violation(format!("{found} {what}, of {most}"));
            }
        }
        let load = |gauge: &AtomicU64| gauge.load(Relaxed);
        let entries = load(&metrics.entries);
        if entries == 0 && load(&metrics.spec_bytes) > 0 {
            self.faults.violation(format!(
                "{} bytes of specs in no entries",
                load(&metrics.spec_bytes)
            ));
        }
    }

    /// The name of the child of an owner.
    fn child(&self, resource: &str, owner: u16) -> String {
        match resource {
            "configmaps" => format!("{}-settings", name(owner)),
            _ => name(owner),
        }
    }

    fn object(&self, resource: &str, name: &str) -> Value {
        let found = self.server.object(resource, NAMESPACE, name);
        found.unwrap_or_default()
    }

    async fn create(&self, owner: u16, spec: &Value) {
        let object = json!({
            "apiVersion": self.subject.api_version(), "kind": self.subject.kind(),
            "metadata": { "name": name(owner) }, "spec": spec,
        });
        let resource = self.subject.plural();
        self.faults.lock().made(resource, &name(owner), None);
        // There may be one already.
        if let Ok(made) = self.send(Method::POST, resource, "", &object).await {
            let uid = made["metadata"]["uid"].as_str();
            self.faults.lock().made(resource, &name(owner), uid);
        }
    }

    async fn restore(&mut self) {
        let Some(backup) = &self.backup else {
            return;
        };
        self.faults.lock().restores += 1;
        self.server.restore(backup);
        // The operator can tell only while the server is not yet as far as it was (docs/design-notes/correctness.md).
        self.faults.lock().clear();
        sleep(Duration::from_secs(45)).await;
    }

    async fn remove_crd(&mut self, seconds: u64) {
        // It has another definition.
        self.backup = None;
        let group = self.subject.api_version().split('/').next();
        let path = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}",
            self.subject.plural(),
            group.unwrap_or_default()
        );
        let request = Request::delete(path).body(Vec::new());
        let deleted = self
            .user
            .request::<Value>(request.expect("a valid request"));
        deleted.await.expect("the CRD is there");
        sleep(Duration::from_secs(seconds)).await;
        let crd = self.subject.crd();
        self.server.install(crd).expect("the CRD is valid");
    }

    async fn patch(&self, resource: &str, name: &str, patch: &Value) {
        let _ = self.send(Method::PATCH, resource, name, patch).await;
    }

    async fn delete(&self, resource: &str, name: &str, propagation: &str) {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation,
        });
        let _ = self.send(Method::DELETE, resource, name, &options).await;
    }

    /// About an object, or about all where the name is empty.
    fn request(
        &self,
        method: Method,
        resource: &str,
        name: &str,
        body: &Value,
    ) -> Request<Vec<u8>> {
        let group = match resource {
            "deployments" => "/apis/apps/v1".to_owned(),
            one if one == self.subject.plural() => format!("/apis/{}", self.subject.api_version()),
            _ => "/api/v1".to_owned(),
        };
        let slash = if name.is_empty() { "" } else { "/" };
        let path = format!("{group}/namespaces/{NAMESPACE}/{resource}{slash}{name}");
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content_type)
            .body(body.to_string().into_bytes());
        request.expect("a valid request")
    }

    /// A request of the user, who may be refused: a step does not know what is there.
    async fn send(
        &self,
        method: Method,
        resource: &str,
        name: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        self.user
            .request(self.request(method, resource, name, body))
            .await
    }
}
