//! A child as far as it matters: whose it is, a digest of its planned fields, how far it has come.
//! (kube's documentation calls such a type partially typed.)
//!
//! Guarantees: a plan and the object that it became have the same digest, whatever others have
//! added; where they differ for another reason (`cpu: 1000m`, which the API server keeps as `1`) a
//! write follows that changes nothing. Leaves to others: writing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};

use baseline_kube_rs::children::{MANAGED_BY_LABEL, OWNER_LABEL};
use baseline_kube_rs::status::Progress;

/// A kind of child.
pub trait Planned:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize + Send + Sync + 'static
{
    /// The fields that a plan sets.
    type Fields: DeserializeOwned + Hash;
}

impl Planned for Deployment {
    type Fields = DeploymentFields;
}

impl Planned for Service {
    type Fields = ServiceFields;
}

/// What is kept of a child: some 800 bytes.
pub struct SeenChild<K> {
    metadata: ObjectMeta,
    digest: u64,
    progress: Progress,
    kind: PhantomData<fn() -> K>,
}

impl<K: Planned> SeenChild<K> {
    /// A plan, seen as if it were there already.
    pub fn planned(child: &K) -> Result<Self, serde_json::Error> {
        serde_json::from_value(serde_json::to_value(child)?)
    }

    /// Nothing is left to do about it.
    pub fn is_as(&self, planned: &Self) -> bool {
        self.digest == planned.digest
            && self.controller_uid() == planned.controller_uid()
            && self.metadata.deletion_timestamp.is_none()
    }

    pub fn progress(&self) -> Progress {
        self.progress
    }

    pub fn controller_uid(&self) -> Option<&str> {
        let owners = self.metadata.owner_references.iter().flatten();
        let mut controllers = owners.filter(|owner| owner.controller == Some(true));
        controllers.next().map(|owner| owner.uid.as_str())
    }
}

/// What is read of it, and mostly dropped at once.
#[derive(Deserialize)]
struct Wire<F> {
    metadata: ObjectMeta,
    spec: F,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    observed_generation: Option<i64>,
    replicas: i32,
    updated_replicas: i32,
    ready_replicas: i32,
}

impl<'de, K: Planned> Deserialize<'de> for SeenChild<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire::<K::Fields> {
            metadata,
            spec,
            status,
        } = Wire::deserialize(deserializer)?;
        let labels = metadata.labels.as_ref();
        let label = |key| labels.and_then(|labels: &BTreeMap<String, String>| labels.get(key));
        let mut hasher = DefaultHasher::new();
        (label(OWNER_LABEL), label(MANAGED_BY_LABEL), spec).hash(&mut hasher);
        let progress = Progress {
            generation: metadata.generation,
            observed_generation: status.observed_generation,
            replicas: status.replicas,
            updated_replicas: status.updated_replicas,
            ready_replicas: status.ready_replicas,
        };
        Ok(Self {
            // Name, version and owners are what the runtime and `is_as` go by.
            metadata: ObjectMeta {
                name: metadata.name,
                namespace: metadata.namespace,
                uid: metadata.uid,
                resource_version: metadata.resource_version,
                owner_references: metadata.owner_references,
                deletion_timestamp: metadata.deletion_timestamp,
                ..Default::default()
            },
            digest: hasher.finish(),
            progress,
            kind: PhantomData,
        })
    }
}

impl<K: Planned> Resource for SeenChild<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group(_: &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version(_: &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural(_: &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<K> Clone for SeenChild<K> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            kind: PhantomData,
            ..*self
        }
    }
}

impl<K> fmt::Debug for SeenChild<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.metadata.name;
        f.debug_tuple("SeenChild").field(name).finish()
    }
}

#[derive(Deserialize, Hash)]
pub struct DeploymentFields {
    replicas: Option<i32>,
    selector: Selector,
    template: Template,
}

#[derive(Deserialize, Hash)]
#[serde(rename_all = "camelCase")]
struct Selector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Deserialize, Hash)]
struct Template {
    metadata: TemplateMeta,
    spec: Pod,
}

#[derive(Deserialize, Hash)]
struct TemplateMeta {
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize, Hash)]
struct Pod {
    containers: Vec<Container>,
}

#[derive(Deserialize, Hash)]
struct Container {
    name: String,
    image: String,
    #[serde(default)]
    ports: Vec<Port>,
    #[serde(default)]
    env: Vec<Variable>,
    #[serde(default)]
    resources: Resources,
}

#[derive(Deserialize, Hash)]
#[serde(rename_all = "camelCase")]
struct Port {
    container_port: i32,
}

