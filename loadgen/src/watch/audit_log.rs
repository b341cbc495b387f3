//! The audit log of a real API server, read as it grows: requests per user, and how long each
//! object was being written to.
//!
//! Guarantees: bounded memory however long the log is (one number pair per object); a line that is
//! no audit event is counted, not fatal; a half-written last line is read once it is whole. Leaves
//! to others: turning the log on, and which user is the subject. Bytes are not in such a log.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use crate::record::latency::Latencies;
use crate::record::request_counts::{Entry, RequestCounts, is_write};

/// What is read of an event; everything else is skipped by the parser.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    stage: Cow<'a, str>,
    #[serde(borrow, default, rename = "requestURI")]
    uri: Cow<'a, str>,
    #[serde(borrow)]
    verb: Cow<'a, str>,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<Status>,
    request_received_timestamp: MicroTime,
    stage_timestamp: MicroTime,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct ObjectRef {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

/// When an object was written to first and last.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: Timestamp,
    last: Timestamp,
}

/// The sums over all lines so far.
#[derive(Debug, Default)]
pub struct Account {
    /// Keyed by user, verb and resource.
    requests: BTreeMap<(String, String, String), (u64, u64)>,
    /// Keyed by user and `namespace/name`.
    spans: HashMap<(String, String), Span>,
    /// Lines that are no audit event.
    pub unread: u64,
}

impl Account {
    /// Adds one line of the log.
    pub fn add(&mut self, line: &[u8]) {
        match serde_json::from_slice::<Event>(line) {
            Ok(event) => self.count(event),
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(_) => self.unread += 1,
        }
    }

    fn count(&mut self, event: Event<'_>) {
        // A request has an event per stage; it is counted at its end.
        if event.stage != "ResponseComplete" && event.stage != "Panic" {
            return;
        }
        let Some(object) = event.object_ref else {
            return;
        };
        let verb = verb(&event.verb, &event.uri);
        let resource = match object.subresource.as_str() {
            "" => object.resource,
            subresource => format!("{}/{subresource}", object.resource),
        };
        let failed = event.response_status.is_some_and(|s| s.code >= 400);
        let user = event.user.username;
        if is_write(verb) && !failed && !object.name.is_empty() {
            let owner = format!("{}/{}", object.namespace, object.name);
            let (arrived, answered) = (event.request_received_timestamp.0, event.stage_timestamp.0);
            let span = self.spans.entry((user.clone(), owner)).or_insert(Span {
                first: arrived,
                last: answered,
            });
            span.first = span.first.min(arrived);
            span.last = span.last.max(answered);
        }
        let key = (user, verb.to_owned(), resource);
        let (requests, errors) = self.requests.entry(key).or_default();
        *requests += 1;
        *errors += u64::from(failed);
    }

    pub fn request_counts(&self) -> RequestCounts {
        let entries = self.requests.iter().map(|(key, (requests, errors))| {
            let (user, verb, resource) = key.clone();
            Entry {
                user,
                verb,
                resource,
                requests: *requests,
                request_bytes: None,
                response_bytes: None,
                errors: *errors,
            }
        });
        RequestCounts {
            entries: entries.collect(),
        }
    }

    /// Per object that `offering` created and `user` then wrote to: from the arrival of that user's
    /// first write to the answer to its last. Children count with their owner where they bear its
    /// name; `but` is left out.
    pub fn write_spans(&self, user: &str, offering: &str, but: &str) -> Latencies {
        let offered = |object: &String| {
            let name = object.rsplit('/').next().unwrap_or_default();
            name != but
                && self
                    .spans
                    .contains_key(&(offering.to_owned(), object.clone()))
        };
        let own = self
            .spans
            .iter()
            .filter(|((who, object), _)| who == user && offered(object));
        let ns = own.map(|(_, span)| span.last.duration_since(span.first).as_nanos());
        ns.map(|ns| u64::try_from(ns).unwrap_or(0)).collect()
    }
}

/// At this level the log has no content type; only an apply may ask for `force`, though, and every
/// controller that applies does.
fn verb<'a>(verb: &'a str, uri: &str) -> &'a str {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    let forced = query.split('&').any(|pair| pair.starts_with("force="));
    if verb == "patch" && forced {
        "apply"
    } else {
        verb
    }
}

/// A log that grows, and how far it was read.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    offset: u64,
    account: Account,
}

