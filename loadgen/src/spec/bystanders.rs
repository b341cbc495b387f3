//! Objects that do not concern the operator under test, and the marker by which each is found in memory.
//!
//! Guarantees: pure; every object has a marker of its own, which is found as text and as base64. Leaves to
//! others: creating them, and reading memory.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::rng::SplitMix64;

/// Their namespace on control planes of loadgen's own.
pub const NAMESPACE: &str = "bystanders";
/// What each marker begins with; a multiple of 3 long, so that its base64 is the beginning of the marker's.
const PREFIX: &str = "LOADGEN-BYSTANDER-";
/// Of the kind and the number.
const NUMBER_BYTES: usize = 9;
/// Of one object's value, about.
const VALUE_BYTES: usize = 1_024;
/// The most of a kind.
const MOST: usize = 1_000_000;

/// Kinds that can be asked for: the plural, the kind, and the letter in markers.
const KINDS: [(&str, &str, char); 3] = [
    ("secrets", "Secret", 'S'),
    ("configmaps", "ConfigMap", 'C'),
    ("pods", "Pod", 'P'),
];

/// What a change changes; there from the start, so that a change makes no object larger.
const CHANGE: &str = "loadgen.tare.dev/change";
/// Where a Pod carries its marker.
const MARKER: &str = "loadgen.tare.dev/marker";
/// No scheduler has this name: the Pods stay pending, and no node runs them.
const NO_SCHEDULER: &str = "nobody";

/// How many of which kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bystanders {
    /// The plural.
    pub kind: String,
    pub objects: usize,
}

/// What was found of a kind after all samples of a memory run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The plural.
    pub kind: String,
    /// How many were on the server before the subject started.
    pub objects: usize,
    /// How many of them were found in the memory of its process: an upper bound of what it holds.
    pub in_memory: usize,
    /// From the last step until memory was read, beside the idle time of that step.
    pub waited_s: u64,
}

/// What a subject did while foreign objects were changed, and in a time before in which nothing was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// Requests, each of which changed one object.
    pub changes: u64,
    /// From the first of them until shortly after the last.
    pub changing: Use,
    pub idle: Use,
}

/// What a subject used in a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Use {
    pub seconds: f64,
    pub cpu_s: Option<f64>,
    pub requests: Option<u64>,
}

impl Changed {
    /// CPU of the subject for each change, beyond what it uses while nothing changes, microseconds.
    pub fn cpu_us_per_change(&self) -> Option<f64> {
        let beyond_s = self.beyond(self.changing.cpu_s?, self.idle.cpu_s?);
        Some(beyond_s * 1e6 / self.changes as f64)
    }

    /// Requests of the subject for each change, beyond those that it makes while nothing changes.
    pub fn requests_per_change(&self) -> Option<f64> {
        let (changing, idle) = (self.changing.requests?, self.idle.requests?);
        Some(self.beyond(changing as f64, idle as f64) / self.changes as f64)
    }

    fn beyond(&self, changing: f64, idle: f64) -> f64 {
        changing - idle / self.idle.seconds * self.changing.seconds
    }
}

/// The kinds that can be asked for.
pub fn plurals() -> [&'static str; 3] {
    KINDS.map(|(plural, _, _)| plural)
}

/// Reads `secrets=300,configmaps=300`.
///
/// # Errors
/// One line that says how to write it.
pub fn parse(text: &str) -> Result<Vec<Bystanders>, String> {
    let mut all: Vec<Bystanders> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let known = plurals();
        let one = part.split_once('=').and_then(|(kind, objects)| {
            let objects = objects.parse().ok().filter(|n| (1..=MOST).contains(n))?;
            let kind = known.contains(&kind).then(|| kind.to_owned())?;
            Some(Bystanders { kind, objects })
        });
        match one {
            Some(one) if all.iter().all(|other| other.kind != one.kind) => all.push(one),
            _ => {
                return Err(format!(
                    "{part:?}: write each kind once with a number from 1 to {MOST}, such as secrets=300,configmaps=300; known: {}",
                    known.join(", ")
                ));
            }
        }
    }
    Ok(all)
}

/// A merge patch that changes an object; `nth`, which counts from 1, is in it, so that it is a change.
pub fn change(nth: u64) -> Vec<u8> {
    let patch = json!({"metadata": {"annotations": {CHANGE: nth.to_string()}}});
    patch.to_string().into_bytes()
}

/// The inverse of [`parse`]; `none` where there are none.
pub fn text(all: &[Bystanders]) -> String {
    let parts = all
        .iter()
        .map(|one| format!("{}={}", one.kind, one.objects));
    match all {
        [] => "none".to_owned(),
        _ => parts.collect::<Vec<_>>().join(","),
    }
}

impl Bystanders {
    fn known(&self) -> (&'static str, &'static str, char) {
        let known = KINDS.iter().find(|(plural, _, _)| *plural == self.kind);
        *known.unwrap_or(&KINDS[0])
    }

    /// Path of the collection.
    pub fn path(&self, namespace: &str) -> String {
        format!("/api/v1/namespaces/{namespace}/{}", self.kind)
    }

    /// The name of object `index`.
    pub fn name(&self, index: usize) -> String {
        format!("bystander-{index}")
    }

