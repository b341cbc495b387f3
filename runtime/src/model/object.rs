//! The few fields of a Kubernetes object that the runtime ever decodes.
//!
//! Guarantees: everything else (managedFields, annotations, a child's spec) is skipped by the
//! parser without an allocation; what is borrowed lives as long as the line or page it came in.
//! Leaves to others: what a change means (`queue`), what a difference is (`drift`).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::value::RawValue;

/// One object of a list page, a watch event or an answer, borrowed from its JSON.
#[derive(Deserialize, Debug)]
pub(crate) struct PartialObject<'a> {
    #[serde(borrow, default)]
    pub metadata: PartialMetadata<'a>,
    #[serde(borrow, default)]
    pub spec: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub status: Option<&'a RawValue>,
}

/// `L` is what is decoded of the labels: by default they stay JSON.
#[derive(Deserialize, Debug, Default)]
#[serde(
    rename_all = "camelCase",
    bound(deserialize = "L: Deserialize<'de> + Default")
)]
pub(crate) struct PartialMetadata<'a, L = Labels<'a>> {
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
    pub deletion_timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub finalizers: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub owner_references: Vec<OwnerReference<'a>>,
    #[serde(default)]
    pub labels: Option<L>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnerReference<'a> {
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    pub uid: Uid,
    #[serde(default)]
    pub controller: Option<bool>,
}

/// Labels that are decoded only when one of them is looked up.
#[derive(Deserialize, Debug, Default)]
#[serde(transparent)]
pub(crate) struct Labels<'a>(#[serde(borrow)] Option<&'a RawValue>);

impl Labels<'_> {
    fn get(&self, label: &str) -> Option<String> {
        let labels: serde_json::Value = serde_json::from_str(self.0?.get()).ok()?;
        labels.get(label)?.as_str().map(str::to_owned)
    }
}

impl<L> PartialMetadata<'_, L> {
    /// `namespace/name`.
    pub fn key(&self) -> String {
        let mut key = String::with_capacity(self.namespace.len() + 1 + self.name.len());
        key.push_str(&self.namespace);
        key.push('/');
        key.push_str(&self.name);
        key
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
}

impl PartialMetadata<'_> {
    /// Name of the owner of `kind`: by the controller reference, else by the label `owner_label`.
    pub fn owner_name(&self, kind: &str, owner_label: &str) -> Option<Cow<'_, str>> {
        match self.controller() {
            Some(reference) if reference.kind == kind => Some(Cow::Borrowed(&*reference.name)),
            Some(_) => None,
            None => self.labels.as_ref()?.get(owner_label).map(Cow::Owned),
        }
    }
}

/// Identity and life cycle of an owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Name.
    pub name: Box<str>,
    /// Namespace.
    pub namespace: Box<str>,
    /// Identity across re-creations under the same name.
    pub uid: Uid,
    /// Revision of the object as it was seen.
    pub resource_version: u64,
    /// Moves with the spec.
    pub generation: i64,
    /// The generation that its status speaks of.
    pub observed_generation: Option<i64>,
    /// Whether the object waits for its finalizers to go.
    pub deleting: bool,
}

impl Meta {
    /// `namespace/name`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// What a child tells about its progress. To a plan a child of a kind without replicas tells only
/// that it exists: all of this is then 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChildState {
    /// Generation of the child's spec.
    pub generation: i64,
    /// The generation its own controller has seen.
    pub observed_generation: i64,
    /// Pods that exist.
    pub replicas: i32,
    /// Pods of the newest template.
    pub updated_replicas: i32,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// Pods that have been ready for as long as is asked for.
    pub available_replicas: i32,
    /// Whether its controller gave up waiting (`Progressing` is `False`).
    pub stalled: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WorkloadStatus<'a> {
    #[serde(default)]
    observed_generation: i64,
    #[serde(default)]
    replicas: i32,
    #[serde(default)]
    updated_replicas: i32,
    #[serde(default)]
    ready_replicas: i32,
    #[serde(default)]
    available_replicas: i32,
    #[serde(borrow, default)]
    conditions: Vec<WorkloadCondition<'a>>,
}

#[derive(Deserialize)]
struct WorkloadCondition<'a> {
    #[serde(borrow, rename = "type")]
    type_: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
}

impl ChildState {
    /// Whether its controller has seen its newest spec: before, it tells of an older one.
    pub fn is_current(&self) -> bool {
        self.generation > 0 && self.observed_generation >= self.generation
    }

