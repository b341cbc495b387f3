//! A Lease as the API server stores it (coordination.k8s.io/v1), and the bodies that write it.
//!
//! Guarantees: a write names the resourceVersion that it replaces, so that of two writers one is refused.
//! Leaves to others: who may write, and when (`lease`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::json;

use crate::model::rfc3339;

/// Who holds a Lease. Two records are equal if nothing was written in between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Record {
    /// The resourceVersion that a write replaces.
    pub version: Box<str>,
    /// Identity of the holder; empty where it was released.
    pub holder: Box<str>,
    /// How long others wait after its last renewal; `None` where it does not say.
    pub duration: Option<Duration>,
    /// When the holder acquired it, as it wrote.
    pub acquired: Box<str>,
    /// When it was last renewed, as the holder wrote: compared with the one before, never with a clock.
    pub renewed: Box<str>,
    /// How often it went from one holder to another.
    pub transitions: i32,
}

#[derive(Deserialize)]
struct Object {
    metadata: Meta,
    #[serde(default)]
    spec: Option<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    resource_version: Box<str>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    holder_identity: Option<Box<str>>,
    lease_duration_seconds: Option<i64>,
    acquire_time: Option<Box<str>>,
    renew_time: Option<Box<str>>,
    lease_transitions: Option<i32>,
}

impl Record {
    /// Reads a Lease.
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let Object { metadata, spec } = serde_json::from_slice(body)?;
        let spec = spec.unwrap_or_default();
        let seconds = spec.lease_duration_seconds.map(u64::try_from);
        Ok(Self {
            version: metadata.resource_version,
            holder: spec.holder_identity.unwrap_or_default(),
            duration: seconds.and_then(Result::ok).map(Duration::from_secs),
            acquired: spec.acquire_time.unwrap_or_default(),
            renewed: spec.renew_time.unwrap_or_default(),
            transitions: spec.lease_transitions.unwrap_or_default(),
        })
    }

    /// Whether nothing was written between the two. Changes of labels and annotations do not count.
    pub fn is_same_renewal(&self, other: &Self) -> bool {
        (&self.holder, &self.renewed) == (&other.holder, &other.renewed)
            && (&self.acquired, self.transitions) == (&other.acquired, other.transitions)
    }

    /// The record with which `holder` takes over from this one at `time`.
    pub fn taken_by(&self, holder: &str, duration: Duration, time: &str) -> Self {
        Self {
            version: self.version.clone(),
            holder: holder.into(),
            duration: Some(duration),
            acquired: time.into(),
            renewed: time.into(),
            transitions: match &*self.holder == holder {
                true => self.transitions,
                false => self.transitions.saturating_add(1),
            },
        }
    }

    /// The same, renewed at `time`.
    pub fn renewed_at(&self, time: &str) -> Self {
        Self {
            renewed: time.into(),
            ..self.clone()
        }
    }

    /// A merge patch that writes this record in the place of the version that it names.
    pub fn patch(&self) -> Vec<u8> {
        let version = &self.version;
        json!({ "metadata": { "resourceVersion": version }, "spec": self.spec() })
            .to_string()
            .into_bytes()
    }

    /// A new Lease of this name.
    pub fn create(&self, name: &str) -> Vec<u8> {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": name }, "spec": self.spec(),
        })
        .to_string()
        .into_bytes()
    }

    fn spec(&self) -> serde_json::Value {
        json!({
            "holderIdentity": Some(&self.holder).filter(|holder| !holder.is_empty()),
            "leaseDurationSeconds": self.duration.map(|duration| duration.as_secs()),
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        })
    }
}

/// The time now, to the microsecond, as fields of type MicroTime have it.
pub(crate) fn micro_time() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = u32::try_from(since.as_secs()).unwrap_or_default();
    let micros = since.subsec_micros();
    let whole = rfc3339(seconds);
    format!("{}.{micros:06}Z", whole.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases() -> Result<(), serde_json::Error> {
        let read = |text: &str| Record::read(text.as_bytes());
        let full = read(
            r#"{"metadata":{"name":"x","resourceVersion":"7"},"spec":{"holderIdentity":"pod-1_9",
                "leaseDurationSeconds":15,"acquireTime":"2026-11-21T05:07:12.000001Z",
                "renewTime":"2026-11-21T05:07:14.000002Z","leaseTransitions":3}}"#,
        )?;
        assert_eq!((&*full.version, &*full.holder), ("7", "pod-1_9"));
        assert_eq!(full.duration, Some(Duration::from_secs(15)));
        assert_eq!(full.transitions, 3);
        for empty in [
            r#"{"metadata":{"resourceVersion":"8"}}"#,
            r#"{"metadata":{"resourceVersion":"8"},"spec":{}}"#,
            r#"{"metadata":{"resourceVersion":"8"},"spec":{"holderIdentity":null,"leaseDurationSeconds":-1}}"#,
        ] {
            let empty = read(empty)?;
            assert_eq!((&*empty.holder, empty.duration), ("", None));
        }
        assert!(read("[]").is_err());
        Ok(())
    }

    #[test]
    fn what_is_written_is_read() -> Result<(), serde_json::Error> {
        let time = micro_time();
        assert!(time.ends_with('Z') && time.len() == 27, "{time}");
        let first = Record::default().taken_by("a", Duration::from_secs(15), &time);
        assert_eq!(first.transitions, 1);
        let mut stored: serde_json::Value = serde_json::from_slice(&first.create("x"))?;
        stored["metadata"]["resourceVersion"] = "1".into();
        let read = Record::read(stored.to_string().as_bytes())?;
        assert!(read.is_same_renewal(&first));
        let again = read.renewed_at("later");
        assert!(!again.is_same_renewal(&first));
        let patch: serde_json::Value = serde_json::from_slice(&again.patch())?;
        assert_eq!(patch["metadata"]["resourceVersion"], "1");
        assert_eq!(patch["spec"]["renewTime"], "later");
        assert_eq!(again.taken_by("a", Duration::ZERO, "t").transitions, 1);
        Ok(())
    }
}
