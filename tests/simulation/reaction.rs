//! A client that follows the operator: some time after the operator has changed the Deployment of an owner, it edits a
//! child beside.
//!
//! Guarantees: it acts once. Leaves to others: for which owners, and when (`storm`), and that a Deployment was changed
//! (`transport`).

use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::Value;
use tokio::time::sleep;

use crate::call::Call;

/// What is done once the Deployment is changed.
#[derive(Clone, Debug)]
pub struct Reaction {
    /// Name of the Deployment.
    pub deployment: String,
    pub after_ms: u64,
    /// Edits the child.
    pub request: Request<Vec<u8>>,
}

impl Reaction {
    /// Whether this write of the operator is what it waits for.
    pub fn is_to(&self, call: &Call) -> bool {
        (call.verb, &*call.resource, &*call.subresource) == ("patch", "deployments", "")
            && call.name == self.deployment
    }

    /// The child may be gone: what the server answers does not count.
    pub async fn act(self, user: Client) {
        sleep(Duration::from_millis(self.after_ms)).await;
        let _ = user.request::<Value>(self.request).await;
    }
}