#[derive(Deserialize, Hash)]
struct Variable {
    name: String,
    // An empty one is left out by the API server.
    #[serde(default)]
    value: String,
}

#[derive(Deserialize, Hash, Default)]
#[serde(default)]
struct Resources {
    requests: BTreeMap<String, String>,
    limits: BTreeMap<String, String>,
}

#[derive(Deserialize, Hash)]
pub struct ServiceFields {
    #[serde(rename = "clusterIP", default, deserialize_with = "is_none")]
    headless: bool,
    #[serde(default)]
    selector: BTreeMap<String, String>,
    #[serde(default)]
    ports: Vec<ServicePort>,
}

#[derive(Deserialize, Hash)]
#[serde(rename_all = "camelCase")]
struct ServicePort {
    port: i32,
    target_port: TargetPort,
}

#[derive(Deserialize, Hash)]
#[serde(untagged)]
enum TargetPort {
    Number(i32),
    Name(String),
}

/// The address that the API server gives to a Service is none of the plan's.
fn is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.as_deref() == Some("None"))
}

#[cfg(test)]
mod tests {
    use baseline_kube_rs::children;
    use baseline_kube_rs::edgeapp::EdgeApp;
    use serde_json::{Value, json};

    use super::*;

    fn app() -> EdgeApp {
        let spec = json!({
            "image": "web:1", "replicas": 2, "port": 8080, "headless": true,
            "env": [{"name": "A", "value": ""}],
            "resources": {"limits": {"memory": "64Mi"}},
        });
        let mut app = EdgeApp::new("web", serde_json::from_value(spec).expect("a spec"));
        app.metadata.uid = Some("u-1".to_owned());
        app
    }

    /// What an API server makes of a plan: defaults, a status, and what others add.
    fn stored(plan: &impl Serialize) -> Value {
        let mut object = serde_json::to_value(plan).expect("JSON");
        let theirs = json!({
            "metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}, "generation": 3},
            "spec": {"progressDeadlineSeconds": 600, "sessionAffinity": "None"},
            "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1},
        });
        merge(&mut object, &theirs);
        object
    }

    fn merge(object: &mut Value, other: &Value) {
        match other.as_object() {
            Some(fields) => {
                for (key, value) in fields {
                    merge(&mut object[key], value);
                }
            }
            None => *object = other.clone(),
        }
    }

    #[test]
    fn what_others_add_does_not_count() {
        let plan = children::deployment(&app());
        let planned = SeenChild::planned(&plan).expect("a plan");
        let mut object = stored(&plan);
        object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "A"}]);
        let seen: SeenChild<Deployment> = serde_json::from_value(object).expect("a Deployment");
        assert!(seen.is_as(&planned));
        let progress = Progress {
            generation: Some(3),
            observed_generation: Some(3),
            replicas: 2,
            updated_replicas: 1,
            ready_replicas: 1,
        };
        assert_eq!(seen.progress(), progress);
    }

    #[test]
    fn a_planned_field_that_differs_counts() {
        const CONTAINER: &str = "/spec/template/spec/containers/0";
        let plan = children::deployment(&app());
        let planned = SeenChild::planned(&plan).expect("a plan");
        for (pointer, value) in [
            ("/metadata/labels/tare.dev~1owner", json!("other")),
            ("/metadata/ownerReferences/0/uid", json!("u-2")),
            ("/metadata/ownerReferences/0/controller", json!(false)),
            ("/spec/replicas", json!(3)),
            (&format!("{CONTAINER}/image"), json!("web:2")),
            (&format!("{CONTAINER}/env/0/value"), json!("1")),
            (&format!("{CONTAINER}/ports/0/containerPort"), json!(1)),
            (
                &format!("{CONTAINER}/resources/limits/memory"),
                json!("1Gi"),
            ),
        ] {
            let mut object = stored(&plan);
            *object.pointer_mut(pointer).expect(pointer) = value;
            let seen: SeenChild<Deployment> = serde_json::from_value(object).expect(pointer);
            assert!(!seen.is_as(&planned), "{pointer}");
        }
    }

    #[test]
    fn a_service_is_headless_or_has_an_address_of_the_servers_choice() {
        let plan = children::service(&app()).expect("a port");
        let planned = SeenChild::planned(&plan).expect("a plan");
        let mut object = stored(&plan);
        let seen: SeenChild<Service> = serde_json::from_value(object.clone()).expect("a Service");
        assert!(seen.is_as(&planned));
        object["spec"]["clusterIP"] = json!("10.0.0.7");
        let seen: SeenChild<Service> = serde_json::from_value(object).expect("a Service");
        assert!(!seen.is_as(&planned));
    }
}