    /// The object `index`.
    pub fn object(&self, index: usize, namespace: &str, labels: &[(&str, &str)]) -> Vec<u8> {
        let (plural, kind, _) = self.known();
        let value = self.value(index);
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let mut object = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {"name": self.name(index), "namespace": namespace, "labels": labels,
                "annotations": {CHANGE: "0"}},
        });
        match plural {
            "secrets" => object["data"] = json!({"value": BASE64.encode(value)}),
            "pods" => {
                object["metadata"]["annotations"][MARKER] = json!(value);
                object["spec"] = json!({
                    "schedulerName": NO_SCHEDULER,
                    "automountServiceAccountToken": false,
                    "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}],
                });
            }
            _ => object["data"] = json!({"value": value}),
        }
        object.to_string().into_bytes()
    }

    /// The marker, then text that no other object has.
    fn value(&self, index: usize) -> String {
        let rest = VALUE_BYTES - PREFIX.len() - NUMBER_BYTES;
        let random = SplitMix64::of(index as u64, 0xb5).hex(rest);
        format!("{PREFIX}{}{random}", self.number(index))
    }

    /// The letter of the kind and eight digits.
    fn number(&self, index: usize) -> String {
        let (_, _, letter) = self.known();
        format!("{letter}{index:08}")
    }

    /// The index in a marker's number, if it is of this kind.
    pub fn index(&self, number: &[u8]) -> Option<usize> {
        let (_, _, letter) = self.known();
        let digits = std::str::from_utf8(number).ok()?.strip_prefix(letter)?;
        let index: usize = digits.parse().ok()?;
        (index < self.objects).then_some(index)
    }
}

/// The two forms in which a marker may be in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Base64,
}

impl Form {
    pub const ALL: [Form; 2] = [Form::Text, Form::Base64];

    /// What a marker in this form begins with.
    pub fn prefix(self) -> Vec<u8> {
        match self {
            Form::Text => PREFIX.into(),
            Form::Base64 => BASE64.encode(PREFIX).into(),
        }
    }

    /// Bytes of the number behind the prefix.
    pub fn number_bytes(self) -> usize {
        match self {
            Form::Text => NUMBER_BYTES,
            Form::Base64 => NUMBER_BYTES / 3 * 4,
        }
    }

    /// The number as text.
    pub fn number(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Form::Text => Some(bytes.to_vec()),
            Form::Base64 => BASE64.decode(bytes).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_numbers_are_read_or_refused() {
        let all = parse("secrets=300, configmaps=7,pods=2").expect("valid");
        assert_eq!(text(&all), "secrets=300,configmaps=7,pods=2");
        assert_eq!(text(&[]), "none");
        let all: Vec<_> = all.iter().map(|b| (b.kind.as_str(), b.objects)).collect();
        assert_eq!(all, [("secrets", 300), ("configmaps", 7), ("pods", 2)]);
        for text in [
            "",
            "secrets",
            "secrets=0",
            "secrets=x",
            "nodes=3",
            "secrets=1,secrets=2",
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains("such as secrets=300"), "{text}: {error}");
        }
    }

    #[test]
    fn what_a_change_costs_is_beyond_what_is_used_while_nothing_changes() {
        let used = |seconds, cpu_s, requests| Use {
            seconds,
            cpu_s: Some(cpu_s),
            requests: Some(requests),
        };
        let changed = Changed {
            changes: 1_000,
            changing: used(20.0, 1.5, 504),
            idle: used(10.0, 0.25, 2),
        };
        assert_eq!(changed.cpu_us_per_change(), Some(1_000.0));
        assert_eq!(changed.requests_per_change(), Some(0.5));
    }

    #[test]
    fn a_pod_carries_its_marker_in_an_annotation_and_is_scheduled_by_nobody() {
        let pods = parse("pods=5").expect("valid").remove(0);
        let object: serde_json::Value =
            serde_json::from_slice(&pods.object(3, NAMESPACE, &[])).expect("JSON");
        let marker = object["metadata"]["annotations"][MARKER].as_str();
        let number = marker.and_then(|marker| marker.strip_prefix(PREFIX));
        let number = &number.expect("a marker").as_bytes()[..NUMBER_BYTES];
        assert_eq!(pods.index(number), Some(3));
        assert_eq!(object["spec"]["schedulerName"], NO_SCHEDULER);
    }

    #[test]
    fn the_base64_of_a_value_begins_with_that_of_its_marker() {
        let secrets = parse("secrets=300").expect("valid").remove(0);
        let object: serde_json::Value =
            serde_json::from_slice(&secrets.object(17, NAMESPACE, &[])).expect("JSON");
        let value = object["data"]["value"].as_str().expect("text").as_bytes();
        let prefix = Form::Base64.prefix();
        assert!(value.starts_with(&prefix));
        let number = &value[prefix.len()..prefix.len() + Form::Base64.number_bytes()];
        let number = Form::Base64.number(number).expect("base64");
        assert_eq!(secrets.index(&number), Some(17));
        let configmaps = parse("configmaps=300").expect("valid").remove(0);
        assert_eq!(configmaps.index(&number), None);
        let number = configmaps.number(299);
        assert_eq!(configmaps.index(number.as_bytes()), Some(299));
        assert_eq!(configmaps.index(configmaps.number(300).as_bytes()), None);
    }
}
