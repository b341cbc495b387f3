//! Events in their two API groups: stored as v1, and served as events.k8s.io/v1 too.

use serde_json::{Map, Value, json};

use crate::model::kind::{Kind, Rules};

/// Field names in v1 and in events.k8s.io/v1, after `pkg/apis/events/v1/conversion.go`.
const NAMES: [(&str, &str); 7] = [
    ("message", "note"),
    ("involvedObject", "regarding"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The object as clients of this kind see it.
pub(crate) fn shown(kind: &Kind, object: Value) -> Value {
    if !matches!(kind.rules, Rules::EventView) {
        return object;
    }
    renamed(object, &kind.api_version(), |name| {
        NAMES
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, view)| *view)
    })
}

/// The object as it is stored.
pub(crate) fn stored(kind: &Kind, object: Value) -> Value {
    if !matches!(kind.rules, Rules::EventView) {
        return object;
    }
    renamed(object, "v1", |name| {
        NAMES
            .iter()
            .find(|(_, view)| *view == name)
            .map(|(core, _)| *core)
    })
}

fn renamed<'a>(
    object: Value,
    api_version: &str,
    rename: impl Fn(&str) -> Option<&'a str>,
) -> Value {
    let Value::Object(map) = object else {
        return object;
    };
    let mut out: Map<String, Value> = map
        .into_iter()
        .map(|(key, value)| match rename(&key) {
            Some(name) => (name.to_owned(), value),
            None => (key, value),
        })
        .collect();
    out.insert("apiVersion".to_owned(), json!(api_version));
    Value::Object(out)
}
