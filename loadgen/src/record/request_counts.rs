//! The server's account of requests, as the harness uses it: differences, by verb, per object.
//!
//! Guarantees: a difference of two ledgers counts each request once; watches are kept apart from
//! reads. Leaves to others: fetching it, and which user is the subject.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line: what one user did with one verb on one resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    pub user: String,
    pub verb: String,
    /// `deployments`, or `widgets/status` with a subresource.
    pub resource: String,
    pub requests: u64,
    /// `None` where the source does not count bytes (an audit log).
    #[serde(default)]
    pub request_bytes: Option<u64>,
    #[serde(default)]
    pub response_bytes: Option<u64>,
    #[serde(default)]
    pub errors: u64,
}

/// All lines; sums since the server started, or a difference of two such sums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequestCounts {
    pub entries: Vec<Entry>,
}

impl Entry {
    fn bytes(&self) -> Option<u64> {
        Some(self.request_bytes? + self.response_bytes?)
    }
}

/// Whether requests of this verb change something.
pub fn is_write(verb: &str) -> bool {
    matches!(
        verb,
        "create" | "update" | "patch" | "apply" | "delete" | "deletecollection"
    )
}

fn is_read(verb: &str) -> bool {
    matches!(verb, "get" | "list")
}

fn more(now: Option<u64>, was: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(was.unwrap_or(0)))
}

impl RequestCounts {
    /// Only the lines of one user.
    pub fn of(mut self, user: &str) -> RequestCounts {
        self.entries.retain(|entry| entry.user == user);
        self
    }

    pub fn since(&self, earlier: &RequestCounts) -> RequestCounts {
        let key = |e: &Entry| (e.user.clone(), e.verb.clone(), e.resource.clone());
        let before: BTreeMap<_, _> = earlier.entries.iter().map(|e| (key(e), e)).collect();
        let none = Entry::default();
        let entries = self.entries.iter().map(|entry| {
            let was = before.get(&key(entry)).copied().unwrap_or(&none);
            Entry {
                requests: entry.requests.saturating_sub(was.requests),
                request_bytes: more(entry.request_bytes, was.request_bytes),
                response_bytes: more(entry.response_bytes, was.response_bytes),
                errors: entry.errors.saturating_sub(was.errors),
                ..entry.clone()
            }
        });
        let changed = |e: &Entry| e.requests + e.bytes().unwrap_or(0) > 0;
        RequestCounts {
            entries: entries.filter(changed).collect(),
        }
    }

    /// Requests that change something.
    pub fn writes(&self) -> u64 {
        self.count(is_write)
    }

    /// Requests that read; watches are not among them.
    pub fn reads(&self) -> u64 {
        self.count(is_read)
    }

    /// Bytes of the answers to these reads; `None` when they were not counted.
    pub fn read_bytes(&self) -> Option<u64> {
        let reads = self.entries.iter().filter(|entry| is_read(&entry.verb));
        reads.map(|entry| entry.response_bytes).sum()
    }

    /// Bytes both ways, watches included; `None` when they were not counted.
    pub fn wire_bytes(&self) -> Option<u64> {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// `"patch deployments" -> requests`.
    pub fn by_verb(&self) -> BTreeMap<String, u64> {
        let mut verbs = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.requests > 0) {
            *verbs
                .entry(format!("{} {}", entry.verb, entry.resource))
                .or_default() += entry.requests;
        }
        verbs
    }

    fn count(&self, counts: impl Fn(&str) -> bool) -> u64 {
        self.entries
            .iter()
            .filter(|e| counts(&e.verb))
            .map(|e| e.requests)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(user: &str, verb: &str, resource: &str, requests: u64, bytes: u64) -> Entry {
        Entry {
            user: user.into(),
            verb: verb.into(),
            resource: resource.into(),
            requests,
            request_bytes: Some(bytes),
            response_bytes: Some(bytes),
            errors: 0,
        }
    }

    fn request_counts(entries: &[Entry]) -> RequestCounts {
        RequestCounts {
            entries: entries.to_vec(),
        }
    }

    #[test]
    fn a_difference_counts_each_request_once() {
        let before = request_counts(&[entry("s", "patch", "deployments", 3, 30)]);
        let after = request_counts(&[
            entry("s", "patch", "deployments", 10, 100),
            entry("s", "get", "widgets", 2, 8),
            entry("s", "watch", "widgets", 0, 500),
            entry("loadgen", "create", "widgets", 7, 70),
        ]);
        let spent = after.since(&before).of("s");
        assert_eq!((spent.writes(), spent.reads()), (7, 2));
        assert_eq!(spent.wire_bytes(), Some(2 * (70 + 8 + 500)));
        assert_eq!(
            spent.by_verb(),
            BTreeMap::from([("patch deployments".into(), 7), ("get widgets".into(), 2)])
        );
    }

    #[test]
    fn bytes_that_nobody_counted_are_unknown() {
        let mut uncounted = request_counts(&[entry("s", "create", "deployments", 3, 0)]);
        (
            uncounted.entries[0].request_bytes,
            uncounted.entries[0].response_bytes,
        ) = (None, None);
        let spent = uncounted.since(&RequestCounts::default());
        assert_eq!((spent.writes(), spent.wire_bytes()), (3, None));
    }

    #[test]
    fn unchanged_counts_differ_by_nothing() {
        let same = request_counts(&[entry("s", "list", "services", 1, 9)]);
        assert_eq!(same.since(&same), RequestCounts::default());
    }
}
