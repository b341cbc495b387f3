//! A Lease as the API server stores it (coordination.k8s.io/v1), and the bodies that write it.
//!
//! Guarantees: a write of a Lease that exists names the resourceVersion that it replaces, so that of two writers one
//! is refused. Leaves to others: who may write, and when (`lease`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::http::request::ApiError;
use crate::model::{decoded, rfc3339};

/// Who holds a Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The resourceVersion that a write replaces.
    pub version: Box<str>,
    /// Identity of the holder; empty where it was released.
    pub holder: Box<str>,
    /// How long others wait after its last renewal; `None` where it does not say.
    pub duration: Option<Duration>,
    /// When it was last renewed, as the holder wrote: compared with the one before, never with a clock.
    pub renewed: Box<str>,
    /// How often it went from one holder to another.
    pub transitions: i64,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// A holder takes over.
    Take,
    /// The holder goes on.
    Renew,
    /// The holder gives it up.
    Release,
}

impl Record {
    /// Reads a Lease.
    pub fn read(body: &[u8]) -> Result<Self, ApiError> {
        let lease: Value = decoded(body).map_err(|error| ApiError::undecodable(&error))?;
        let spec = &lease["spec"];
        let text = |value: &Value| Box::from(value.as_str().unwrap_or_default());
        let version: Box<str> = text(&lease["metadata"]["resourceVersion"]);
        // A write that names none would replace whatever is there.
        if version.is_empty() {
            return Err(ApiError::Undecodable("no resourceVersion".into()));
        }
        Ok(Self {
            version,
            holder: text(&spec["holderIdentity"]),
            duration: spec["leaseDurationSeconds"]
                .as_u64()
                .map(Duration::from_secs),
            renewed: text(&spec["renewTime"]),
            transitions: spec["leaseTransitions"].as_i64().unwrap_or_default(),
        })
    }

    /// Whether nothing was written between the two. Changes of labels and annotations do not count.
    pub fn is_same_renewal(&self, other: &Self) -> bool {
        (&self.holder, &self.renewed, self.transitions)
            == (&other.holder, &other.renewed, other.transitions)
    }

    /// A merge patch of this record by `holder`.
    pub fn patch(&self, write: Write, holder: &str, duration: Duration) -> String {
        let version = quoted(&self.version);
        let spec = match write {
            Write::Take if *self.holder == *holder => spec(holder, duration, self.transitions),
            Write::Take => spec(holder, duration, self.transitions.saturating_add(1)),
            Write::Renew => format!(r#"{{"renewTime":"{}"}}"#, micro_time()),
            Write::Release => format!(
                r#"{{"holderIdentity":null,"leaseDurationSeconds":1,"renewTime":"{}"}}"#,
                micro_time()
            ),
        };
        format!(r#"{{"metadata":{{"resourceVersion":{version}}},"spec":{spec}}}"#)
    }
}

/// A new Lease.
pub(crate) fn create(name: &str, holder: &str, duration: Duration) -> String {
    let (name, spec) = (quoted(name), spec(holder, duration, 0));
    format!(
        r#"{{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":{name}}},"spec":{spec}}}"#
    )
}

fn spec(holder: &str, duration: Duration, transitions: i64) -> String {
    let (holder, seconds, time) = (quoted(holder), duration.as_secs(), micro_time());
    format!(
        r#"{{"holderIdentity":{holder},"leaseDurationSeconds":{seconds},"acquireTime":"{time}","renewTime":"{time}","leaseTransitions":{transitions}}}"#
    )
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The time now, to the microsecond, as fields of type MicroTime have it.
fn micro_time() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = u32::try_from(since.as_secs()).unwrap_or_default();
    let mut time = rfc3339(seconds);
    time.pop();
    format!("{time}.{:06}Z", since.subsec_micros())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    #[test]
    fn leases() -> Result<(), ApiError> {
        let full = Record::read(
            br#"{"metadata":{"name":"x","resourceVersion":"7"},"spec":{"holderIdentity":"pod-1_9",
                "leaseDurationSeconds":15,"acquireTime":"2026-11-21T05:07:12.000001Z",
                "renewTime":"2026-11-21T05:07:14.000002Z","leaseTransitions":3}}"#,
        )?;
        assert_eq!((&*full.version, &*full.holder), ("7", "pod-1_9"));
        assert_eq!((full.duration, full.transitions), (Some(DURATION), 3));
        for spec in [
            json!(null),
            json!({}),
            json!({"holderIdentity": null, "leaseDurationSeconds": -1}),
        ] {
            let lease = json!({"metadata": {"resourceVersion": "8"}, "spec": spec});
            let empty = Record::read(lease.to_string().as_bytes())?;
            assert_eq!((&*empty.holder, empty.duration), ("", None));
        }
        for broken in [
            "",
            "[]",
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"resourceVersion":7}}"#,
        ] {
            assert!(Record::read(broken.as_bytes()).is_err(), "{broken}");
        }
        Ok(())
    }

    #[test]
    fn what_is_written_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let mut lease: Value = serde_json::from_str(&create("x", "a \"pod\"", DURATION))?;
        lease["metadata"]["resourceVersion"] = "1".into();
        let first = Record::read(lease.to_string().as_bytes())?;
        assert_eq!(
            (&*first.holder, first.duration),
            ("a \"pod\"", Some(DURATION))
        );
        let time = &first.renewed;
        assert!(time.ends_with('Z') && time.len() == 27, "{time}");

        let patch = |write, holder: &str| -> Result<Value, serde_json::Error> {
            serde_json::from_str(&first.patch(write, holder, DURATION))
        };
        for write in [Write::Take, Write::Renew, Write::Release] {
            let patch = patch(write, "b")?;
            assert_eq!(patch["metadata"]["resourceVersion"], "1", "{write:?}");
            assert_ne!(patch["spec"]["renewTime"], **time, "{write:?}");
        }
        assert_eq!(patch(Write::Take, "b")?["spec"]["leaseTransitions"], 1);
        assert_eq!(
            patch(Write::Take, "a \"pod\"")?["spec"]["leaseTransitions"],
            0
        );
        let release = patch(Write::Release, "b")?;
        let holder = release.pointer("/spec/holderIdentity");
        assert_eq!(holder, Some(&Value::Null), "others may take it at once");
        Ok(())
    }
}
