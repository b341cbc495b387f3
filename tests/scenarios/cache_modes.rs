//! What each cache mode reads for which change: the table of `cache`, request by request.

use std::sync::atomic::Ordering::Relaxed;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubesim::WatchFault;
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;

use crate::cluster::objects::web;
use crate::cluster::simulated::{Running, Simulated, lossy, pass};

/// GETs by the operator: of the owner, of the Service, of the Deployment.
fn gets(cluster: &Simulated) -> [u64; 3] {
    ["edgeapps", "services", "deployments"].map(|resource| cluster.requests("get", resource))
}

/// A cluster in which `web` is idle.
pub async fn with_idle_web(mode: Mode) -> (Simulated, Running) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(70).await;
    assert_eq!(running.metrics.entries.load(Relaxed), 0, "web is idle");
    (cluster, running)
}

#[derive(Debug, Clone, Copy)]
enum Change {
    AnnotateService,
    EditService,
    DeleteService,
    EditDeployment,
    DeleteDeployment,
    NewImage,
    RemovePort,
    DeleteOwner,
    LabelOwner,
}

impl Change {
    async fn make(self, cluster: &Simulated) {
        let services: Api<Service> = cluster.api();
        let deployments: Api<Deployment> = cluster.api();
        let plain = PatchParams::default();
        match self {
            Self::AnnotateService => {
                let patch = Patch::Merge(json!({"metadata": {"annotations": {"a": "b"}}}));
                services.patch("web", &plain, &patch).await.unwrap();
            }
            Self::EditService => {
                let patch = Patch::Merge(json!({"spec": {"ports": [{"port": 81}]}}));
                services.patch("web", &plain, &patch).await.unwrap();
            }
            Self::DeleteService => {
                services
                    .delete("web", &DeleteParams::default())
                    .await
                    .unwrap();
            }
            Self::EditDeployment => {
                let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
                deployments.patch("web", &plain, &patch).await.unwrap();
            }
            Self::DeleteDeployment => {
                deployments
                    .delete("web", &DeleteParams::default())
                    .await
                    .unwrap();
            }
            Self::NewImage => cluster.change("web", json!({"image": "web:2"})).await,
            Self::RemovePort => {
                let patch = json!({"port": null, "headless": null});
                cluster.change("web", patch).await;
            }
            Self::DeleteOwner => cluster.delete("web").await,
            Self::LabelOwner => {
                let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
                cluster
                    .edgeapps()
                    .patch("web", &plain, &patch)
                    .await
                    .unwrap();
            }
        }
    }

    /// Whether the cluster is as it has to be afterwards.
    fn is_done(self, cluster: &Simulated) -> bool {
        let (service, deployment) = (
            cluster.get("services", "web"),
            cluster.get("deployments", "web"),
        );
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        match self {
            Self::DeleteOwner => cluster.get("edgeapps", "web").is_null(),
            Self::RemovePort => service.is_null() && !deployment.is_null(),
            Self::NewImage => container["image"] == "web:2",
            _ => service["spec"]["ports"][0]["port"] == 80 && deployment["spec"]["replicas"] == 1,
        }
    }

    /// GETs of the owner, the Service and the Deployment.
    fn reads(self, mode: Mode) -> [u64; 3] {
        match (self, mode) {
            // The owner may be gone, too: it is read before anything is made for it.
            (Self::DeleteService | Self::DeleteDeployment, _) => [1, 0, 0],
            // What is written is computed from the child as it is.
            (Self::NewImage | Self::RemovePort, Mode::Pruned) => [0, 0, 1],
            // The garbage collector deletes the children.
            (Self::DeleteOwner, _) | (_, Mode::Pruned) => [0, 0, 0],
            (Self::AnnotateService | Self::EditService, Mode::Metadata) => [1, 1, 0],
            (Self::AnnotateService | Self::EditService | Self::EditDeployment, _) => [1, 0, 0],
            (_, Mode::None) => [0, 1, 1],
            (_, Mode::Metadata) => [1, 1, 1],
        }
    }
}

