//! Owners that are deleted: broken ones too, with a cleanup, and with a crash between any two steps.

use std::sync::{Arc, Mutex, PoisonError};

use kubesim::{RequestFacts, RequestFault, WatchFault};
use serde_json::json;
use tare::edgeapp::{CRD_YAML, EdgeApp, EdgeAppStatus, EdgeApps};
use tare_runtime::api::{Children, DeletedOwner, Kind, Operator, Owner, Plan, PlanError, Retry};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::simulated::{Running, Simulated, config, pass, web};

const FINALIZER: &str = "example.com/outside";
const OLD_FINALIZER: &str = "example.com/outside-v1";

/// What happened, in order: requests of the operator, and cleanups.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn note(&self, what: String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(what);
    }

    fn all(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    fn count(&self, what: &str) -> usize {
        self.all()
            .iter()
            .filter(|one| one.starts_with(what))
            .count()
    }
}

/// Why there is no plan, or no cleanup.
#[derive(Debug, thiserror::Error)]
#[error("not possible")]
struct Impossible;

impl PlanError for Impossible {
    fn reason(&self) -> &'static str {
        "Impossible"
    }
    fn retry(&self) -> Retry {
        Retry::AwaitChange
    }
}

/// EdgeApps with something outside the cluster. For some images the plan panics or is an error.
#[derive(Clone, Default)]
struct Outside {
    journal: Journal,
    /// Cleanups that fail before one succeeds.
    failures: Arc<Mutex<u32>>,
    /// Cleanups hang from here on.
    hang: Arc<Mutex<bool>>,
}

