//! What each cache mode reads for which change: the table of `src/cache/mod.rs`, request by request.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use support::{Running, World, pass, web};
use tare_runtime::cache::Mode;

in_every_mode! {
    work_on_an_owner_at_rest_reads_what_the_mode_does_not_keep,
    a_workload_that_is_no_longer_ready_is_told_from_its_event,
    a_restart_reads_the_same_pages_and_nothing_else,
    what_is_kept_is_what_there_is,
    owners_deleted_while_the_watches_were_blind_are_forgotten,
}

/// GETs by the operator: of the owner, of the Service, of the Deployment.
fn gets(world: &World) -> [u64; 3] {
    ["edgeapps", "services", "deployments"].map(|resource| world.requests("get", resource))
}

/// A world in which `web` has come to rest.
async fn at_rest(mode: Mode) -> (World, Running) {
    let world = World::new(mode);
    let running = world.operate();
    running.until_ready().await;
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    pass(70).await;
    assert_eq!(
        running.metrics.entries.load(Relaxed),
        0,
        "it has come to rest"
    );
    (world, running)
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
}

impl Change {
    async fn make(self, world: &World) {
        let services: Api<Service> = world.api();
        let deployments: Api<Deployment> = world.api();
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
            Self::NewImage => world.change("web", json!({"image": "web:2"})).await,
            Self::RemovePort => {
                let patch = json!({"port": null, "headless": null});
                world.change("web", patch).await;
            }
            Self::DeleteOwner => world.delete("web").await,
        }
    }

    /// Whether the cluster is as it has to be afterwards.
    fn is_done(self, world: &World) -> bool {
        let (service, deployment) = (
            world.get("services", "web"),
            world.get("deployments", "web"),
        );
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        match self {
            Self::DeleteOwner => world.get("edgeapps", "web").is_null(),
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
            (_, Mode::Pruned) => [0, 0, 0],
            (Self::AnnotateService | Self::EditService, Mode::Metadata) => [1, 1, 0],
            (Self::AnnotateService | Self::EditService | Self::EditDeployment, _) => [1, 0, 0],
            (_, Mode::None) => [0, 1, 1],
            (_, Mode::Metadata) => [1, 1, 1],
        }
    }
}

async fn work_on_an_owner_at_rest_reads_what_the_mode_does_not_keep(mode: Mode) {
    for change in [
        Change::AnnotateService,
        Change::EditService,
        Change::DeleteService,
        Change::EditDeployment,
        Change::DeleteDeployment,
        Change::NewImage,
        Change::RemovePort,
        Change::DeleteOwner,
    ] {
        let (world, running) = at_rest(mode).await;
        let before = gets(&world);
        change.make(&world).await;
        world
            .until(&format!("{change:?} is done"), |w| change.is_done(w))
            .await;
        pass(5).await;
        assert!(change.is_done(&world), "{change:?} is not undone again");
        let after = gets(&world);
        let reads = [0, 1, 2].map(|i| after[i] - before[i]);
        assert_eq!(reads, change.reads(mode), "{change:?}");
        running.stop().await;
    }
}

async fn a_workload_that_is_no_longer_ready_is_told_from_its_event(mode: Mode) {
    let (world, running) = at_rest(mode).await;
    let before = gets(&world);
    let deployments: Api<Deployment> = world.api();
    for (ready, phase) in [(0, "Progressing"), (1, "Running")] {
        let status = Patch::Merge(json!({"status": {"readyReplicas": ready}}));
        deployments
            .patch_status("web", &PatchParams::default(), &status)
            .await
            .unwrap();
        world.until_phase("web", phase).await;
        let told = world.get("edgeapps", "web")["status"]["readyReplicas"].clone();
        assert_eq!(told.as_i64().unwrap_or(0), ready);
        pass(5).await;
    }
    let after = gets(&world);
    let owner_reads = if mode == Mode::Pruned { 0 } else { 1 };
    // The second change finds it held: not ready is waited for.
    assert_eq!([0, 1, 2].map(|i| after[i] - before[i]), [owner_reads, 0, 0]);
    running.stop().await;
}

async fn a_restart_reads_the_same_pages_and_nothing_else(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    for n in 0..250 {
        world.create(&format!("web-{n:03}"), web()).await;
    }
    world.until_phase("web-249", "Running").await;
    pass(70).await;
    running.stop().await;
    let (writes, reads) = (world.writes(), gets(&world));
    let lists = || ["edgeapps", "services", "deployments"].map(|r| world.requests("list", r));
    let before = lists();
    let again = world.operate();
    again.until_ready().await;
    pass(30).await;
    assert_eq!((world.writes(), gets(&world)), (writes, reads));
    let after = lists();
    assert_eq!([0, 1, 2].map(|i| after[i] - before[i]), [3, 3, 3]);
    again.stop().await;
}

async fn what_is_kept_is_what_there_is(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    running.until_ready().await;
    let kept = |count: u64| if mode == Mode::None { 0 } else { count };
    for n in 0..40 {
        world.create(&format!("web-{n}"), web()).await;
    }
    world
        .until("all are Running", |w| {
            (0..40).all(|n| w.phase(&format!("web-{n}")) == "Running")
        })
        .await;
    pass(5).await;
    assert_eq!(running.metrics.cached_owners.load(Relaxed), kept(40));
    for n in 0..30 {
        world.delete(&format!("web-{n}")).await;
    }
    for n in 0..30 {
        world.until_gone("edgeapps", &format!("web-{n}")).await;
    }
    pass(5).await;
    assert_eq!(running.metrics.cached_owners.load(Relaxed), kept(10));
    // Six resyncs find the same.
    pass(3_600).await;
    assert_eq!(running.metrics.cached_owners.load(Relaxed), kept(10));
    running.stop().await;
}

async fn owners_deleted_while_the_watches_were_blind_are_forgotten(mode: Mode) {
    use kubesim::WatchFault;
    let world = World::new(mode);
    let running = world.operate();
    for n in 0..10 {
        world.create(&format!("web-{n}"), web()).await;
        world.until_phase(&format!("web-{n}"), "Running").await;
    }
    pass(70).await;
    world.server.faults().on_watch(|facts| {
        match facts.user == "tare" && facts.resource == "edgeapps" {
            true => WatchFault::Drop,
            false => WatchFault::Pass,
        }
    });
    // Their finalizer goes by another hand, so that the operator has no part in it.
    for n in 0..5 {
        let name = format!("web-{n}");
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let edgeapps = world.edgeapps();
        edgeapps
            .patch(&name, &PatchParams::default(), &free)
            .await
            .unwrap();
        world.delete(&name).await;
        world.until_gone("edgeapps", &name).await;
    }
    world.server.faults().clear();
    let writes = world.writes();
    pass(1_500).await;
    let kept = if mode == Mode::None { 0 } else { 5 };
    assert_eq!(running.metrics.cached_owners.load(Relaxed), kept);
    assert_eq!(world.server.objects("deployments").len(), 5);
    assert_eq!(world.writes(), writes, "nothing is made for what is gone");
    running.stop().await;
}
