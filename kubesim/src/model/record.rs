//! An object as it is stored: encoded once, with the parts that are read often beside it.
//!
//! Guarantees: the bytes are compact JSON that starts with apiVersion, kind and
//! metadata.resourceVersion, so a list of a built-in kind can skip the first two as a real
//! server does, and the resourceVersion is set without encoding again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::model::json::{meta, meta_str, owner_references};

/// A uid as a number: 16 bytes where the text is 36.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Uid(u128);

impl Uid {
    /// UUIDs by value; any other text by hash, since a client may write anything.
    pub(crate) fn parse(text: &str) -> Uid {
        let hex: String = text.chars().filter(|c| *c != '-').collect();
        if hex.len() == 32
            && let Ok(number) = u128::from_str_radix(&hex, 16)
        {
            return Uid(number);
        }
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, text).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        Uid(half(0) << 64 | half(1))
    }

    /// Version 4, variant 1, from two random words.
    pub(crate) fn random_text(high: u64, low: u64) -> String {
        let bits = (u128::from(high) << 64 | u128::from(low)) & !(0xf000 << 64) & !(0xc << 60)
            | 0x4000 << 64
            | 0x8 << 60;
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }
}

/// One committed state of one object.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) key: Arc<str>,
    pub(crate) revision: u64,
    pub(crate) uid: Uid,
    pub(crate) bytes: Bytes,
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    pub(crate) owners: Box<[Uid]>,
    /// Length of `{"apiVersion":…,"kind":…,`.
    type_prefix: u16,
}

/// An encoded object that waits for its resourceVersion.
pub(crate) struct Draft {
    pub(crate) key: Arc<str>,
    uid: Uid,
    head: Vec<u8>,
    tail: Vec<u8>,
    labels: Box<[(Box<str>, Box<str>)]>,
    owners: Box<[Uid]>,
    type_prefix: u16,
}

impl Draft {
    pub(crate) fn new(key: &str, object: &Value) -> Draft {
        let mut head = b"{\"apiVersion\":".to_vec();
        push(&mut head, object.get("apiVersion").unwrap_or(&Value::Null));
        head.extend_from_slice(b",\"kind\":");
        push(&mut head, object.get("kind").unwrap_or(&Value::Null));
        head.push(b',');
        let type_prefix = u16::try_from(head.len()).unwrap_or(u16::MAX);
        head.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");

        let mut tail = Vec::with_capacity(1_024);
        tail.push(b'"');
        for (field, value) in meta(object).into_iter().flatten() {
            if field != "resourceVersion" {
                push_field(&mut tail, field, value);
            }
        }
        tail.push(b'}');
        for (field, value) in object.as_object().into_iter().flatten() {
            if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
                push_field(&mut tail, field, value);
            }
        }
        tail.push(b'}');

        Draft {
            key: key.into(),
            uid: Uid::parse(meta_str(object, "uid")),
            head,
            tail,
            labels: labels(object),
            owners: owner_references(object)
                .iter()
                .filter_map(|owner| owner.get("uid")?.as_str().map(Uid::parse))
                .collect(),
            type_prefix,
        }
    }

    pub(crate) fn seal(self, revision: u64) -> Record {
        let digits = revision.to_string();
        let mut bytes = Vec::with_capacity(self.head.len() + digits.len() + self.tail.len());
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(&self.tail);
        Record {
            key: self.key,
            revision,
            uid: self.uid,
            bytes: Bytes::from(bytes),
            labels: self.labels,
            owners: self.owners,
            type_prefix: self.type_prefix,
        }
    }
}

fn push(out: &mut Vec<u8>, value: &Value) {
    // A `Value` has string keys and finite numbers only: writing it to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

fn push_field(out: &mut Vec<u8>, field: &str, value: &Value) {
    out.push(b',');
    let _ = serde_json::to_writer(&mut *out, field);
    out.push(b':');
    push(out, value);
}

fn labels(object: &Value) -> Box<[(Box<str>, Box<str>)]> {
    meta(object)
        .and_then(|m| m.get("labels"))
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or("").into()))
        .collect()
}

impl Record {
    pub(crate) fn object(&self) -> Value {
        // Only this module encodes, so what is kept always parses.
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    pub(crate) fn name(&self) -> &str {
        self.key.split_once('/').map_or(&self.key, |(_, name)| name)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// The state just before deletion, at the deletion's own revision: what a DELETED event carries.
    pub(crate) fn deleted_at(&self, revision: u64) -> Record {
        let marker = b"\"metadata\":{\"resourceVersion\":\"".len();
        let start = usize::from(self.type_prefix) + marker;
        let end = start + self.revision.to_string().len();
        let mut bytes = Vec::with_capacity(self.bytes.len() + 8);
        bytes.extend_from_slice(&self.bytes[..start]);
        bytes.extend_from_slice(revision.to_string().as_bytes());
        bytes.extend_from_slice(&self.bytes[end..]);
        Record {
            key: self.key.clone(),
            revision,
            uid: self.uid,
            bytes: Bytes::from(bytes),
            labels: self.labels.clone(),
            owners: self.owners.clone(),
            type_prefix: self.type_prefix,
        }
    }

    /// The version that it is stored in.
    pub(crate) fn api_version(&self) -> &str {
        let start = b"{\"apiVersion\":\"".len();
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'"').unwrap_or(0);
        std::str::from_utf8(&rest[..length]).unwrap_or("")
    }

    /// The bytes after `{"apiVersion":…,"kind":…,`: list items of built-in kinds carry neither.
    pub(crate) fn without_type(&self) -> &[u8] {
        &self.bytes[usize::from(self.type_prefix)..]
    }

    /// The metadata as JSON text.
    pub(crate) fn metadata(&self) -> &str {
        #[derive(Deserialize)]
        struct Meta<'a> {
            #[serde(borrow)]
            metadata: &'a RawValue,
        }
        serde_json::from_slice::<Meta<'_>>(&self.bytes).map_or("{}", |meta| meta.metadata.get())
    }

    /// About what the record costs in memory, for the bound on history.
    pub(crate) fn weight(&self) -> usize {
        self.bytes.len() + self.key.len() + 160 + self.labels.len() * 80
    }
}
