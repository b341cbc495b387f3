//! Events on owners: Warnings on those that became degraded, and what an author tells.
//!
//! Guarantees: at most [`BURST`] at once and one per second after that, for all owners together; what is
//! left out is counted; an Event that cannot be written never fails the reconcile of its owner.
//! Leaves to others: when there is something to tell (`reconcile`).

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use http::Method;
use serde_json::json;
use tokio::time::{Duration, Instant};
use tracing::debug;

use crate::api::Operator;
use crate::http::request::{METADATA, OBJECT_BYTES};
use crate::metrics::Verb;
use crate::model::{hash32, rfc3339};
use crate::reconcile::{JSON, Reconciler, Task, write};

/// Events that may be written at once: the burst of client-go's event broadcaster
/// (`tools/record`, 25 for each source and object; here for all).
pub const BURST: u32 = 25;
/// The longest name of an object (`DNS1123SubdomainMaxLength` in apimachinery).
const NAME_BYTES: usize = 253;
const REFILL: Duration = Duration::from_secs(1);

impl<O: Operator> Reconciler<O> {
    /// Whether an Event may be written now. Each takes a second of the time until which all are written.
    fn may_tell(&self) -> bool {
        let mut told_until = self
            .told_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let until = now.max(*told_until) + REFILL;
        let may_tell = until <= now + REFILL * BURST;
        if may_tell {
            *told_until = until;
        }
        may_tell
    }
}

impl<O: Operator> Task<'_, O> {
    /// Writes an Event on the owner: its type, reason and message. Of the same reason, `tells_apart` and owner only one is
    /// there.
    pub(super) async fn tell(
        &self,
        (type_, reason, message): (&str, &str, &str),
        tells_apart: &str,
    ) {
        let (api, paths) = (&self.shared.api, &self.shared.paths);
        let (key, uid) = (self.key, self.state.object.uid);
        if !self.shared.may_tell() {
            api.metrics().events_suppressed.fetch_add(1, Relaxed);
            return;
        }
        let (namespace, name) = (key.namespace(), key.name());
        // The server takes Events on objects without a namespace there (`ValidateEventCreate` in apimachinery's core).
        let within = match namespace {
            "" => "default",
            namespace => namespace,
        };
        let now = rfc3339(api.now_s());
        // The name repeats, so that the server refuses a second one.
        let digest = hash32(&format!("{uid}{reason}{tells_apart}"));
        let event_name = event_name(name, digest);
        let object = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event_name, "namespace": within},
            "involvedObject": {
                "apiVersion": paths.owner_api_version, "kind": paths.owner_kind,
                "namespace": namespace, "name": name, "uid": uid.to_string(),
            },
            "type": type_,
            "reason": reason,
            "message": message.chars().take(1024).collect::<String>(),
            "source": {"component": paths.manager},
            "reportingComponent": paths.manager,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        });
        let path = format!("/api/v1/namespaces/{within}/events");
        let mut request = write(Method::POST, &path, (JSON, &object));
        request.accept = METADATA;
        match api.call(Verb::Create, request, OBJECT_BYTES).await {
            Ok(_) => {}
            Err(error) if error.is("AlreadyExists") => {}
            Err(error) => debug!(object = %key, %error, "the Event could not be written"),
        }
    }
}

/// The name of an Event on the owner `name`: as much of that as fits, and a digest.
fn event_name(name: &str, digest: u32) -> String {
    let digest = format!(".{digest:08x}");
    let fits: String = name.chars().take(NAME_BYTES - digest.len()).collect();
    // A part between dots ends with a letter or a digit.
    let begins = fits.trim_end_matches(['.', '-']);
    format!("{begins}{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_is_one_that_the_server_takes() {
        assert_eq!(event_name("web", 0xab), "web.000000ab");
        let longest = "a".repeat(253);
        assert_eq!(event_name(&longest, 1).len(), 253);
        assert_eq!(event_name(&longest[..244], 1).len(), 253);
        for cut in ["-", "."] {
            let name = format!("{}{cut}{}", "a".repeat(243), "b".repeat(9));
            assert_eq!(
                event_name(&name, 1),
                format!("{}.00000001", "a".repeat(243))
            );
        }
    }
}
