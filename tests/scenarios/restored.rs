//! Servers that are set back to a backup: their resourceVersions begin again at those of the backup.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kubesim::RequestFault;
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::{container, text, web};
use crate::cluster::simulated::{Running, Simulated, config, pass};

/// Alone: the server is set back to a backup, and uses resourceVersions again that the operator has seen.
pub async fn a_datastore_restored_from_a_backup_is_noticed(cluster: Cluster) {
    let mut operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.create("deleted", web()).await;
    cluster.until_all_running(2).await;
    let plane = &cluster.as_real().plane;
    let backup = plane.back_up(&cluster.namespace).await;
    cluster.until_quiet(&["tare"]).await;
    cluster.delete("edgeapps", "deleted").await;
    for replicas in 2..12 {
        cluster.change("web", json!({ "replicas": replicas })).await;
    }
    cluster.create("later", web()).await;
    cluster.until_all_running(2).await;
    // More than a server writes by itself when it starts, so that its resourceVersions stay below what was seen.
    let busy = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "busy" } });
    cluster.make("configmaps", busy).await;
    for n in 0..1_500 {
        let change = json!({ "data": { "n": n.to_string() } });
        cluster.patch("configmaps", "busy", change).await;
    }
    let mark = json!({ "metadata": { "annotations": { "last": "change" } } });
    for resource in ["edgeapps", "deployments", "services"] {
        cluster.patch(resource, "web", mark.clone()).await;
    }
    cluster.until_quiet(&["tare"]).await;

    plane.restore(&backup).await;
    operator
        .until_figure("tare_watch_restarts_total{reason=\"Backwards\"}", |times| {
            times >= 1.0
        })
        .await;
    // The one that was deleted is back, and the one that was created later is not there.
    let all = cluster.until_all_running(2).await;
    assert!(all.iter().all(|one| text(one, "/metadata/name") != "later"));
    cluster.create("later", web()).await;
    cluster.until_running("later").await;
    let edit = json!({ "spec": { "replicas": 9 } });
    cluster.patch("deployments", "deleted", edit).await;
    let is_set_back = |child: &serde_json::Value| child["spec"]["replicas"] == 1;
    cluster
        .until("the edit is undone", "deployments", "deleted", is_set_back)
        .await;
    operator.assert_alive();
    operator.terminate().await;
    cluster.end().await;
}

/// A server, and the same one from a backup: it has one of the owners, with an older spec and without its Service.
struct Restored {
    before: Simulated,
    after: Simulated,
    is_restored: Arc<AtomicBool>,
}

impl Restored {
    async fn start(mode: Mode, config: Config) -> (Restored, Running) {
        let (before, after) = (Simulated::new(mode), Simulated::new(mode));
        let is_restored = Arc::new(AtomicBool::new(false));
        let (old, new) = (before.server.client("tare"), after.server.client("tare"));
        let switch = Arc::clone(&is_restored);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let client = match switch.load(Relaxed) {
                true => new.clone(),
                false => old.clone(),
            };
            async move { client.send(request).await.map_err(tower::BoxError::from) }
        });
        let running = before.operate_with(EdgeApps, Client::new(service, "default"), config);
        for n in 0..50 {
            before.create(&format!("old-{n}"), web()).await;
        }
        before.until_all_running(50).await;
        after
            .create("old-7", json!({ "image": "registry.local/web:0" }))
            .await;
        assert!(after.server.revision() < before.server.revision());
        let restored = Restored {
            before,
            after,
            is_restored,
        };
        (restored, running)
    }

    /// Everything that is on the restored server, and what happens there later, is seen.
    async fn until_it_is_watched(&self, running: &Running) {
        let after = &self.after;
        after.until_phase("old-7", "Running").await;
        after.create("web", web()).await;
        after.until_phase("web", "Running").await;
        let deployments = after.api::<k8s_openapi::api::apps::v1::Deployment>();
        let edit = Patch::Merge(json!({ "spec": { "replicas": 9 } }));
        let how = PatchParams::default();
        let edited = deployments.patch("old-7", &how, &edit).await;
        edited.expect("edit the Deployment");
        let is_set_back =
            |cluster: &Simulated| cluster.get("deployments", "old-7")["spec"]["replicas"] == 1;
        after.until("the edit is undone", is_set_back).await;
        after
            .change("old-7", json!({ "image": "registry.local/web:3" }))
            .await;
        let has_it = |cluster: &Simulated| {
            container(&cluster.get("deployments", "old-7"))["image"] == "registry.local/web:3"
        };
        after.until("the new image is there", has_it).await;
        assert!(
            after.server.revision() < self.before.server.revision(),
            "noticed before the server was as far as it had been"
        );
        let lists = after.requests("list", "edgeapps");
        pass(1_500).await;
        assert!(
            after.requests("list", "edgeapps") <= lists + 2,
            "one relist is enough"
        );
        assert_eq!(running.metrics.entries.load(Relaxed), 0);
    }
}

