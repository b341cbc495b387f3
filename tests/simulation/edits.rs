//! What somebody writes into a child, by kind of edit.
//!
//! Guarantees: pure. Leaves to others: which child, and when (`schedule`, `scenes`, `storm`).

use serde_json::{Value, json};

use crate::step::Edit;
use crate::subject::Subject;

/// The spec of an edited child, as a merge patch.
pub fn edited(edit: Edit, subject: Subject, owner: &str, salt: u64) -> (&'static str, Value) {
    let number = 5 + salt % 3;
    // A container of another name stays where children are applied: it belongs to who added it.
    let container = match subject {
        Subject::EdgeApp => "app",
        Subject::WebApp => "web",
    };
    match edit {
        Edit::Replicas => ("deployments", json!({ "spec": { "replicas": number } })),
        Edit::Image => {
            let containers = json!([{ "name": container, "image": "evil:1" }]);
            (
                "deployments",
                json!({ "spec": { "template": { "spec": { "containers": containers } } } }),
            )
        }
        Edit::Unplanned => (
            "deployments",
            json!({ "spec": { "minReadySeconds": number } }),
        ),
        Edit::Annotation | Edit::AnnotationBeside => {
            let annotations = json!({ "example.com/seen": salt.to_string() });
            let resource = match edit {
                Edit::Annotation => "deployments",
                _ => subject.optional_child(),
            };
            (
                resource,
                json!({ "metadata": { "annotations": annotations } }),
            )
        }
        Edit::Label => {
            let label = format!("{}/owner", subject.group());
            let labels = json!({ label: format!("not-{owner}-{number}") });
            ("deployments", json!({ "metadata": { "labels": labels } }))
        }
        Edit::Selector => (
            "services",
            json!({ "spec": { "selector": { "tare.dev/owner": format!("not-{owner}") } } }),
        ),
        Edit::SelectorKey => (
            "services",
            json!({ "spec": { "selector": { "added": "key" } } }),
        ),
        Edit::Ports => (
            "services",
            json!({ "spec": { "ports": [{ "port": number, "targetPort": 1 }] } }),
        ),
        Edit::Owners => (
            "deployments",
            json!({ "metadata": { "ownerReferences": null } }),
        ),
        Edit::Data => ("configmaps", json!({ "data": { "image": "evil:1" } })),
    }
}
