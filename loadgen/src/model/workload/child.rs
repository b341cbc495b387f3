//! The child of an object, as a node reports on it: a soak changes its readiness.
//!
//! Guarantees: data, beside the scenario's. Leaves to others: when it is said, and that nobody else
//! says something different (only the simulated server leaves a child as it was told).

use serde::Deserialize;
use serde_json::Value;

use crate::model::workload;

const EDGEAPP: &str = include_str!("../../../scenarios/edgeapp-child.toml");

/// The collections of an EdgeApp's children: the root of their API, and the plural.
pub const COLLECTIONS: [(&str, &str); 2] =
    [("/apis/apps/v1", "deployments"), ("/api/v1", "services")];

/// The child whose readiness decides about the object's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Child {
    /// Of its status; `{namespace}` and `{name}` are those of the object.
    path: String,
    /// Merge patches.
    ready: Value,
    not_ready: Value,
}

/// That of the default scenario.
///
/// # Errors
/// If the build was given a broken file.
pub fn of_edgeapp() -> Result<Child, workload::Error> {
    workload::read("edgeapp-child.toml", EDGEAPP)
}

impl Child {
    /// Path and bytes of the merge patch that makes it ready, or not.
    pub fn status(&self, namespace: &str, name: &str, ready: bool) -> (String, Vec<u8>) {
        let path = self.path.replace("{namespace}", namespace);
        let status = match ready {
            true => &self.ready,
            false => &self.not_ready,
        };
        let patch = status.to_string().into_bytes();
        (path.replace("{name}", name), patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_statuses_differ_and_go_to_the_objects_own_child() {
        let child = of_edgeapp().expect("valid");
        let (path, ready) = child.status("edge", "ea-7", true);
        assert_eq!(
            path,
            "/apis/apps/v1/namespaces/edge/deployments/ea-7/status"
        );
        assert_ne!(ready, child.status("edge", "ea-7", false).1);
    }
}
