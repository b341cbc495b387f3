//! The operators whose objects are generated: EdgeApps and those of `examples/`.
//!
//! Leaves to others: the values of their specs (`schema`).

use kube::Resource;
use serde_json::{Value, json};
use tare::edgeapp::EdgeApps;
use tare_runtime::api::Operator;

pub use crate::examples::echo::example::Echoes;
pub use crate::examples::inference_service::example::InferenceServices;
pub use crate::examples::myservice::example::MyServices;
pub use crate::examples::webapp::example::WebApps;

/// An operator, and what its users install.
pub trait Subject: Operator {
    /// The name of its tests.
    const NOUN: &'static str;
    const CRD: &'static str;

    fn operator() -> Self;

    fn resource() -> String {
        Self::Resource::plural(&()).into_owned()
    }

    /// An object of its kind.
    fn object(name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": Self::Resource::api_version(&()), "kind": Self::Resource::kind(&()),
            "metadata": { "name": name }, "spec": spec,
        })
    }
}

impl Subject for EdgeApps {
    const NOUN: &'static str = "edgeapp";
    const CRD: &'static str = tare::edgeapp::CRD_YAML;

    fn operator() -> Self {
        EdgeApps
    }
}

impl Subject for WebApps {
    const NOUN: &'static str = "webapp";
    const CRD: &'static str = include_str!("../../../examples/webapp/crd.yaml");

    fn operator() -> Self {
        WebApps
    }
}

impl Subject for MyServices {
    const NOUN: &'static str = "myservice";
    const CRD: &'static str = include_str!("../../../examples/myservice/crd.yaml");

    fn operator() -> Self {
        MyServices
    }
}

impl Subject for InferenceServices {
    const NOUN: &'static str = "inference_service";
    const CRD: &'static str = include_str!("../../../examples/inference_service/crd.yaml");

    fn operator() -> Self {
        InferenceServices {
            image: "registry.local/server:1".to_owned(),
        }
    }
}

impl Subject for Echoes {
    const NOUN: &'static str = "echo";
    const CRD: &'static str = include_str!("../../../examples/echo/crd.yaml");

    fn operator() -> Self {
        Echoes
    }
}
