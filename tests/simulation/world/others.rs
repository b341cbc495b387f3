//! What others than the operator and its user make and delete: objects that stand where children may stand.
//!
//! Guarantees: a step that finds nothing to act on does nothing. Leaves to others: when it happens (`schedule`).

use http::Method;
use serde_json::{Value, json};

use crate::planned::controller;
use crate::step::Resource;
use crate::world::World;
use crate::writes::labelled_owner;

impl World {
    /// Deletes a child.
    pub(super) async fn delete_child(&mut self, resource: Resource, owner: u16) {
        let name = self.child(resource, owner);
        let object = self.object(resource, &name);
        self.delete(resource, &name, "Background").await;
        if !object.is_null() {
            self.deleted.insert((resource, name), object);
        }
    }

    /// Creates a child that was deleted as it was.
    pub(super) async fn make_again(&mut self, resource: Resource, owner: u16) {
        let name = self.child(resource, owner);
        let Some(mut object) = self.deleted.remove(&(resource, name)) else {
            return;
        };
        object["status"] = Value::Null;
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "generation",
            "managedFields",
        ] {
            object["metadata"][field] = Value::Null;
        }
        let _ = self.send(Method::POST, resource, "", &object).await;
    }

    pub(super) async fn occupy(&self, owner: u16, resource: &str) {
        let labels = json!({ "app": "strange" });
        let (api_version, kind, body) = match resource {
            "deployments" => {
                let containers = json!([{ "name": "strange", "image": "strange:1" }]);
                let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": containers } });
                let spec = json!({ "selector": { "matchLabels": labels }, "template": template });
                ("apps/v1", "Deployment", json!({ "spec": spec }))
            }
            "services" => {
                let spec = json!({ "selector": labels, "ports": [{ "port": 1 }] });
                ("v1", "Service", json!({ "spec": spec }))
            }
            _ => ("v1", "ConfigMap", json!({ "data": { "strange": "1" } })),
        };
        let mut object = body;
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({ "name": self.child(resource, owner) });
        let _ = self.send(Method::POST, resource, "", &object).await;
    }

    /// Deletes what stands where children may stand and is not ours. What our owners have lost stays.
    pub(super) async fn vacate(&self) {
        for kind in self.subject.kinds() {
            for object in self.server.objects(kind.plural) {
                let ours = match controller(&object) {
                    Some(reference) => reference["kind"] == self.subject.kind(),
                    None => labelled_owner(&object).is_some_and(|owner| {
                        let owner = self.object(self.subject.plural(), owner);
                        !owner.is_null() && owner["metadata"]["deletionTimestamp"].is_null()
                    }),
                };
                if !ours {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    self.delete(kind.plural, name, "Background").await;
                }
            }
        }
    }

    pub(super) fn reference(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "name": "stranger", "controller": true,
            "uid": self.stranger["metadata"]["uid"],
        })
    }
}
