//! Defaults and validation of the built-in kinds, as far as operators notice them.
//!
//! Follows `pkg/apis/*/v1/defaults.go` of Kubernetes v1.36.4. Most kinds are declared ([`declared`]); the others have a module.

pub(crate) mod addresses;
pub(crate) mod becoming;
pub(crate) mod configmap;
pub(crate) mod declared;
pub(crate) mod empty;
pub(crate) mod event;
pub(crate) mod fill;
mod image;
pub(crate) mod namespace;
pub(crate) mod pod;
pub(crate) mod quantity;
mod resources;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod typed;
mod workload;
pub(crate) mod zero;

use serde_json::{Map, Value};

/// Sets a field that is missing.
pub(crate) fn default(map: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if !map.contains_key(field) {
        map.insert(field.to_owned(), value.into());
    }
}
