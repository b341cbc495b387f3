//! What an author tells beside the status: Events that are no fault, and numbers of his own.

use std::convert::Infallible;
use std::time::Duration;

use serde_json::{Value, json};
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, Event, Kind, Metric, Operator, Owner, Plan, Requeue,
};
use tare_runtime::cache::Mode;

use crate::authors::Status;
use crate::cluster::objects::text;
use crate::cluster::simulated::{Simulated, config, lossy, pass};

static PLANNED: Metric = Metric::counter("images_planned_total", "Images planned.");
static REPLICAS: Metric = Metric::gauge("planned_replicas", "Replicas of the last plan.");

/// An operator for EdgeApps that become a ConfigMap, and tells which image that has once it is there.
struct Telling;

impl Operator for Telling {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];
    // Each owner is planned that often.
    const DRIFT_PERIOD: Option<Duration> = Some(Duration::from_secs(600));

    fn plan(&self, owner: &Owner<Self>, seen: &Children) -> Result<Plan<Status>, Infallible> {
        PLANNED.add(1);
        REPLICAS.set(owner.spec.replicas.try_into().unwrap_or_default());
        let (name, image) = (&*owner.meta.name, &*owner.spec.image);
        let is_there = seen.get(&CONFIG_MAP, name).is_some();
        let data = json!({"data": {"image": image}});
        Ok(Plan {
            children: vec![Child::new(CONFIG_MAP, name, data)],
            status: Status {
                ready_replicas: owner.spec.replicas,
                observed_generation: Some(owner.meta.generation),
                conditions: vec![Condition::new("Ready", is_there, "Planned", "", 0)],
                ..Status::default()
            },
            requeue: Requeue::Default,
        })
    }

    fn event(&self, owner: &Owner<Self>, seen: &Children) -> Option<Event> {
        let is_there = seen.get(&CONFIG_MAP, &owner.meta.name).is_some();
        is_there.then(|| Event::new("Planned", format!("the image is {}", owner.spec.image)))
    }

    fn metrics() -> Vec<&'static Metric> {
        vec![&PLANNED, &REPLICAS]
    }
}

fn events(cluster: &Simulated) -> Vec<Value> {
    cluster.server.objects("events")
}

async fn until_told(cluster: &Simulated, count: usize, message: &str) {
    cluster
        .until(&format!("told: {message}"), |cluster| {
            let events = events(cluster);
            let is_it = |event: &&Value| event["message"] == message;
            events.len() == count && events.iter().filter(is_it).count() == 1
        })
        .await;
}

pub async fn what_is_no_fault_is_told_once_for_each_change(mode: Mode) {
    let cluster = Simulated::new(mode);
    let start = || cluster.operate_with(Telling, cluster.server.client("tare"), lossy());
    let running = start();
    cluster.create("web", json!({"image": "web:1"})).await;
    until_told(&cluster, 1, "the image is web:1").await;
    let event = &events(&cluster)[0];
    assert_eq!(text(event, "/type"), "Normal");
    assert_eq!(text(event, "/reason"), "Planned");
    assert_eq!(text(event, "/involvedObject/name"), "web");
    // Relists that find it as it is.
    let tried = cluster.requests("create", "events");
    pass(3_600).await;
    assert_eq!(cluster.requests("create", "events"), tried);
    // A start that does.
    running.stop().await;
    let running = start();
    running.until_ready().await;
    pass(3_600).await;
    assert_eq!(cluster.requests("create", "events"), tried);
    // Another status that says the same.
    cluster.change("web", json!({"replicas": 3})).await;
    cluster
        .until("its status is written", |cluster| {
            cluster.get("edgeapps", "web")["status"]["readyReplicas"] == 3
        })
        .await;
    pass(60).await;
    assert_eq!(events(&cluster).len(), 1);
    // And one that says something else.
    cluster.change("web", json!({"image": "web:2"})).await;
    until_told(&cluster, 2, "the image is web:2").await;
    assert_eq!(running.metrics.errors(), 0);
    running.stop().await;
}

pub async fn an_authors_metrics_stand_on_the_page(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(Telling, cluster.server.client("tare"), config());
    cluster
        .create("web", json!({"image": "web:1", "replicas": 4}))
        .await;
    cluster
        .until("it is ready", |cluster| {
            cluster.condition("web", "Ready")["status"] == "True"
        })
        .await;
    let page = running.rendered_metrics();
    let value = |name: &str| -> Option<u64> {
        let line = page.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    // Scenarios share the process, and its numbers.
    assert!(value("tare_images_planned_total ") >= Some(1), "{page}");
    assert!(value("tare_planned_replicas ").is_some(), "{page}");
    assert!(page.contains("# TYPE tare_images_planned_total counter\n"));
    assert!(page.contains("# TYPE tare_planned_replicas gauge\n"));
    running.stop().await;
}