impl AuditLog {
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            offset: 0,
            account: Account::default(),
        }
    }

    /// Reads what was added since the last time.
    ///
    /// # Errors
    /// When the file cannot be read; one that is not there yet is empty.
    pub fn read(&mut self) -> io::Result<&Account> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(&self.account),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let bytes = lines.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                return Ok(&self.account);
            }
            self.account.add(&line);
            self.offset += bytes as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn event(user: &str, verb: &str, what: &str, name: &str, at: &str) -> String {
        let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
        let (verb, uri) = match verb {
            "apply" => ("patch", "/x?fieldManager=mine&force=true"),
            verb => (verb, "/x?fieldManager=force"),
        };
        serde_json::json!({
            "kind": "Event", "level": "Metadata", "stage": "ResponseComplete", "verb": verb,
            "requestURI": uri, "user": {"username": user, "groups": ["system:masters"]},
            "objectRef": {"resource": resource, "subresource": subresource, "namespace": "bench",
                          "name": name, "apiVersion": "v1"},
            "responseStatus": {"metadata": {}, "code": 200},
            "requestReceivedTimestamp": format!("2026-11-21T08:00:{at}Z"),
            "stageTimestamp": format!("2026-11-21T08:00:{at}Z"),
        })
        .to_string()
    }

    fn account(lines: &[String]) -> Account {
        let mut account = Account::default();
        lines.iter().for_each(|line| account.add(line.as_bytes()));
        account
    }

    #[test]
    fn requests_are_counted_by_user_verb_and_resource() {
        let account = account(&[
            event("subject", "create", "deployments", "ea-1", "01.000000"),
            event("subject", "create", "deployments", "ea-2", "01.500000"),
            event("subject", "apply", "services", "ea-1", "02.000000"),
            event("subject", "patch", "widgets/status", "ea-1", "03.000000"),
            event("subject", "list", "widgets", "", "00.000000"),
            event("loadgen", "create", "widgets", "ea-1", "00.500000"),
        ]);
        let request_counts = account.request_counts().of("subject");
        assert_eq!((request_counts.writes(), request_counts.reads()), (4, 1));
        assert_eq!(request_counts.wire_bytes(), None, "not in such a log");
        let verbs = BTreeMap::from([
            ("apply services".to_owned(), 1),
            ("create deployments".to_owned(), 2),
            ("list widgets".to_owned(), 1),
            ("patch widgets/status".to_owned(), 1),
        ]);
        assert_eq!(request_counts.by_verb(), verbs);
    }

    #[test]
    fn a_span_goes_from_the_first_write_to_the_last() {
        let account = account(&[
            event("loadgen", "create", "widgets", "canary", "00.000000"),
            event("loadgen", "create", "widgets", "ea-1", "00.000000"),
            event("loadgen", "create", "widgets", "ea-2", "00.000000"),
            event("subject", "patch", "widgets", "canary", "00.000000"),
            event("subject", "create", "leases", "election", "00.000000"),
            event("subject", "patch", "widgets", "ea-1", "01.000000"),
            event("subject", "get", "widgets", "ea-1", "09.000000"),
            event("subject", "create", "services", "ea-1", "01.250000"),
            event("loadgen", "patch", "widgets", "ea-1", "08.000000"),
            event("subject", "patch", "widgets", "ea-2", "05.000000"),
        ]);
        let spans = account.write_spans("subject", "loadgen", "canary");
        assert_eq!(spans.count(), 2, "one for each object");
        let longest = spans.quantiles().expect("two").max_ms;
        assert!((longest - 250.0).abs() < 1.0, "{longest}");
    }

    #[test]
    fn what_is_no_finished_request_is_not_counted() {
        let early = event("subject", "create", "services", "ea-1", "01.000000")
            .replace("ResponseComplete", "RequestReceived");
        let refused =
            event("subject", "create", "services", "ea-1", "01.000000").replace("200", "409");
        let account = account(&[early, refused, "{\"no\": 1}".into(), "  ".into()]);
        let request_counts = account.request_counts();
        assert_eq!(
            (
                request_counts.entries.len(),
                request_counts.entries[0].errors
            ),
            (1, 1)
        );
        assert_eq!(account.unread, 1);
        assert_eq!(
            account.write_spans("subject", "subject", "").count(),
            0,
            "a refusal writes nothing"
        );
    }

    #[test]
    fn a_growing_log_is_read_in_pieces() {
        let name = format!("loadgen-audit-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut log = AuditLog::at(&path);
        let writes = |log: &mut AuditLog| log.read().expect("readable").request_counts().writes();
        assert_eq!(writes(&mut log), 0, "not there yet");
        let line = event("subject", "create", "services", "ea-1", "01.000000");
        let (head, tail) = line.split_at(50);
        let mut file = File::create(&path).expect("temporary file");
        write!(file, "{line}\n{head}").expect("writable");
        assert_eq!(writes(&mut log), 1, "the second line is not whole");
        writeln!(file, "{tail}").expect("writable");
        assert_eq!(writes(&mut log), 2);
        assert_eq!(writes(&mut log), 2, "nothing is read twice");
        std::fs::remove_file(path).expect("ours");
    }
}
