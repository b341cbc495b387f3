//! A server that refuses everything for minutes, while many owners wait.

use kubesim::{RequestFacts, RequestFault};
use tare_runtime::cache::Mode;

use crate::cluster::objects::web;
use crate::cluster::simulated::{Simulated, pass};

/// More than have entries.
const OWNERS: usize = 1_000;
/// Back-off has grown to minutes by then.
const OUTAGE_S: u64 = 300;
const WITHIN_S: u64 = 60;

/// The watches stay open, so that the operator knows of every owner and fails at each.
pub async fn owners_that_waited_through_an_outage_are_ready_soon_after(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster.server.faults().on_request(unavailable);
    for n in 0..OWNERS {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    pass(OUTAGE_S).await;
    cluster.server.faults().clear();
    pass(WITHIN_S).await;
    let all = cluster.server.objects("edgeapps");
    let ready = all.iter().filter(|one| one["status"]["phase"] == "Running");
    assert_eq!(ready.count(), OWNERS, "Running {WITHIN_S} s after");
    running.stop().await;
}

fn unavailable(facts: &RequestFacts<'_>) -> RequestFault {
    match facts.user {
        "tare" => RequestFault::Status {
            code: 503,
            reason: "ServiceUnavailable".to_owned(),
            message: "no server".to_owned(),
            retry_after_s: None,
        },
        _ => RequestFault::Pass,
    }
}