impl Operator for Outside {
    type Status = EdgeAppStatus;
    type Resource = EdgeApp;
    type Error = Impossible;
    type Observed = ();
    const NAME: &'static str = EdgeApps::NAME;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const RETIRED_FINALIZERS: &'static [&'static str] = &[OLD_FINALIZER];
    const KINDS: &'static [Kind] = EdgeApps::KINDS;

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<EdgeAppStatus>, Impossible> {
        match &*owner.spec.image {
            "panic" => panic!("this image is not for plans"),
            "error" => Err(Impossible),
            _ => {
                let owner = Owner::new(owner.meta.clone(), owner.spec.clone());
                EdgeApps
                    .plan(&owner, children)
                    .map_err(|never| match never {})
            }
        }
    }

    async fn cleanup(&self, owner: &DeletedOwner<Self>) -> Result<(), Impossible> {
        let spec = match &owner.spec {
            Ok(_) => "spec",
            Err(_) => "undecodable spec",
        };
        self.journal
            .note(format!("cleanup {} {spec}", owner.meta.name));
        if *self.hang.lock().unwrap_or_else(PoisonError::into_inner) {
            std::future::pending::<()>().await;
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if *failures > 0 {
            *failures -= 1;
            return Err(Impossible);
        }
        Ok(())
    }
}

impl Outside {
    fn operate(&self, cluster: &Simulated) -> Running {
        cluster.operate_with(self.clone(), cluster.server.client("tare"), config())
    }

    /// The same, with an EdgeApp `web` that is Running.
    async fn operate_web(&self, cluster: &Simulated) -> Running {
        let running = self.operate(cluster);
        running.until_ready().await;
        cluster.create("web", web()).await;
        cluster.until_phase("web", "Running").await;
        running
    }

    /// Notes every write of the operator, in order.
    fn observe(&self, cluster: &Simulated) {
        self.observe_with(cluster, |_| RequestFault::Pass);
    }

    /// The same, where some meet a fault.
    fn observe_with(
        &self,
        cluster: &Simulated,
        fault: impl Fn(&RequestFacts<'_>) -> RequestFault + Send + Sync + 'static,
    ) {
        let journal = self.journal.clone();
        cluster.server.faults().on_request(move |facts| {
            if facts.user == "tare" && !matches!(facts.verb, "get" | "list" | "watch") {
                let status = facts.subresource.map_or("", |_| "/status");
                let name = facts.name.unwrap_or_default();
                journal.note(format!("{} {}{status} {name}", facts.verb, facts.resource));
            }
            fault(facts)
        });
    }
}

/// The CRD with an image that may be anything and with one more phase.
fn loose() -> String {
    let image = CRD_YAML.find("              image:\n").expect("an image");
    let port = CRD_YAML
        .find("              port:\n")
        .expect("a port after it");
    let any = "              image:\n                x-kubernetes-preserve-unknown-fields: true\n";
    let crd = [&CRD_YAML[..image], any, &CRD_YAML[port..]].concat();
    let phase = "                - Pending\n";
    crd.replace(phase, &format!("{phase}                - Sleeping\n"))
}

async fn gone_with_cleanup(cluster: &Simulated, outside: &Outside, name: &str, spec: &str) {
    cluster.until_gone("edgeapps", name).await;
    let all = outside.journal.all();
    let place = |what: &str| all.iter().rposition(|one| one == what);
    let deployment = place(&format!("delete deployments {name}"));
    let cleanup = place(&format!("cleanup {name} {spec}"));
    let finalizer = place(&format!("patch edgeapps {name}"));
    assert!(
        deployment.is_some() && deployment < cleanup && cleanup < finalizer,
        "children, cleanup, finalizer: {all:?}"
    );
    assert!(cluster.get("deployments", name).is_null());
}

pub async fn a_broken_owner_is_deleted_after_its_children_and_its_cleanup(mode: Mode) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    outside.observe(&cluster);
    let running = outside.operate(&cluster);
    running.until_ready().await;
    for image in ["panic", "error"] {
        cluster.create(image, web()).await;
        cluster.until_phase(image, "Running").await;
        cluster.change(image, json!({ "image": image })).await;
        pass(5).await;
        cluster.delete(image).await;
        let began = tokio::time::Instant::now();
        gone_with_cleanup(&cluster, &outside, image, "spec").await;
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }
    running.stop().await;
}

pub async fn an_owner_that_cannot_be_decoded_is_deleted_after_its_children_and_its_cleanup(
    mode: Mode,
) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    outside.observe(&cluster);
    cluster.server.install(&loose()).expect("a looser CRD");
    let running = outside.operate_web(&cluster).await;
    let user = Cluster::simulated(cluster.clone());
    let broken = json!({ "spec": { "image": { "not": "a string" } } });
    user.patch("edgeapps", "web", broken).await;
    pass(5).await;
    user.delete("edgeapps", "web").await;
    gone_with_cleanup(&cluster, &outside, "web", "undecodable spec").await;
    running.stop().await;
}

pub async fn a_status_with_an_unknown_value_is_written_anew(mode: Mode) {
    let cluster = Simulated::new(mode);
    cluster.server.install(&loose()).expect("a looser CRD");
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    running.stop().await;
    let path = "/apis/tare.dev/v1alpha1/namespaces/default/edgeapps/web/status";
    let newer = json!({ "status": { "phase": "Sleeping" } });
    let user = Cluster::simulated(cluster.clone());
    let patched = user
        .request(
            http::Method::PATCH,
            path,
            "application/merge-patch+json",
            &newer,
        )
        .await;
    patched.expect("a newer version writes a phase of its own");
    let image = json!({ "spec": { "image": "web:2" } });
    user.patch("edgeapps", "web", image).await;
    let running = cluster.operate();
    cluster.until_phase("web", "Running").await;
    let image = "/spec/template/spec/containers/0/image";
    let deployment = cluster.get("deployments", "web");
    assert_eq!(deployment.pointer(image), Some(&json!("web:2")));
    running.stop().await;
}

pub async fn a_cleanup_that_fails_is_repeated_until_it_succeeds(mode: Mode) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    *outside.failures.lock().unwrap() = 3;
    outside.observe(&cluster);
    let running = outside.operate_web(&cluster).await;
    cluster.delete("web").await;
    gone_with_cleanup(&cluster, &outside, "web", "spec").await;
    assert_eq!(outside.journal.count("cleanup"), 4);
    running.stop().await;
}

