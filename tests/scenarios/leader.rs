//! Two replicas of which one works: the Lease, failover, and that there is never more than one writer.
//!
//! Guarantees: who writes is read from the requests that the server has received, not from the replicas.
//! Leaves to others: what a candidate does next (`runtime/src/leader/lease.rs`), the manifests (`shipped`).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kubesim::{RequestFacts, RequestFault};
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use crate::cluster::objects::web;
use crate::cluster::simulated::{Running, Simulated, pass};

/// Another replica works within this time after a kill.
const FAILOVER: Duration = Duration::from_secs(20);
/// The names of Leases are not those of objects of ours.
const LEASE: &str = "tare";

/// The writes of the replicas: when, and who.
#[derive(Clone, Default)]
struct Writers(Arc<Mutex<Vec<(Instant, String)>>>);

impl Writers {
    /// Records every write that reaches the server; `fault` decides on requests for the Lease.
    fn record(
        &self,
        cluster: &Simulated,
        fault: impl Fn(&RequestFacts<'_>) -> RequestFault + Send + Sync + 'static,
    ) {
        let writes = Arc::clone(&self.0);
        cluster.server.faults().on_request(move |facts| {
            if facts.resource == "leases" {
                return fault(facts);
            }
            let is_write = !matches!(facts.verb, "get" | "list" | "watch");
            if is_write && facts.user != "user" {
                let mut writes = writes.lock().unwrap();
                writes.push((Instant::now(), facts.user.to_owned()));
            }
            RequestFault::Pass
        });
    }

    /// The users in the order of their writes, each once for every turn, with its first and its last write.
    fn turns(&self) -> Vec<(String, Instant, Instant)> {
        let mut turns: Vec<(String, Instant, Instant)> = Vec::new();
        for (at, user) in self.0.lock().unwrap().iter() {
            match turns.last_mut() {
                Some((last, _, until)) if last == user => *until = *at,
                _ => turns.push((user.clone(), *at, *at)),
            }
        }
        turns
    }

    fn users(&self) -> Vec<String> {
        self.turns().into_iter().map(|(user, ..)| user).collect()
    }
}

/// Changes an EdgeApp every half a second, so that whoever leads has something to write.
async fn keep_changing(cluster: &Simulated, seconds: u64) {
    for n in 0..2 * seconds {
        cluster
            .change("web", json!({ "replicas": 1 + n % 3 }))
            .await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Deletes an object that is no EdgeApp, as somebody with kubectl could.
async fn delete_child(cluster: &Simulated, resource: &str, name: &str) {
    let root = match resource {
        "deployments" => "/apis/apps/v1",
        "leases" => "/apis/coordination.k8s.io/v1",
        _ => "/api/v1",
    };
    let path = format!("{root}/namespaces/default/{resource}/{name}");
    let request = http::Request::delete(path).body(Vec::new());
    let request = request.expect("a valid request");
    let deleted = cluster.client.request::<Value>(request).await;
    deleted.expect("delete an object");
}

fn holder(cluster: &Simulated) -> String {
    let lease = cluster.get("leases", LEASE);
    let holder = lease["spec"]["holderIdentity"].as_str();
    holder.unwrap_or_default().to_owned()
}

fn is_standby(running: &Running) -> bool {
    running.metrics.is_standby() && running.metrics.readiness().is_ok()
}

pub async fn a_standby_is_ready_and_only_reads_the_lease(mode: Mode) {
    let cluster = Simulated::new(mode);
    let first = cluster.elect("first");
    first.until_ready().await;
    cluster
        .until("it leads", |_| !first.metrics.is_standby())
        .await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;

    let second = cluster.elect("second");
    cluster.until("it stands by", |_| is_standby(&second)).await;
    let metrics = second.rendered_metrics();
    for line in ["tare_leader 0", "tare_ready 1"] {
        assert!(metrics.lines().any(|one| one == line), "{line}: {metrics}");
    }
    assert!(first.rendered_metrics().contains("\ntare_leader 1\n"));
    let requests = || cluster.server.requests();
    let before = requests();
    pass(600).await;
    let after = requests();
    let reads = after.count("second", "get", "leases") - before.count("second", "get", "leases");
    assert!((290..=300).contains(&reads), "{reads} reads in ten minutes");
    assert_eq!(
        after.reads("second"),
        after.count("second", "get", "leases")
    );
    assert_eq!(after.writes("second"), 0);
    let renewals =
        after.count("first", "patch", "leases") - before.count("first", "patch", "leases");
    assert_eq!(after.writes("first") - before.writes("first"), renewals);
    first.stop().await;
    second.stop().await;
}

pub async fn a_replica_that_is_killed_is_followed_within_20_s(mode: Mode) {
    for killed_after_ms in [0, 700, 1_400, 1_990] {
        let cluster = Simulated::new(mode);
        let writers = Writers::default();
        writers.record(&cluster, |_| RequestFault::Pass);
        let first = cluster.elect("first");
        first.until_ready().await;
        cluster.create("web", web()).await;
        cluster.until_phase("web", "Running").await;
        let second = cluster.elect("second");
        cluster.until("it stands by", |_| is_standby(&second)).await;
        tokio::time::sleep(Duration::from_millis(killed_after_ms)).await;

        let killed = Instant::now();
        first.kill().await;
        // What changes while nobody works is found by the relist of the one that follows.
        cluster.change("web", json!({ "image": "web:2" })).await;
        delete_child(&cluster, "services", "web").await;
        cluster
            .until("the change is made", |cluster| {
                cluster
                    .get("deployments", "web")
                    .to_string()
                    .contains("web:2")
                    && !cluster.get("services", "web").is_null()
            })
            .await;
        let took = killed.elapsed();
        assert!(took <= FAILOVER, "{took:?} after {killed_after_ms} ms");
        assert!(
            took >= Duration::from_secs(12),
            "the Lease was not expired: {took:?}"
        );
        assert_eq!(writers.users(), ["first", "second"]);
        assert!(holder(&cluster).contains("second"));
        assert_eq!(
            second
                .metrics
                .relists_completed
                .load(std::sync::atomic::Ordering::Relaxed),
            1
        );
        second.stop().await;
    }
}

pub async fn a_replica_that_ends_in_order_is_followed_within_3_s(mode: Mode) {
    let cluster = Simulated::new(mode);
    let writers = Writers::default();
    writers.record(&cluster, |_| RequestFault::Pass);
    let first = cluster.elect("first");
    first.until_ready().await;
    let second = cluster.elect("second");
    cluster.until("it stands by", |_| is_standby(&second)).await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    let stopped = Instant::now();
    first.stop().await;
    assert_eq!(holder(&cluster), "", "it was released");
    cluster.change("web", json!({ "image": "web:2" })).await;
    cluster
        .until("the other works", |cluster| {
            cluster
                .get("deployments", "web")
                .to_string()
                .contains("web:2")
        })
        .await;
    let took = stopped.elapsed();
    assert!(took <= Duration::from_secs(3), "{took:?}");
    assert_eq!(writers.users(), ["first", "second"]);
    // A standby that ends leaves the Lease to its holder.
    let third = cluster.elect("third");
    cluster.until("it stands by", |_| is_standby(&third)).await;
    third.stop().await;
    assert!(holder(&cluster).contains("second"));
    second.stop().await;
}

/// Whatever happens to the requests for its Lease, a replica stops before another one begins.
pub async fn there_is_never_more_than_one_writer(mode: Mode) {
    type Fault = fn(&RequestFacts<'_>) -> RequestFault;
    let cut_off: [(&str, Fault); 4] = [
        ("hangs", |_| RequestFault::Hang),
        ("refused", |_| RequestFault::Status {
            code: 503,
            reason: "ServiceUnavailable".to_owned(),
            message: "away".to_owned(),
            retry_after_s: None,
        }),
        ("no permission", |_| {
            RequestFault::Status {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "leases.coordination.k8s.io \"tare\" is forbidden: User \"first\" cannot patch \
                      resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"default\""
                .to_owned(),
            retry_after_s: None,
        }
        }),
        ("writes hang", |facts| match facts.verb {
            "get" => RequestFault::Pass,
            _ => RequestFault::Hang,
        }),
    ];
    for (name, fault) in cut_off {
        let cluster = Simulated::new(mode);
        let writers = Writers::default();
        writers.record(&cluster, |_| RequestFault::Pass);
        let mut first = cluster.elect("first");
        first.until_ready().await;
        cluster.create("web", web()).await;
        cluster.until_phase("web", "Running").await;
        let second = cluster.elect("second");
        cluster.until("it stands by", |_| is_standby(&second)).await;

        writers.record(&cluster, move |facts| match facts.user {
            "first" => fault(facts),
            _ => RequestFault::Pass,
        });
        keep_changing(&cluster, 40).await;
        let turns = writers.turns();
        let [(one, _, stopped), (other, began, _)] = &turns[..] else {
            panic!("{name}: {:?}", writers.users());
        };
        assert_eq!(
            (one.as_str(), other.as_str()),
            ("first", "second"),
            "{name}"
        );
        let between = *began - *stopped;
        assert!(between >= Duration::from_secs(3), "{name}: {between:?}");
        assert!(between <= FAILOVER, "{name}: {between:?}");
        let lost = first.lost().await;
        assert!(
            lost.contains("lost the Lease default/tare"),
            "{name}: {lost}"
        );
        second.stop().await;
    }
}

/// A renewal whose answer is lost was made: the replica finds its own name and goes on.
pub async fn an_answer_that_is_lost_does_not_end_a_leader(mode: Mode) {
    let cluster = Simulated::new(mode);
    let writers = Writers::default();
    writers.record(&cluster, |facts| match facts.verb {
        // Also the one that creates it.
        "create" => RequestFault::AfterDrop,
        "patch" if facts.nth % 3 == 1 => RequestFault::AfterDrop,
        _ => RequestFault::Pass,
    });
    let first = cluster.elect("first");
    first.until_ready().await;
    let second = cluster.elect("second");
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    keep_changing(&cluster, 120).await;
    assert_eq!(writers.users(), ["first"]);
    assert!(first.is_alive() && is_standby(&second));
    first.stop().await;
    second.stop().await;
}

pub async fn a_lease_that_is_deleted_ends_its_holder_before_another_begins(mode: Mode) {
    let cluster = Simulated::new(mode);
    let writers = Writers::default();
    writers.record(&cluster, |_| RequestFault::Pass);
    let mut first = cluster.elect("first");
    first.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    let second = cluster.elect("second");
    cluster.until("it stands by", |_| is_standby(&second)).await;
    delete_child(&cluster, "leases", LEASE).await;
    keep_changing(&cluster, 30).await;
    let turns = writers.turns();
    assert_eq!(writers.users(), ["first", "second"]);
    let between = turns[1].1 - turns[0].2;
    assert!(between >= Duration::from_secs(5), "{between:?}");
    let lost = first.lost().await;
    assert!(lost.contains("somebody else has changed it"), "{lost}");
    second.stop().await;
}

/// A standby that cannot read the Lease could not take over: it is not ready, and says which permission is missing.
pub async fn a_standby_without_permission_for_the_lease_says_so(mode: Mode) {
    let cluster = Simulated::new(mode);
    let refused = Arc::new(Mutex::new(true));
    let refuses = Arc::clone(&refused);
    cluster.server.faults().on_request(move |facts| {
        match facts.resource == "leases" && *refuses.lock().unwrap() {
            true => RequestFault::Status {
                code: 403,
                reason: "Forbidden".to_owned(),
                message: "leases.coordination.k8s.io \"tare\" is forbidden: User \"tare\" cannot get \
                          resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"default\""
                    .to_owned(),
                retry_after_s: None,
            },
            false => RequestFault::Pass,
        }
    });
    let running = cluster.elect("tare");
    cluster
        .until("it says what is missing", |_| {
            let readiness = running.metrics.readiness();
            readiness.is_err_and(|why| {
                why.contains("may not get leases in API group coordination.k8s.io")
            })
        })
        .await;
    *refused.lock().unwrap() = false;
    running.until_ready().await;
    cluster
        .until("it leads", |_| !running.metrics.is_standby())
        .await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    assert_eq!(
        cluster.get("leases", LEASE)["spec"]["leaseDurationSeconds"],
        Value::from(15)
    );
    running.stop().await;
}
