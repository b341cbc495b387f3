//! The API server's own counters: CPU, memory, and the requests that it answered.
//!
//! Guarantees: only the subject's requests where the server tells users apart (kubesim); on a
//! kube-apiserver those of all clients for the same kinds, from its own metrics page, less the writes that are never a
//! subject's: creates of the objects, and statuses of children. What a server does not tell is `None`. Leaves to others: when
//! it is read, and that nobody else is at work.

use crate::engine::session::Session;
use crate::record::ServerUse;
use crate::record::request_counts::RequestCounts;
use crate::spec::workload::Scenario;
use crate::target::{SUBJECT, Server};
use crate::watch::metrics_text::{counter_of, counter_where};

/// Sums since the server started.
pub struct ServerCounters {
    cpu_s: Option<f64>,
    rss_bytes: Option<u64>,
    peak_bytes: Option<u64>,
    requests: Option<Requests>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Requests {
    reads: u64,
    writes: u64,
    response_bytes: u64,
    datastore_reads: Option<u64>,
    datastore_objects: Option<u64>,
}

impl ServerCounters {
    /// `None` where the server has no process of ours.
    pub async fn take(session: &Session<'_>) -> Option<ServerCounters> {
        let pid = session.server.pid()?;
        let peak_bytes = tare_procstat::peak_bytes(pid).ok();
        let counters = ServerCounters {
            cpu_s: session.server.cpu_s(),
            rss_bytes: tare_procstat::memory(pid)
                .map(|memory| memory.rss_bytes)
                .ok(),
            peak_bytes,
            requests: requests(session).await,
        };
        // The next peak counts from here; where the kernel does not allow it, since the start.
        let _ = tare_procstat::reset_peak(pid);
        Some(counters)
    }

    pub fn since(&self, before: &ServerCounters) -> ServerUse {
        let spent = |of: fn(&Requests) -> Option<u64>| {
            let (now, then) = (self.requests.as_ref()?, before.requests.as_ref()?);
            Some(of(now)?.saturating_sub(of(then)?))
        };
        ServerUse {
            cpu_s: self.cpu_s.zip(before.cpu_s).map(|(now, then)| now - then),
            rss_before_bytes: before.rss_bytes,
            rss_peak_bytes: self.peak_bytes,
            reads: spent(|r| Some(r.reads)),
            writes: spent(|r| Some(r.writes)),
            response_bytes: spent(|r| Some(r.response_bytes)),
            datastore_reads: spent(|r| r.datastore_reads),
            datastore_objects: spent(|r| r.datastore_objects),
        }
    }
}

async fn requests(session: &Session<'_>) -> Option<Requests> {
    match &session.server {
        Server::Kubesim(_) => {
            let request_counts = session.server.request_counts(&session.load.cluster).await?;
            Some(of_ledger(&request_counts.of(SUBJECT)))
        }
        Server::Real(_) => {
            let scenario = session.setting.scenario_of(session.subject);
            let page = session.load.cluster.metrics().await.ok()?;
            of_page(&page, &Kinds::of(&scenario))
        }
        Server::Existing(_) => None,
    }
}

/// Writes of the subject since the server started; `None` where it does not tell.
pub async fn writes(session: &Session<'_>) -> Option<u64> {
    requests(session).await.map(|requests| requests.writes)
}

/// What the operator reads and writes.
struct Kinds<'a> {
    objects: Vec<&'a str>,
    children: Vec<&'a str>,
}

impl<'a> Kinds<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        let children = scenario.children.iter().map(|kind| kind.plural.as_str());
        let parts = scenario.parts().map(|part| part.resource.plural.as_str());
        Self {
            objects: parts.collect(),
            children: children.collect(),
        }
    }

    fn all(&self) -> Vec<&'a str> {
        [&self.objects[..], &self.children[..]].concat()
    }

    /// Whether a write of this kind may be the subject's. The harness creates the objects; what makes children ready writes
    /// their statuses.
    fn may_write(&self, resource: &str, subresource: &str, verb: &str) -> bool {
        let is_child = self.children.contains(&resource) && subresource != "status";
        let creates = verb == "POST" && subresource.is_empty();
        is_child || (self.objects.contains(&resource) && !creates)
    }
}

fn of_ledger(request_counts: &RequestCounts) -> Requests {
    let reads = request_counts.entries.iter();
    let reads = reads.filter(|entry| matches!(&*entry.verb, "get" | "list"));
    Requests {
        reads: request_counts.reads(),
        writes: request_counts.writes(),
        response_bytes: reads.filter_map(|entry| entry.response_bytes).sum(),
        datastore_reads: None,
        datastore_objects: None,
    }
}

