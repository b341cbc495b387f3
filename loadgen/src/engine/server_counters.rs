//! The API server's own counters: CPU, memory, and the requests that it answered.
//!
//! Guarantees: only the subject's requests where the server tells users apart (kubesim); on a
//! kube-apiserver those of all clients for the same kinds, from its own metrics page, less the writes that are never a
//! subject's: creates of the objects, and statuses of children. What a server does not tell is `None`. Leaves to others: when
//! it is read, and that nobody else is at work.

use std::collections::BTreeMap;

use crate::engine::session::Session;
use crate::record::ServerUse;
use crate::record::request_counts::{Entry, RequestCounts, is_write};
use crate::target::{SUBJECT, Server};
use crate::watch::metrics_text::{counter, counter_of, samples};

const REQUESTS: &str = "apiserver_request_total";
const SIZES: &str = "apiserver_response_sizes_sum";

/// Sums since the server started.
pub struct ServerCounters {
    cpu_s: Option<f64>,
    rss_bytes: Option<u64>,
    peak_bytes: Option<u64>,
    /// Of the subject.
    requests: Option<RequestCounts>,
    datastore_reads: Option<u64>,
    datastore_objects: Option<u64>,
}

impl ServerCounters {
    /// `None` where the server has no process of ours.
    pub async fn take(session: &Session<'_>) -> Option<ServerCounters> {
        let pid = session.server.pid()?;
        let peak_bytes = tare_procstat::peak_bytes(pid).ok();
        let page = session.server.metrics(&session.load.cluster).await;
        let kinds = Kinds::of(session);
        let datastore = page.as_deref().map(|page| datastore(page, &kinds));
        let [datastore_reads, datastore_objects] = datastore.unwrap_or_default();
        let counters = ServerCounters {
            cpu_s: session.server.cpu_s(),
            rss_bytes: tare_procstat::memory(pid)
                .map(|memory| memory.rss_bytes)
                .ok(),
            peak_bytes,
            requests: requests(session, page.as_deref(), &kinds).await,
            datastore_reads,
            datastore_objects,
        };
        // The next peak counts from here; where the kernel does not allow it, since the start.
        let _ = tare_procstat::reset_peak(pid);
        Some(counters)
    }

    pub fn since(&self, before: &ServerCounters) -> ServerUse {
        let requests = self.requests.as_ref().zip(before.requests.as_ref());
        let requests = requests.map(|(now, then)| now.since(then));
        let spent = |of: fn(&Self) -> Option<u64>| Some(of(self)?.saturating_sub(of(before)?));
        ServerUse {
            cpu_s: self.cpu_s.zip(before.cpu_s).map(|(now, then)| now - then),
            rss_before_bytes: before.rss_bytes,
            rss_peak_bytes: self.peak_bytes,
            reads: requests.as_ref().map(RequestCounts::reads),
            writes: requests.as_ref().map(RequestCounts::writes),
            response_bytes: requests.as_ref().and_then(RequestCounts::read_bytes),
            datastore_reads: spent(|counters| counters.datastore_reads),
            datastore_objects: spent(|counters| counters.datastore_objects),
        }
    }
}

/// The subject's requests since the server started; `None` where it does not tell.
async fn requests(
    session: &Session<'_>,
    page: Option<&str>,
    kinds: &Kinds,
) -> Option<RequestCounts> {
    match &session.server {
        Server::Real(_) => of_page(page?, kinds),
        server => {
            let of_all = server.request_counts(&session.load.cluster).await?;
            Some(of_all.of(SUBJECT))
        }
    }
}

/// Writes of the subject since the server started; `None` where it does not tell.
pub async fn writes(session: &Session<'_>) -> Option<u64> {
    let page = session.server.metrics(&session.load.cluster).await;
    let kinds = Kinds::of(session);
    Some(requests(session, page.as_deref(), &kinds).await?.writes())
}

/// What the operator reads and writes.
struct Kinds {
    objects: Vec<String>,
    children: Vec<String>,
}

impl Kinds {
    fn of(session: &Session<'_>) -> Self {
        let scenario = session.setting.scenario_of(session.subject);
        let children = scenario.children.iter().map(|kind| kind.plural.clone());
        let parts = scenario.parts().map(|part| part.resource.plural.clone());
        Self {
            objects: parts.collect(),
            children: children.collect(),
        }
    }