pub async fn work_on_an_idle_owner_reads_what_the_mode_does_not_retain(mode: Mode) {
    for change in [
        Change::AnnotateService,
        Change::EditService,
        Change::DeleteService,
        Change::EditDeployment,
        Change::DeleteDeployment,
        Change::NewImage,
        Change::RemovePort,
        Change::DeleteOwner,
        Change::LabelOwner,
    ] {
        let (cluster, running) = with_idle_web(mode).await;
        let before = gets(&cluster);
        change.make(&cluster).await;
        cluster
            .until(&format!("{change:?} is done"), |cluster| {
                change.is_done(cluster)
            })
            .await;
        pass(5).await;
        assert!(change.is_done(&cluster), "{change:?} is not undone again");
        let after = gets(&cluster);
        let reads = [0, 1, 2].map(|i| after[i] - before[i]);
        assert_eq!(reads, change.reads(mode), "{change:?}");
        running.stop().await;
    }
}

pub async fn a_workload_that_is_no_longer_ready_is_recognised_by_its_event(mode: Mode) {
    let (cluster, running) = with_idle_web(mode).await;
    let before = gets(&cluster);
    let deployments: Api<Deployment> = cluster.api();
    for (ready, phase) in [(0, "Progressing"), (1, "Running")] {
        let counts = json!({"readyReplicas": ready, "availableReplicas": ready});
        let status = Patch::Merge(json!({ "status": counts }));
        deployments
            .patch_status("web", &PatchParams::default(), &status)
            .await
            .unwrap();
        cluster.until_phase("web", phase).await;
        let told = cluster.get("edgeapps", "web")["status"]["readyReplicas"].clone();
        assert_eq!(told.as_i64().unwrap_or(0), ready);
        pass(5).await;
    }
    let after = gets(&cluster);
    let owner_reads = if mode == Mode::Pruned { 0 } else { 1 };
    // At the second change the owner has an entry, because it is not ready yet.
    assert_eq!([0, 1, 2].map(|i| after[i] - before[i]), [owner_reads, 0, 0]);
    running.stop().await;
}

pub async fn a_restart_reads_the_same_pages_and_nothing_else(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    for n in 0..250 {
        cluster.create(&format!("web-{n:03}"), web()).await;
    }
    cluster.until_phase("web-249", "Running").await;
    pass(70).await;
    running.stop().await;
    let (writes, reads) = (cluster.writes(), gets(&cluster));
    let lists = || ["edgeapps", "services", "deployments"].map(|r| cluster.requests("list", r));
    let before = lists();
    let again = cluster.operate();
    again.until_ready().await;
    pass(30).await;
    assert_eq!((cluster.writes(), gets(&cluster)), (writes, reads));
    let after = lists();
    assert_eq!([0, 1, 2].map(|i| after[i] - before[i]), [2, 2, 2]);
    again.stop().await;
}

pub async fn every_owner_that_exists_is_retained_and_no_other(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    let retained = |count: u64| if mode == Mode::None { 0 } else { count };
    for n in 0..40 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    cluster
        .until("all are Running", |cluster| {
            (0..40).all(|n| cluster.phase(&format!("web-{n}")) == "Running")
        })
        .await;
    pass(5).await;
    assert_eq!(running.metrics.cached_owners.load(Relaxed), retained(40));
    for n in 0..30 {
        cluster.delete(&format!("web-{n}")).await;
    }
    for n in 0..30 {
        cluster.until_gone("edgeapps", &format!("web-{n}")).await;
    }
    pass(5).await;
    assert_eq!(running.metrics.cached_owners.load(Relaxed), retained(10));
    // An hour later it is the same.
    pass(3_600).await;
    assert_eq!(running.metrics.cached_owners.load(Relaxed), retained(10));
    running.stop().await;
}

pub async fn owners_deleted_while_the_watch_lost_events_are_forgotten(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), lossy());
    for n in 0..10 {
        cluster.create(&format!("web-{n}"), web()).await;
        cluster.until_phase(&format!("web-{n}"), "Running").await;
    }
    pass(70).await;
    cluster.server.faults().on_watch(|facts| {
        match facts.user == "tare" && facts.resource == "edgeapps" {
            true => WatchFault::Drop,
            false => WatchFault::Pass,
        }
    });
    for n in 0..5 {
        let name = format!("web-{n}");
        cluster.delete(&name).await;
        cluster.until_gone("edgeapps", &name).await;
    }
    cluster.server.faults().clear();
    let writes = cluster.writes();
    pass(1_500).await;
    let retained = if mode == Mode::None { 0 } else { 5 };
    assert_eq!(running.metrics.cached_owners.load(Relaxed), retained);
    assert_eq!(cluster.server.objects("deployments").len(), 5);
    assert_eq!(cluster.writes(), writes, "nothing is made for what is gone");
    running.stop().await;
}