pub async fn an_owner_with_the_finalizer_of_an_earlier_version_has_its_cleanup(mode: Mode) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    outside.observe(&cluster);
    let running = outside.operate_web(&cluster).await;
    running.stop().await;
    let user = Cluster::simulated(cluster.clone());
    let old = json!({ "metadata": { "finalizers": [OLD_FINALIZER] } });
    user.patch("edgeapps", "web", old).await;
    user.delete("edgeapps", "web").await;
    let running = outside.operate(&cluster);
    gone_with_cleanup(&cluster, &outside, "web", "spec").await;
    running.stop().await;
}

pub async fn a_crash_between_any_two_steps_of_a_deletion_loses_no_cleanup(mode: Mode) {
    for image in ["web:1", "panic"] {
        // Beyond the last step nothing is interrupted any more.
        for step in 0..12 {
            for committed in [false, true] {
                crashed_at(mode, image, step, committed).await;
            }
        }
    }
}

/// The operator is killed at the `step`th write of a deletion: before it, or after it was committed.
async fn crashed_at(mode: Mode, image: &str, step: usize, committed: bool) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    let running = outside.operate_web(&cluster).await;
    cluster.change("web", json!({ "image": image })).await;
    pass(5).await;
    let journal = outside.journal.clone();
    let writes = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&writes);
    cluster.server.faults().on_request(move |facts| {
        if facts.user != "tare" || matches!(facts.verb, "get" | "list" | "watch") {
            return RequestFault::Pass;
        }
        let mut writes = counted.lock().unwrap_or_else(PoisonError::into_inner);
        *writes += 1;
        let on_the_owner = facts.resource == "edgeapps" && facts.subresource.is_none();
        if facts.verb == "patch" && on_the_owner && journal.count("cleanup") == 0 {
            journal.note("finalizer without a cleanup".to_owned());
        }
        match (*writes > step, committed && *writes == step + 1) {
            (false, _) => RequestFault::Pass,
            (true, true) => RequestFault::AfterDrop,
            (true, false) => RequestFault::Hang,
        }
    });
    cluster.delete("web").await;
    // Long enough for the steps before, and shorter than any deadline.
    pass(4).await;
    running.kill().await;
    outside.observe(&cluster);
    let cut = format!("{image}, killed at write {step}, committed: {committed}");
    let running = outside.operate(&cluster);
    cluster.until_gone("edgeapps", "web").await;
    assert!(outside.journal.count("cleanup") > 0, "{cut}");
    assert_eq!(outside.journal.count("finalizer without"), 0, "{cut}");
    assert!(cluster.get("deployments", "web").is_null(), "{cut}");
    assert!(cluster.get("services", "web").is_null(), "{cut}");
    running.stop().await;
}

/// The Deployment is created, nobody answers, and its watch does not show it yet.
pub async fn a_child_whose_creation_was_not_answered_goes_before_the_finalizer(mode: Mode) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    let running = outside.operate(&cluster);
    running.until_ready().await;
    let faults = cluster.server.faults();
    faults.on_watch(|facts| match (facts.user, facts.resource) {
        ("tare", "deployments") => WatchFault::Stall,
        _ => WatchFault::Pass,
    });
    outside.observe_with(&cluster, |facts| {
        match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") => RequestFault::AfterDrop,
            _ => RequestFault::Pass,
        }
    });
    cluster.create("web", web()).await;
    cluster
        .until("the Deployment is there", |cluster| {
            !cluster.get("deployments", "web").is_null()
        })
        .await;
    cluster.delete("web").await;
    gone_with_cleanup(&cluster, &outside, "web", "spec").await;
    running.stop().await;
}

pub async fn a_crash_during_a_cleanup_repeats_it(mode: Mode) {
    let cluster = Simulated::new(mode);
    let outside = Outside::default();
    outside.observe(&cluster);
    let running = outside.operate_web(&cluster).await;
    *outside.hang.lock().unwrap() = true;
    cluster.delete("web").await;
    cluster
        .until("the cleanup has begun", |_| {
            outside.journal.count("cleanup") == 1
        })
        .await;
    running.kill().await;
    assert!(
        !cluster.get("edgeapps", "web").is_null(),
        "the finalizer holds it"
    );
    *outside.hang.lock().unwrap() = false;
    let running = outside.operate(&cluster);
    gone_with_cleanup(&cluster, &outside, "web", "spec").await;
    running.stop().await;
}