    /// Whether it is current and `wanted` pods of its newest spec are ready.
    pub fn is_ready(&self, wanted: i32) -> bool {
        self.is_current() && self.updated_replicas >= wanted && self.ready_replicas >= wanted
    }

    /// Reads the counters of `object`; a status of another shape leaves them at zero.
    pub(crate) fn of(object: &PartialObject<'_>, workload: bool) -> Self {
        Self::read(object.metadata.generation, object.status, workload)
    }

    /// The same from its parts.
    pub(crate) fn read(generation: i64, status: Option<&RawValue>, workload: bool) -> Self {
        let status: WorkloadStatus<'_> = match status {
            Some(raw) if workload => serde_json::from_str(raw.get()).unwrap_or_default(),
            _ => WorkloadStatus::default(),
        };
        Self {
            generation,
            observed_generation: status.observed_generation,
            replicas: status.replicas,
            updated_replicas: status.updated_replicas,
            ready_replicas: status.ready_replicas,
            available_replicas: status.available_replicas,
            stalled: status
                .conditions
                .iter()
                .any(|c| c.type_ == "Progressing" && c.status == "False"),
        }
    }
}

/// A Kubernetes UID. They are UUIDs (RFC 4122), so 16 bytes hold one:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#uids>.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Uid(u128);

impl Uid {
    /// Parses the hyphenated form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 36 {
            return None;
        }
        let mut value = 0u128;
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return None;
                }
            } else {
                value = value << 4 | u128::from(char::from(*byte).to_digit(16)?);
            }
        }
        Some(Self(value))
    }

    /// High and low half: two words need less alignment than one of 16 bytes.
    pub(crate) fn halves(self) -> [u64; 2] {
        [(self.0 >> 64) as u64, self.0 as u64]
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        let part = |shift: u32, bits: u32| (v >> shift) & ((1 << bits) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 32),
            part(80, 16),
            part(64, 16),
            part(48, 16),
            part(0, 48)
        )
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Uid;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a UUID")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Uid, E> {
                Uid::parse(text).ok_or_else(|| E::custom("uid is not a UUID"))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A resourceVersion as a number. Since Kubernetes 1.35 they are defined to be comparable as such
/// (KEP-5504); earlier servers on etcd and kine have always counted up.
fn revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = u64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a resourceVersion in decimal")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
            if text.is_empty() {
                return Ok(0);
            }
            text.parse()
                .map_err(|_| E::custom("resourceVersion is not a number"))
        }
    }
    deserializer.deserialize_str(Number)
}

/// FNV-1a, 32 bits: tells the few children of one owner apart.
pub(crate) fn hash32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// FNV-1a, 64 bits: tells a status from the one last written.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_reads_back_as_it_was_written() {
        let text = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(
            Uid::parse(text).map(|uid| uid.to_string()).as_deref(),
            Some(text)
        );
        for bad in [
            "",
            "01234567-89ab-cdef-0123-456789abcde",
            "01234567x89ab-cdef-0123-456789abcdef",
        ] {
            assert_eq!(Uid::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_the_needed_fields_are_decoded() -> Result<(), serde_json::Error> {
        let json = r#"{"kind":"Deployment","metadata":{"name":"web","namespace":"shop",
            "uid":"01234567-89ab-cdef-0123-456789abcdef","resourceVersion":"42","generation":3,
            "labels":{"a":"b","tare.dev/owner":"web"},"managedFields":[{"fieldsV1":{"f:spec":{}}}],
            "ownerReferences":[{"apiVersion":"tare.dev/v1alpha1","kind":"EdgeApp","name":"web",
              "uid":"01234567-89ab-cdef-0123-456789abcdef","controller":true}]},
            "spec":{"replicas":2},"status":{"observedGeneration":3,"replicas":2,"readyReplicas":1,
            "conditions":[{"type":"Progressing","status":"False"}]}}"#;
        let object: PartialObject<'_> = serde_json::from_str(json)?;
        assert_eq!(object.metadata.key(), "shop/web");
        assert_eq!(object.metadata.resource_version, 42);
        assert_eq!(
            object
                .metadata
                .owner_name("EdgeApp", "tare.dev/owner")
                .as_deref(),
            Some("web")
        );
        assert_eq!(object.metadata.owner_name("WebApp", "tare.dev/owner"), None);
        let state = ChildState::of(&object, true);
        assert_eq!(
            (state.generation, state.ready_replicas, state.stalled),
            (3, 1, true)
        );
        Ok(())
    }
}