/// The watches end with the server, and find it restored when they are opened again.
pub async fn a_server_restored_from_an_old_backup_is_noticed_when_a_watch_opens(mode: Mode) {
    let (restored, running) = Restored::start(mode, config()).await;
    restored.is_restored.store(true, Relaxed);
    restored.before.server.close_watches();
    restored.until_it_is_watched(&running).await;
    running.stop().await;
}

/// The watches stay open and silent. A relist finds the server restored.
pub async fn a_server_restored_from_an_old_backup_is_noticed_by_a_list(mode: Mode) {
    let config = Config {
        resync: Some(Duration::from_secs(40)),
        ..config()
    };
    let (restored, running) = Restored::start(mode, config).await;
    restored.is_restored.store(true, Relaxed);
    let after = &restored.after;
    after.until_phase("old-7", "Running").await;
    after.create("web", web()).await;
    after
        .until("it is watched", |cluster| cluster.phase("web") == "Running")
        .await;
    running.stop().await;
}

/// Others have written as much as was lost before a watch is opened. What events have shown was lost with it.
pub async fn a_restored_server_that_has_caught_up_is_noticed_by_a_list(mode: Mode) {
    let cluster = Simulated::slow(mode);
    let config = Config {
        resync: Some(Duration::from_secs(40)),
        ..config()
    };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(2).await;
    let backup = cluster.server.backup();
    // Its status is not written yet: events of children are merged for a second.
    let deployments = cluster.api::<k8s_openapi::api::apps::v1::Deployment>();
    let edit = Patch::Merge(json!({ "spec": { "minReadySeconds": 5 } }));
    let how = PatchParams::default();
    let edited = deployments.patch("web", &how, &edit).await;
    edited.expect("edit the Deployment");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let lost = cluster.server.revision();
    cluster.server.restore(&backup);
    let config_maps = cluster.api::<k8s_openapi::api::core::v1::ConfigMap>();
    for n in 0.. {
        if cluster.server.revision() > lost {
            break;
        }
        let other = json!({ "metadata": { "name": format!("other-{n}") } });
        let other = serde_json::from_value(other).expect("a ConfigMap");
        let made = config_maps.create(&Default::default(), &other).await;
        made.expect("create a ConfigMap");
    }
    pass(60).await;
    assert_eq!(cluster.phase("web"), "Running");
    running.stop().await;
}

/// A worker waits for an answer of the server that was restored meanwhile.
pub async fn work_in_flight_on_a_server_that_is_restored_is_done_again(mode: Mode) {
    let (restored, running) = Restored::start(mode, config()).await;
    restored.before.server.faults().on_request(|facts| {
        match (facts.user, facts.verb, facts.resource) {
            ("tare", "patch", "deployments") => RequestFault::Delay(Duration::from_secs(8)),
            _ => RequestFault::Pass,
        }
    });
    restored
        .before
        .change("old-7", json!({ "image": "registry.local/web:9" }))
        .await;
    pass(1).await;
    restored.is_restored.store(true, Relaxed);
    restored.before.server.close_watches();
    pass(15).await;
    restored.until_it_is_watched(&running).await;
    running.stop().await;
}
