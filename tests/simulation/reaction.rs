//! A client that follows the operator: some time after the operator has changed the Deployment of an owner, it edits a
//! child beside.
//!
//! Guarantees: it acts once. Leaves to others: for which owners, and when (`storm`), and that a Deployment was changed
//! (`transport`).

use std::time::Duration;

use http::{Method, Request};
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
    /// Of the child that is edited.
    pub path: String,
    /// A merge patch.
    pub patch: Value,
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
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(&self.path)
            .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
            .body(self.patch.to_string().into_bytes());
        let _ = user
            .request::<Value>(request.expect("a valid request"))
            .await;
    }
}