    fn all(&self) -> Vec<&str> {
        let all = self.objects.iter().chain(&self.children);
        all.map(String::as_str).collect()
    }

    /// Whether a request for this kind may be the subject's. The harness creates the objects; what makes children ready writes
    /// their statuses.
    fn may_ask(&self, resource: &str, subresource: &str, verb: &str) -> bool {
        let has = |kinds: &[String]| kinds.iter().any(|kind| kind == resource);
        let writes_status = is_write(verb) && subresource == "status";
        let creates = verb == "create" && subresource.is_empty();
        (has(&self.children) && !writes_status) || (has(&self.objects) && !creates)
    }
}

/// A page of kube-apiserver 1.36 (`endpoints/metrics` in apiserver v0.36.4); `None` where it has no counter of requests.
fn of_page(page: &str, kinds: &Kinds) -> Option<RequestCounts> {
    counter(page, REQUESTS)?;
    let no_bytes = counter(page, SIZES).map(|_| 0);
    let mut entries: BTreeMap<(String, String), Entry> = BTreeMap::new();
    for sample in samples(page).filter(|sample| [REQUESTS, SIZES].contains(&sample.name)) {
        let label = |name| sample.label(name).unwrap_or_default();
        let verb = match label("verb") {
            "POST" => "create".to_owned(),
            "PUT" => "update".to_owned(),
            verb => verb.to_ascii_lowercase(),
        };
        let (resource, subresource) = (label("resource"), label("subresource"));
        if !kinds.may_ask(resource, subresource, &verb) {
            continue;
        }
        let resource = format!("{resource}/{subresource}");
        let entry = entries.entry((verb.clone(), resource.clone()));
        let entry = entry.or_insert(Entry {
            verb,
            resource,
            response_bytes: no_bytes,
            ..Entry::default()
        });
        match sample.name {
            REQUESTS => entry.requests += sample.value as u64,
            _ => entry.response_bytes = entry.response_bytes.map(|sum| sum + sample.value as u64),
        }
    }
    let entries = entries.into_values().collect();
    Some(RequestCounts { entries })
}

/// What the server has read of these kinds in its datastore, requests and objects, by a page of kube-apiserver 1.36
/// (`storage/etcd3/metrics` in apiserver v0.36.4).
fn datastore(page: &str, kinds: &Kinds) -> [Option<u64>; 2] {
    let all = kinds.all();
    let of_kinds = ("resource", &all[..]);
    let reading = ["get", "list", "listWithCount", "listOnlyKeys"];
    let read = [of_kinds, ("operation", &reading)];
    let fetched = "apiserver_storage_list_fetched_objects_total";
    [
        counter_of(page, "etcd_requests_total", &read),
        counter_of(page, fetched, &[of_kinds]),
    ]
    .map(|counted| counted.map(|counted| counted as u64))
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
            objects: vec!["widgets".into()],
            children: vec!["deployments".into(), "services".into()],
        };
        let page = PAGE.replace(
            "apiserver_response_sizes histogram",
            "apiserver_response_sizes_sum counter",
        );
        for page in [PAGE, page.as_str()] {
            let told = of_page(page, &kinds).expect("counted");
            assert_eq!((told.reads(), told.writes()), (80, 9));
            assert_eq!(told.read_bytes(), Some(15_000_000));
            assert_eq!(datastore(page, &kinds), [Some(60), Some(5_000)]);
        }
        assert_eq!(of_page("", &kinds), None);
    }

    #[test]
    fn what_was_before_is_not_counted_and_what_is_unknown_stays_so() {
        let counters = |reads, peak_bytes| ServerCounters {
            cpu_s: Some(reads as f64),
            rss_bytes: Some(100),
            peak_bytes,
            requests: Some(RequestCounts {
                entries: vec![Entry {
                    verb: "get".into(),
                    requests: reads,
                    response_bytes: Some(10 * reads),
                    ..Entry::default()
                }],
            }),
            datastore_reads: None,
            datastore_objects: None,
        };
        let spent = counters(9, Some(140)).since(&counters(5, None));
        assert_eq!((spent.reads, spent.writes), (Some(4), Some(0)));
        assert_eq!((spent.response_bytes, spent.cpu_s), (Some(40), Some(4.0)));
        assert_eq!(spent.rss_peak_bytes, Some(140));
        assert_eq!(spent.datastore_reads, None);
    }
}
