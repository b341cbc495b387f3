//! The objects of the scenario and their API paths.
//!
//! Guarantees: pure; quantities are in the form in which an API server keeps them, so that fields
//! can be compared as they are. Leaves to others: the requests.

use serde_json::{Value, json};

/// The namespace of the measurements; a subject may be restricted to it.
pub const NAMESPACE: &str = "edge";

/// The kinds that the scenario reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    EdgeApp,
    Deployment,
    Service,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::EdgeApp => "EdgeApp",
            Kind::Deployment => "Deployment",
            Kind::Service => "Service",
        }
    }

    /// Path of the collection.
    pub fn path(self) -> String {
        let (version, plural) = match self {
            Kind::EdgeApp => ("apis/tare.dev/v1alpha1", "edgeapps"),
            Kind::Deployment => ("apis/apps/v1", "deployments"),
            Kind::Service => ("api/v1", "services"),
        };
        format!("/{version}/namespaces/{NAMESPACE}/{plural}")
    }

    pub fn of(self, name: &str) -> String {
        format!("{} {NAMESPACE}/{name}", self.name())
    }
}

/// An EdgeApp that uses every field.
pub fn app(name: &str) -> Value {
    json!({
        "apiVersion": "tare.dev/v1alpha1",
        "kind": "EdgeApp",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "image": "registry.example/conformance:1",
            "replicas": 2,
            "port": 8080,
            "headless": true,
            "env": [{"name": "STAYS", "value": "1"}, {"name": "GOES", "value": "2"}],
            "resources": {
                "requests": {"cpu": "50m", "memory": "32Mi"},
                "limits": {"memory": "64Mi"},
            },
            "accelerator": {"resource": "example.com/npu", "count": 1},
        },
    })
}

/// A Deployment that has the name of an EdgeApp's and belongs to somebody else.
pub fn foreign_deployment(name: &str) -> Value {
    let labels = json!({"app": "theirs"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "theirs", "image": "registry.example/theirs:1"}]},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_is_that_of_the_scenario() {
        let scenario = crate::model::workload::default().expect("valid").scenario;
        assert_eq!(scenario.resource.namespace, NAMESPACE);
        let measured = scenario.resource.path();
        assert_eq!(Kind::EdgeApp.path(), measured);
    }
}
