//! The few fields of a Kubernetes object that the runtime decodes.
//!
//! Guarantees: the parser skips everything else (managedFields, annotations, a child's spec) without an
//! allocation; what is borrowed lives as long as the line or the page that it came in.
//! Leaves to others: what a change means (`queue`), what a difference is (`reconcile`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::hash::{add_label, is_of_others};
use crate::model::{ObjectKey, Uid};

/// One object of a list page, a watch event or an answer, borrowed from its JSON.
#[derive(Deserialize, Debug)]
pub struct PartialObject<'a> {
    #[serde(borrow, default)]
    pub metadata: PartialMetadata<'a>,
    #[serde(borrow, default)]
    pub spec: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub status: Option<&'a RawValue>,
}

/// Labels, annotations and managedFields stay JSON.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct PartialMetadata<'a> {
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub namespace: Cow<'a, str>,
    #[serde(default)]
    pub uid: Uid,
    #[serde(default, deserialize_with = "revision")]
    pub resource_version: u64,
    #[serde(default)]
    pub generation: i64,
    #[serde(borrow, default)]
    pub creation_timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub deletion_timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub finalizers: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub owner_references: Vec<OwnerReference<'a>>,
    #[serde(borrow, default)]
    pub labels: Labels<'a>,
    #[serde(borrow, default)]
    pub annotations: Labels<'a>,
    #[serde(borrow, default)]
    pub managed_fields: Option<&'a RawValue>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference<'a> {
    #[serde(borrow, default)]
    pub api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(deserialize_with = "any_uid")]
    pub uid: Uid,
    #[serde(default)]
    pub controller: Option<bool>,
}

impl OwnerReference<'_> {
    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        group(&self.api_version)
    }
}

/// The group in an `apiVersion`; empty for the core group.
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// A text or a name, borrowed where it holds no escape.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// Labels or annotations that are decoded only when one of them is looked up.
#[derive(Deserialize, Debug, Default)]
#[serde(transparent)]
pub struct Labels<'a>(#[serde(borrow)] Option<&'a RawValue>);

impl Labels<'_> {
    /// Digest of them, see [`add_label`]; 0 also for what are no labels.
    fn digest(&self) -> u32 {
        struct Sum;
        impl<'de> Visitor<'de> for Sum {
            type Value = u32;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
                let mut sum = 0;
                while let Some((Text(name), Text(value))) = map.next_entry()? {
                    sum = add_label(sum, &name, &value);
                }
                Ok(sum)
            }
        }
        let Some(json) = self.0.map(RawValue::get) else {
            return 0;
        };
        let mut json = serde_json::Deserializer::from_str(json);
        json.deserialize_map(Sum).unwrap_or_default()
    }

    /// All of them as JSON, without what is of no interest to a plan; `None` where there are none.
    pub(crate) fn own_json(&self) -> Option<Box<str>> {
        let Value::Object(mut all) = self.value() else {
            return None;
        };
        all.retain(|name, _| !is_of_others(name));
        (!all.is_empty()).then(|| Value::from(all).to_string().into())
    }

    /// By name; what is no text is left out.
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        let Value::Object(all) = self.value() else {
            return BTreeMap::new();
        };
        let texts = all.into_iter().filter_map(|(name, value)| match value {
            Value::String(text) => Some((name, text)),
            _ => None,
        });
        texts.collect()
    }

    /// An object, or `null`.
    pub(crate) fn value(&self) -> Value {
        let decoded = self.0.map(|raw| serde_json::from_str(raw.get()));
        decoded.and_then(Result::ok).unwrap_or_default()
    }
}

impl PartialMetadata<'_> {
    /// The key of the object.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }

    pub fn deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The reference of the controller that owns this object, whoever that is.
    pub fn controller(&self) -> Option<&OwnerReference<'_>> {
        self.owner_references
            .iter()
            .find(|reference| reference.controller == Some(true))
    }

    /// Digest of its labels, its annotations and its controller: what no generation tells.
    pub(crate) fn marks(&self) -> u32 {
        let controller = self.controller().filter(|_| !mutant!(DisownedIgnored));
        let controller = controller.map_or(0, |reference| reference.uid.short());
        // So that none is taken for another.
        self.labels.digest().rotate_left(1) ^ self.annotations.digest() ^ controller.rotate_left(2)
    }

    /// The value of a label.
    pub fn label(&self, label: &str) -> Option<String> {
        self.labels.value().get(label)?.as_str().map(str::to_owned)
    }
}

