//! Of two replicas with `--leader-elect` the one that works is killed, again and again.

use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::account::{NAMESPACE, SHIPPED};
use crate::cluster::objects::{container, web};
use crate::overload::record::{Figures, seconds};
use crate::overload::setting::{Operator, Setting, program};
use crate::overload::wait;

const OWNERS: usize = 12;
const KILLS: usize = 8;
const LEASE: &str = "case";
const LIMIT: Duration = Duration::from_secs(20);
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Between a standby's first look at the Lease and the kill, by which the kills meet a Lease of another age.
const APART: Duration = Duration::from_millis(700);

pub async fn another_replica_follows_each_kill(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let cluster = &setting.cluster;
    allow_the_lease(cluster).await;
    let mut works = replica(setting).await?;
    wait::create(cluster, "web", OWNERS, &web()).await;
    wait::until_running(cluster, "web", OWNERS, READY_WITHIN, figures).await?;
    let (mut rows, mut longest) = (Vec::new(), Duration::ZERO);
    for nth in 1..=KILLS {
        let stands_by = replica(setting).await?;
        tokio::time::sleep(APART * nth as u32).await;
        works.kill();
        let killed = Instant::now();
        let image = format!("registry.local/web:{nth}");
        cluster.change("web-0", json!({ "image": image })).await;
        let is_made = |object: &Value| container(object)["image"] == image;
        cluster
            .until("the other replica works", "deployments", "web-0", is_made)
            .await;
        rows.push(vec![nth as f64, seconds(killed.elapsed())]);
        longest = longest.max(killed.elapsed());
        works = stands_by;
    }
    figures.samples("followed", &["kill", "s"], rows);
    figures.tell("kills", KILLS as f64, "");
    figures.within(
        "longest from a kill to a write of the other",
        longest,
        LIMIT,
    );
    wait::until_running(cluster, "web", OWNERS, READY_WITHIN, figures).await?;
    wait::check_children(cluster, OWNERS).await?;
    // That of its beginning.
    let relists = works.figure("tare_relists_completed_total").await?;
    figures.at_most("relists of the last one", relists, "", 1.0);
    Ok(())
}

/// One that works, or that stands by.
async fn replica(setting: &Setting) -> Result<Operator, Failed> {
    let started = setting.start_by(setting.direct(), |mut arguments| {
        arguments.extend(["--leader-elect", "--lease", LEASE].map(str::to_owned));
        Ok((program(), arguments))
    });
    let operator = started.await?;
    operator.until_ready(READY_WITHIN).await?;
    Ok(operator)
}

/// As `deploy/two-replicas` does for its own namespace.
async fn allow_the_lease(cluster: &Cluster) {
    let group = "rbac.authorization.k8s.io";
    let api_version = format!("{group}/v1");
    let role = json!({
        "apiVersion": api_version, "kind": "Role", "metadata": { "name": LEASE },
        "rules": [{
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "verbs": ["create", "get", "patch"],
        }],
    });
    cluster.make("roles", role).await;
    let binding = json!({
        "apiVersion": api_version, "kind": "RoleBinding", "metadata": { "name": LEASE },
        "roleRef": { "apiGroup": group, "kind": "Role", "name": LEASE },
        "subjects": [{ "kind": "ServiceAccount", "name": SHIPPED, "namespace": NAMESPACE }],
    });
    cluster.make("rolebindings", binding).await;
}
