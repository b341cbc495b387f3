//! What is created: a template of the object, filled in per object from the seed.
//!
//! Guarantees: the same seed and index give the same bytes; an object is exactly `object_bytes`
//! long where its template leaves room. Leaves to others: the rate, and the sending.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::seed::Chance;

const EDGEAPP: &str = include_str!("../scenarios/edgeapp.toml");

/// What is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// `headless` or `cluster-ip`: what the report says was used.
    pub service: String,
    /// Size of one object as it is sent, JSON.
    pub object_bytes: usize,
    /// How long a child takes to become ready, where the control plane can be told.
    pub ready_delay_ms: u64,
    pub resource: Resource,
    object: Value,
    /// A merge patch: what churn changes.
    update: Value,
}

/// Where the objects live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub namespace: String,
}

impl Resource {
    /// Path of the collection.
    pub fn path(&self) -> String {
        let Self {
            group,
            version,
            plural,
            namespace,
            ..
        } = self;
        format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}")
    }
}

/// A scenario file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("scenario {file}: {source}")]
pub struct Error {
    file: &'static str,
    source: toml::de::Error,
}

/// The name of the object that is there before the subject starts.
pub const CANARY: &str = "canary";

/// Objects are `ea-0`, `ea-1`, …
pub fn object_name(index: usize) -> String {
    format!("ea-{index}")
}

/// The inverse of [`object_name`].
pub fn object_index(name: &str) -> Option<usize> {
    name.strip_prefix("ea-")?.parse().ok()
}

/// The default scenario.
///
/// # Errors
/// If the build was given a broken file.
pub fn edgeapp() -> Result<Scenario, Error> {
    toml::from_str(EDGEAPP).map_err(|source| Error {
        file: "edgeapp.toml",
        source,
    })
}

impl Scenario {
    /// The bytes to POST.
    pub fn object(&self, name: &str, index: usize, seed: u64) -> Vec<u8> {
        let build = |words: &str| {
            let mut object = filled(&self.object, &Fill::of(name, index, seed, words));
            object["apiVersion"] =
                format!("{}/{}", self.resource.group, self.resource.version).into();
            object["kind"] = self.resource.kind.as_str().into();
            object["metadata"]["name"] = name.into();
            object["metadata"]["namespace"] = self.resource.namespace.as_str().into();
            object.to_string().into_bytes()
        };
        let bare = build("");
        let room = self.object_bytes.saturating_sub(bare.len());
        if room == 0 {
            bare
        } else {
            build(&words(&mut Chance::of(seed, index as u64), room))
        }
    }

    /// The bytes of the merge patch that gives object `index` its `wave`-th content.
    pub fn update(&self, name: &str, index: usize, seed: u64, wave: u64) -> Vec<u8> {
        let fill = Fill::of(name, index, seed.wrapping_add(wave), "");
        filled(&self.update, &fill).to_string().into_bytes()
    }
}

struct Fill {
    pairs: [(&'static str, String); 4],
}

impl Fill {
    fn of(name: &str, index: usize, seed: u64, words: &str) -> Self {
        let digest = Chance::of(seed, !(index as u64)).hex(64);
        Self {
            pairs: [
                ("{name}", name.into()),
                ("{index}", index.to_string()),
                ("{digest}", digest),
                ("{words}", words.into()),
            ],
        }
    }
}

fn filled(template: &Value, fill: &Fill) -> Value {
    match template {
        Value::String(text) => {
            let mut text = text.clone();
            for (placeholder, value) in &fill.pairs {
                if text.contains(placeholder) {
                    text = text.replace(placeholder, value);
                }
            }
            Value::String(text)
        }
        Value::Array(items) => items.iter().map(|item| filled(item, fill)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), filled(value, fill)))
            .collect(),
        other => other.clone(),
    }
}

/// Exactly `bytes` of text that looks like a list of changes; nothing in it needs escaping.
fn words(chance: &mut Chance, bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "fix",
        "rounding",
        "of",
        "receipts",
        "with",
        "loyalty",
        "discount",
        "update",
        "terminal",
        "driver",
        "retry",
        "offline",
        "payments",
        "after",
        "reconnect",
        "translate",
    ];
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(WORDS[chance.below(WORDS.len())]);
        text.push(' ');
    }
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_object_has_the_size_it_should_have() {
        let scenario = edgeapp().expect("valid");
        for index in [0, 7, 99_999] {
            let object = scenario.object(&object_name(index), index, 1);
            assert_eq!(object.len(), scenario.object_bytes);
            let object: Value = serde_json::from_slice(&object).expect("JSON");
            assert_eq!(object["metadata"]["name"], object_name(index));
            assert_eq!(object["apiVersion"], "tare.dev/v1alpha1");
            assert!(!object.to_string().contains("{words}"));
        }
    }

    #[test]
    fn a_small_size_keeps_the_template() {
        let mut scenario = edgeapp().expect("valid");
        scenario.object_bytes = 10;
        let object: Value = serde_json::from_slice(&scenario.object("ea-1", 1, 1)).expect("JSON");
        assert_eq!(object["spec"]["replicas"], 1);
    }

    #[test]
    fn an_update_differs_from_wave_to_wave() {
        let scenario = edgeapp().expect("valid");
        assert_ne!(
            scenario.update("ea-1", 1, 1, 1),
            scenario.update("ea-1", 1, 1, 2)
        );
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_bytes(seed: u64, index in 0usize..1_000_000) {
            let scenario = edgeapp().expect("valid");
            let name = object_name(index);
            prop_assert_eq!(scenario.object(&name, index, seed), scenario.object(&name, index, seed));
            prop_assert_eq!(object_index(&name), Some(index));
        }
    }
}
