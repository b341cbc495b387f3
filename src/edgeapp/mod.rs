//! The EdgeApp operator: the resource, what it becomes, and its status.

mod plan;
mod resource;
mod status;

pub use crate::edgeapp::plan::EdgeApps;
pub use crate::edgeapp::resource::{
    Accelerator, EdgeApp, EdgeAppSpec, EnvVar, Quantity, Resources,
};
pub use crate::edgeapp::status::{EdgeAppStatus, Phase};

/// The CRD as it is installed; `just manifests` generates it from the types.
pub const CRD_YAML: &str = include_str!("../../deploy/base/crd.yaml");

/// Revision of the schema, as in its annotation `tare.dev/crd-revision`. Raise both with every change of
/// the schema: a binary uses it to tell an older CRD in a cluster from a newer one.
pub const CRD_REVISION: i64 = 1;