/// A map of these. `collect` would sort them first, with 4 KB of code for each place that calls it.
pub(crate) fn map_of(entries: impl Iterator<Item = (String, Value)>) -> Map<String, Value> {
    let mut map = Map::new();
    map.extend(entries);
    map
}

/// The uid in an owner reference. Anybody may write anything there: what is no UUID is nobody's.
fn any_uid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uid, D::Error> {
    let Text(text) = Text::deserialize(deserializer)?;
    Ok(Uid::parse(&text).unwrap_or(Uid::NOBODY))
}

/// A resourceVersion as a number. Since Kubernetes 1.35 they are defined to be comparable as such
/// (KEP-5504); earlier servers on etcd and kine have always counted up.
fn revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let Text(text) = Text::deserialize(deserializer)?;
    match &*text {
        "" => Ok(0),
        text => text
            .parse()
            .map_err(|_| D::Error::custom("resourceVersion is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ChildState;

    #[test]
    fn only_the_needed_fields_are_decoded() -> Result<(), serde_json::Error> {
        let json = r#"{"kind":"Deployment","metadata":{"name":"web","namespace":"shop",
            "uid":"01234567-89ab-cdef-0123-456789abcdef","resourceVersion":"42","generation":3,
            "labels":{"a":"b","example.com/owner":"web"},"managedFields":[{"fieldsV1":{"f:spec":{}}}],
            "ownerReferences":[{"apiVersion":"example.com/v1","kind":"Site","name":"web",
              "uid":"01234567-89ab-cdef-0123-456789abcdef","controller":true}]},
            "spec":{"replicas":2},"status":{"observedGeneration":3,"replicas":2,"readyReplicas":1,
            "conditions":[{"type":"Progressing","status":"False"}]}}"#;
        let object: PartialObject<'_> = serde_json::from_str(json)?;
        assert_eq!(object.metadata.key().as_str(), "shop/web");
        assert_eq!(object.metadata.resource_version, 42);
        let label = object.metadata.label("example.com/owner");
        assert_eq!(label.as_deref(), Some("web"));
        let state = ChildState::read(
            object.metadata.generation,
            object.status,
            crate::model::REPLICAS,
        );
        assert_eq!(
            (state.generation, state.ready_replicas, state.stalled),
            (3, 1, true)
        );
        Ok(())
    }

    #[test]
    fn an_odd_reference_of_somebody_else_does_not_make_an_object_undecodable()
    -> Result<(), serde_json::Error> {
        let json = r#"{"metadata":{"name":"web","ownerReferences":[
            {"apiVersion":"v1","kind":"ConfigMap","name":"team","uid":"not a uuid","controller":true}]}}"#;
        let object: PartialObject<'_> = serde_json::from_str(json)?;
        let controller = object.metadata.controller().map(|reference| reference.uid);
        assert_eq!(controller, Some(Uid::NOBODY));
        Ok(())
    }

    #[test]
    fn a_child_that_loses_its_controller_is_not_as_it_was() -> Result<(), serde_json::Error> {
        let marks = |references: &str| {
            let json = format!(r#"{{"metadata":{{"labels":{{"a":"b"}}{references}}}}}"#);
            let object: PartialObject<'_> = serde_json::from_str(&json)?;
            Ok::<_, serde_json::Error>(object.metadata.marks())
        };
        let of = |uid: &str, controller: bool| {
            format!(
                r#","ownerReferences":[{{"apiVersion":"v1","kind":"Site","name":"web","uid":"{uid}","controller":{controller}}}]"#
            )
        };
        let [first, other] = [
            "9bb155eb-4ae6-40e2-9a89-876feed2666a",
            "819fe1bb-aae0-43f3-8b1a-c09f3bac87b1",
        ];
        let owned = marks(&of(first, true))?;
        assert_eq!(marks(&of(first, true))?, owned);
        assert_ne!(marks("")?, owned);
        assert_ne!(marks(&of(first, false))?, owned);
        assert_ne!(marks(&of(other, true))?, owned);
        Ok(())
    }
}
