//! The children of an EdgeApp as typed objects. Guarantees: pure; only fields that the operator
//! manages are set, since server-side apply takes ownership of every field that is sent.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, PodSpec, PodTemplateSpec, ResourceRequirements, Service, ServicePort,
    ServiceSpec,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};

use crate::edgeapp::{EdgeApp, EdgeAppSpec};

pub const OWNER_LABEL: &str = "tare.dev/owner";
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
pub const MANAGED_BY: &str = "edgeapp-kube-rs";
const SERVICE_PORT: i32 = 80;

pub fn deployment(app: &EdgeApp) -> Deployment {
    Deployment {
        metadata: metadata(app),
        spec: Some(DeploymentSpec {
            replicas: Some(app.spec.replicas),
            selector: LabelSelector {
                match_labels: Some(selector(app)),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(selector(app)),
                    ..Default::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container(&app.spec)],
                    ..Default::default()
                }),
            },
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// `None` without a port.
pub fn service(app: &EdgeApp) -> Option<Service> {
    let port = app.spec.port?;
    let headless = app.spec.headless.unwrap_or(false);
    Some(Service {
        metadata: metadata(app),
        spec: Some(ServiceSpec {
            cluster_ip: headless.then(|| "None".to_owned()),
            selector: Some(selector(app)),
            ports: Some(vec![ServicePort {
                port: SERVICE_PORT,
                target_port: Some(IntOrString::Int(port)),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    })
}

/// Where the Service is reached from inside the cluster; `None` without a port.
pub fn endpoint(app: &EdgeApp) -> Option<String> {
    let port = match app.spec.headless {
        // A headless Service maps no ports.
        Some(true) => app.spec.port?,
        _ => app.spec.port.map(|_| SERVICE_PORT)?,
    };
    let (name, namespace) = (app.name_any(), app.namespace().unwrap_or_default());
    Some(format!("{name}.{namespace}.svc:{port}"))
}

pub fn is_headless(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

fn metadata(app: &EdgeApp) -> ObjectMeta {
    let mut labels = selector(app);
    labels.insert(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned());
    ObjectMeta {
        name: app.metadata.name.clone(),
        namespace: app.metadata.namespace.clone(),
        labels: Some(labels),
        owner_references: app.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..Default::default()
    }
}

fn selector(app: &EdgeApp) -> BTreeMap<String, String> {
    BTreeMap::from([(OWNER_LABEL.to_owned(), app.name_any())])
}

fn container(spec: &EdgeAppSpec) -> Container {
    Container {
        name: "app".to_owned(),
        image: Some(spec.image.clone()),
        ports: spec.port.map(|port| {
            vec![ContainerPort {
                container_port: port,
                ..Default::default()
            }]
        }),
        env: (!spec.env.is_empty()).then(|| spec.env.clone()),
        resources: resources(spec),
        ..Default::default()
    }
}

/// An accelerator becomes a limit; in the pod the API server sets the request to the same.
fn resources(spec: &EdgeAppSpec) -> Option<ResourceRequirements> {
    let wanted = spec.resources.clone().unwrap_or_default();
    let requests = quantities(wanted.requests);
    let mut limits = quantities(wanted.limits);
    if let Some(accelerator) = &spec.accelerator {
        let count = Quantity(accelerator.count.to_string());
        limits.insert(accelerator.resource.clone(), count);
    }
    if requests.is_empty() && limits.is_empty() {
        return None;
    }
    Some(ResourceRequirements {
        requests: (!requests.is_empty()).then_some(requests),
        limits: (!limits.is_empty()).then_some(limits),
        ..Default::default()
    })
}

fn quantities(values: BTreeMap<String, IntOrString>) -> BTreeMap<String, Quantity> {
    let text = |value| match value {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text,
    };
    values
        .into_iter()
        .map(|(name, value)| (name, Quantity(text(value))))
        .collect()
}