/// A page of kube-apiserver 1.36 (`endpoints/metrics` and `storage/etcd3/metrics` in apiserver
/// v0.36.4); `None` where it has no counter of requests.
fn of_page(page: &str, kinds: &Kinds) -> Option<Requests> {
    let all = kinds.all();
    let sum = |name: &str, label: &str, values: &[&str]| {
        let counted = counter_of(page, name, &[("resource", &all), (label, values)])?;
        Some(counted as u64)
    };
    let writing = [
        "POST",
        "PUT",
        "PATCH",
        "APPLY",
        "DELETE",
        "DELETECOLLECTION",
    ];
    let reading = ["get", "list", "listWithCount", "listOnlyKeys"];
    let fetched = "apiserver_storage_list_fetched_objects_total";
    Some(Requests {
        reads: sum("apiserver_request_total", "verb", &["GET", "LIST"])?,
        writes: counter_where(page, "apiserver_request_total", |sample| {
            let label = |name| sample.label(name).unwrap_or_default();
            let verb = label("verb");
            writing.contains(&verb)
                && kinds.may_write(label("resource"), label("subresource"), verb)
        })? as u64,
        response_bytes: sum("apiserver_response_sizes_sum", "verb", &["GET", "LIST"])?,
        datastore_reads: sum("etcd_requests_total", "operation", &reading),
        datastore_objects: counter_of(page, fetched, &[("resource", &all)])
            .map(|objects| objects as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="widgets",verb="LIST",version="v1alpha1"} 50
apiserver_request_total{code="200",resource="deployments",verb="LIST",version="v1"} 30
apiserver_request_total{code="200",resource="deployments",verb="PATCH",version="v1"} 7
apiserver_request_total{code="200",resource="deployments",subresource="status",verb="PATCH",version="v1"} 500
apiserver_request_total{code="201",resource="widgets",subresource="",verb="POST",version="v1alpha1"} 1000
apiserver_request_total{code="200",resource="widgets",subresource="status",verb="PUT",version="v1alpha1"} 2
apiserver_request_total{code="200",resource="leases",verb="PUT",version="v1"} 900
apiserver_request_total{code="0",resource="widgets",verb="WATCH",version="v1alpha1"} 4
# TYPE apiserver_response_sizes histogram
apiserver_response_sizes_bucket{resource="widgets",verb="LIST",le="1000"} 1
apiserver_response_sizes_sum{resource="widgets",verb="LIST"} 1.5e+07
apiserver_response_sizes_sum{resource="pods",verb="LIST"} 9
# TYPE etcd_requests_total counter
etcd_requests_total{group="example.com",operation="list",resource="widgets"} 60
etcd_requests_total{group="example.com",operation="update",resource="widgets"} 5
# TYPE apiserver_storage_list_fetched_objects_total counter
apiserver_storage_list_fetched_objects_total{group="example.com",resource="widgets"} 5000
"#;

    #[test]
    fn a_page_tells_of_the_subjects_kinds_alone() {
        let kinds = Kinds {
            objects: vec!["widgets"],
            children: vec!["deployments", "services"],
        };
        let page = PAGE.replace(
            "apiserver_response_sizes histogram",
            "apiserver_response_sizes_sum counter",
        );
        for page in [PAGE, page.as_str()] {
            let told = of_page(page, &kinds).expect("counted");
            let want = Requests {
                reads: 80,
                writes: 9,
                response_bytes: 15_000_000,
                datastore_reads: Some(60),
                datastore_objects: Some(5_000),
            };
            assert_eq!(told, want);
        }
        assert_eq!(of_page("", &kinds), None);
    }

    #[test]
    fn what_was_before_is_not_counted_and_what_is_unknown_stays_so() {
        let counters = |reads, peak_bytes| ServerCounters {
            cpu_s: Some(reads as f64),
            rss_bytes: Some(100),
            peak_bytes,
            requests: Some(Requests {
                reads,
                writes: 0,
                response_bytes: 10 * reads,
                datastore_reads: None,
                datastore_objects: None,
            }),
        };
        let spent = counters(9, Some(140)).since(&counters(5, None));
        assert_eq!((spent.reads, spent.writes), (Some(4), Some(0)));
        assert_eq!((spent.response_bytes, spent.cpu_s), (Some(40), Some(4.0)));
        assert_eq!(spent.rss_peak_bytes, Some(140));
        assert_eq!(spent.datastore_reads, None);
    }
}
