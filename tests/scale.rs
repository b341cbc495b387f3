//! The bounds at the sizes they are for.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use kubesim::RequestFault;
use serde_json::json;
use support::{World, config, pass, web};
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::queue::Limits;

/// 50,000 owners whose children the server refuses: entries and specs stay within their bounds,
/// every owner is tried, none is tried in a storm, and a healthy one is not delayed.
#[tokio::test(start_paused = true)]
async fn fifty_thousand_failing_objects_stay_within_the_bounds() {
    const COUNT: usize = 50_000;
    let world = World::new(Mode::None);
    world
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") if facts.namespace == Some("default") => {
                RequestFault::Status {
                    code: 422,
                    reason: "Invalid".to_owned(),
                    message: "policy".to_owned(),
                    retry_after_s: None,
                }
            }
            _ => RequestFault::Pass,
        });
    let spec = json!({"image": "web:1"});
    for chunk in 0..COUNT / 500 {
        let names: Vec<String> = (0..500).map(|n| format!("bad-{chunk:03}-{n:03}")).collect();
        futures::future::join_all(names.iter().map(|name| world.create(name, spec.clone()))).await;
    }
    let running = world.operate_with(EdgeApps, world.server.client("tare"), config());
    let limits = Limits::default();
    let within = |when: &str| {
        let entries = running.metrics.entries.load(Relaxed) as usize;
        let bytes = running.metrics.spec_bytes.load(Relaxed) as usize;
        assert!(entries <= limits.entries, "{when}: {entries} entries");
        assert!(
            bytes <= limits.spec_bytes + limits.waiting_spec_bytes,
            "{when}: {bytes} bytes of specs"
        );
    };
    world
        .until("every owner was tried", |w| {
            within("while the join hands them out");
            w.requests("patch", "edgeapps/status") >= COUNT as u64
        })
        .await;
    let tried = world.requests("create", "deployments");
    pass(300).await;
    within("after five minutes of failing");
    let again = world.requests("create", "deployments") - tried;
    // Those that are held back off to five minutes; the others wait for the periodic join.
    assert!(
        again < 12 * limits.entries as u64,
        "{again} attempts in five minutes"
    );

    world.server.faults().clear();
    world.create("healthy", web()).await;
    let started = tokio::time::Instant::now();
    world.until_phase("healthy", "Running").await;
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    running.stop().await;
}
