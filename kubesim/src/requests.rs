//! Requests and body bytes of every user, by verb and resource.
//!
//! Guarantees: a request is counted when it arrives, its response bytes as they leave; verbs are
//! those of the Kubernetes audit log (`get list watch create update patch delete
//! deletecollection`). Headers and TLS are not counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A snapshot of what was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Sorted by user, resource and verb.
    pub entries: Vec<RequestCount>,
}

/// The requests of one user with one verb on one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    pub user: String,
    pub verb: String,
    /// `deployments`, `edgeapps/status`.
    pub resource: String,
    pub requests: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    /// Answers with a status of 400 or above.
    pub errors: u64,
}

impl RequestCounts {
    /// Requests of one kind.
    pub fn count(&self, user: &str, verb: &str, resource: &str) -> u64 {
        self.entries
            .iter()
            .filter(|e| e.user == user && e.verb == verb && e.resource == resource)
            .map(|e| e.requests)
            .sum()
    }

    /// Requests that change something: create, update, patch, delete, deletecollection.
    pub fn writes(&self, user: &str) -> u64 {
        self.sum(user, |verb| !is_read(verb))
    }

    /// Requests that read: get, list, watch.
    pub fn reads(&self, user: &str) -> u64 {
        self.sum(user, is_read)
    }

    fn sum(&self, user: &str, verb: impl Fn(&str) -> bool) -> u64 {
        self.entries
            .iter()
            .filter(|e| e.user == user && verb(&e.verb))
            .map(|e| e.requests)
            .sum()
    }
}

fn is_read(verb: &str) -> bool {
    matches!(verb, "get" | "list" | "watch")
}

/// A counter that is being written to; response bodies hold it while they stream.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    pub(crate) requests: AtomicU64,
    pub(crate) request_bytes: AtomicU64,
    pub(crate) response_bytes: AtomicU64,
    pub(crate) errors: AtomicU64,
}

type ByUser = BTreeMap<String, BTreeMap<String, BTreeMap<&'static str, Arc<Counter>>>>;

/// The counters of a server.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// user -> resource -> verb
    counters: Mutex<ByUser>,
}

impl Counters {
    /// Counts the request; answers its counter, and how many requests came before it.
    pub(crate) fn open(
        &self,
        user: &str,
        verb: &'static str,
        resource: &str,
    ) -> (Arc<Counter>, u64) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if !counters.contains_key(user) {
            counters.insert(user.to_owned(), BTreeMap::new());
        }
        let counter = counters
            .get_mut(user)
            .map(|resources| {
                if !resources.contains_key(resource) {
                    resources.insert(resource.to_owned(), BTreeMap::new());
                }
                resources
                    .get_mut(resource)
                    .map(|verbs| verbs.entry(verb).or_default().clone())
                    .unwrap_or_default()
            })
            .unwrap_or_default();
        let before = counter.requests.fetch_add(1, Relaxed);
        (counter, before)
    }

    pub(crate) fn snapshot(&self) -> RequestCounts {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::new();
        for (user, resources) in counters.iter() {
            for (resource, verbs) in resources {
                for (verb, counter) in verbs {
                    entries.push(RequestCount {
                        user: user.clone(),
                        verb: (*verb).to_owned(),
                        resource: resource.clone(),
                        requests: counter.requests.load(Relaxed),
                        request_bytes: counter.request_bytes.load(Relaxed),
                        response_bytes: counter.response_bytes.load(Relaxed),
                        errors: counter.errors.load(Relaxed),
                    });
                }
            }
        }
        RequestCounts { entries }
    }
}
