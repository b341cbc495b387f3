//! The answered requests of a user, from the audit log of a real API server.
//!
//! Guarantees: a request is counted once, when it is answered.
//! Leaves to others: what is logged (the audit policy of the control plane).

use std::path::Path;

use serde::Deserialize;

/// The fields of a line of the log that are used here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    request_received_timestamp: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
struct ObjectRef {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    code: u16,
}

/// One request and the status code of its answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answered {
    pub verb: String,
    /// With its subresource: `edgeapps/status`.
    pub resource: String,
    pub code: u16,
}

impl Answered {
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// The requests of a user in a namespace, in the order of their answers.
pub fn requests(log: &Path, user: &str, namespace: &str) -> Vec<Answered> {
    let text = std::fs::read_to_string(log).expect("read the audit log");
    // The last line may not be complete yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .filter_map(|line| answered(line, user, namespace))
        .collect()
}

fn answered(line: &str, user: &str, namespace: &str) -> Option<Answered> {
    let line: Line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    let object = line.object_ref?;
    let is_counted = line.stage == "ResponseComplete"
        && line.user.username == user
        && object.namespace == namespace;
    is_counted.then(|| Answered {
        verb: line.verb,
        resource: match object.subresource.as_str() {
            "" => object.resource,
            subresource => format!("{}/{subresource}", object.resource),
        },
        code: line.response_status.map_or(0, |status| status.code),
    })
}

/// The users in the order of their writes in a namespace, each once for every turn: by the time at which a request
/// was received.
pub fn turns(log: &Path, users: &[String], namespace: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).expect("read the audit log");
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut writes: Vec<(String, String)> = Vec::new();
    for line in whole.lines() {
        for user in users {
            let is_write = answered(line, user, namespace).is_some_and(|one| one.is_write());
            if is_write {
                let line: Line = serde_json::from_str(line).expect("a line of the audit log");
                // RFC 3339 in UTC with six digits: texts are in the order of times.
                writes.push((line.request_received_timestamp, user.clone()));
            }
        }
    }
    writes.sort();
    let mut turns: Vec<String> = writes.into_iter().map(|(_, user)| user).collect();
    turns.dedup();
    turns
}

/// How many of these requests have this verb and resource.
pub fn count(requests: &[Answered], verb: &str, resource: &str) -> usize {
    let matching = |one: &&Answered| one.verb == verb && one.resource == resource;
    requests.iter().filter(matching).count()
}
