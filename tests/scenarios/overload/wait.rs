//! Waiting for many EdgeApps, without reading them whole.

use std::time::Duration;

use futures::StreamExt;
use http::Request;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::overload::record::{Figures, seconds};

/// As kubectl prints a list: a row has the name and the printer columns, of which the first is the phase.
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
/// Between two polls at least; a poll that takes long is followed by a pause that is longer, so that the server is
/// mostly free.
const POLL_EVERY: Duration = Duration::from_millis(250);
const PAUSE_TIMES: u32 = 8;
const CREATED_AT_ONCE: usize = 16;
const RUNNING: &str = "Running";
/// Of so many that are not Running a failure says what the server has of them.
const SHOWN: usize = 3;

/// Creates `PREFIX-0`, `PREFIX-1`, ... with this spec.
pub async fn create(cluster: &Cluster, prefix: &str, count: usize, spec: &Value) {
    let creating = (0..count)
        .map(|n| async move { cluster.create(&format!("{prefix}-{n}"), spec.clone()).await });
    let mut creating = futures::stream::iter(creating).buffer_unordered(CREATED_AT_ONCE);
    while creating.next().await.is_some() {}
}

/// Waits until `count` EdgeApps whose names begin with `prefix` are Running; how long that took. How many they were is
/// among the samples.
pub async fn until_running(
    cluster: &Cluster,
    prefix: &str,
    count: usize,
    within: Duration,
    figures: &mut Figures,
) -> Result<Duration, Failed> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let waited = poll_running(cluster, prefix, count, within, &mut rows).await;
    figures.samples(&format!("Running: {prefix}-…"), &["s", "EdgeApps"], rows);
    waited
}

async fn poll_running(
    cluster: &Cluster,
    prefix: &str,
    count: usize,
    within: Duration,
    rows: &mut Vec<Vec<f64>>,
) -> Result<Duration, Failed> {
    let began = Instant::now();
    loop {
        let polled = Instant::now();
        let phases = phases(cluster, prefix).await?;
        let running = phases.iter().filter(|(_, phase)| phase == RUNNING).count();
        if rows.last().is_none_or(|row| row[1] != running as f64) {
            rows.push(vec![seconds(began.elapsed()), running as f64]);
        }
        if running == count {
            return Ok(began.elapsed());
        }
        if began.elapsed() > within {
            let late = phases.into_iter().filter(|(_, phase)| phase != RUNNING);
            let late: Vec<String> = late.map(|(name, _)| name).take(SHOWN).collect();
            let found = found(cluster, &late).await;
            return Err(format!(
                "{running} of {count} {prefix}-… Running after {within:?}; {found}"
            )
            .into());
        }
        tokio::time::sleep(POLL_EVERY.max(PAUSE_TIMES * polled.elapsed())).await;
    }
}

/// The names with this prefix, and the phase of each.
async fn phases(cluster: &Cluster, prefix: &str) -> Result<Vec<(String, String)>, Failed> {
    let path = format!("{}?includeObject=None", cluster.path("edgeapps", ""));
    let request = Request::get(path).header(http::header::ACCEPT, TABLE);
    let table: Value = cluster.client.request(request.body(Vec::new())?).await?;
    let rows = table["rows"].as_array().ok_or("a table without rows")?;
    let cell = |row: &Value, n: usize| row["cells"][n].as_str().unwrap_or_default().to_owned();
    let all = rows.iter().map(|row| (cell(row, 0), cell(row, 1)));
    Ok(all.filter(|(name, _)| name.starts_with(prefix)).collect())
}

/// What the server has of these EdgeApps and of their children.
async fn found(cluster: &Cluster, names: &[String]) -> String {
    let mut found = Vec::new();
    for name in names {
        for resource in ["edgeapps", "deployments", "services"] {
            let object = cluster.get(resource, name).await;
            let (metadata, status) = (&object["metadata"], &object["status"]);
            found.push(format!("{resource}/{name}: {metadata}, status {status}"));
        }
    }
    found.join("; ")
}

/// Whether each of the EdgeApps has one Deployment and one Service.
pub async fn check_children(cluster: &Cluster, count: usize) -> Result<(), Failed> {
    for resource in ["deployments", "services"] {
        let all = cluster.all(resource).await;
        let mut owners: Vec<&Value> = all
            .iter()
            .map(|one| &one["metadata"]["ownerReferences"][0]["uid"])
            .collect();
        owners.sort_by_key(|uid| uid.to_string());
        owners.dedup();
        if all.len() != count || owners.len() != count || owners.contains(&&json!(null)) {
            let (found, owners) = (all.len(), owners.len());
            return Err(format!("{found} {resource} of {owners} owners, not {count}").into());
        }
    }
    Ok(())
}
