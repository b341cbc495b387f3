//! Who asked the API server for what, from its audit log.
//!
//! Guarantees: only requests that were answered are counted, one line of the log each.
//! Leaves to others: what to log (the control plane's policy), and what is too much.

use std::path::Path;

use serde::Deserialize;

/// A line of the log, as far as it is looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
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

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    pub verb: String,
    /// With its subresource: `edgeapps/status`.
    pub resource: String,
    pub code: u16,
}

impl Asked {
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// What a user asked for in a namespace, in the order of the answers.
pub fn requests(log: &Path, user: &str, namespace: &str) -> Vec<Asked> {
    let text = std::fs::read_to_string(log).expect("read the audit log");
    // The last line may still be on its way to the file.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .filter_map(|line| asked(line, user, namespace))
        .collect()
}

fn asked(line: &str, user: &str, namespace: &str) -> Option<Asked> {
    let line: Line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    let object = line.object_ref?;
    let ours = line.stage == "ResponseComplete"
        && line.user.username == user
        && object.namespace == namespace;
    ours.then(|| Asked {
        verb: line.verb,
        resource: match object.subresource.as_str() {
            "" => object.resource,
            subresource => format!("{}/{subresource}", object.resource),
        },
        code: line.response_status.map_or(0, |status| status.code),
    })
}

/// How many of them are of this verb and resource.
pub fn count(requests: &[Asked], verb: &str, resource: &str) -> usize {
    let matching = |one: &&Asked| one.verb == verb && one.resource == resource;
    requests.iter().filter(matching).count()
}
