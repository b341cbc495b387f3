//! Defaults and validation of the built-in kinds, as far as operators notice them.
//!
//! Follows `pkg/apis/apps/v1/defaults.go`, `pkg/apis/core/v1/defaults.go` of Kubernetes v0.36.4.

pub(crate) mod addresses;
pub(crate) mod configmap;
pub(crate) mod deployment;
pub(crate) mod empty;
pub(crate) mod event;
mod image;
pub(crate) mod namespace;
pub(crate) mod pod;
pub(crate) mod quantity;
mod resources;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod typed;
pub(crate) mod zero;

use serde_json::{Map, Value};

/// Sets a field that is missing.
pub(crate) fn default(map: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if !map.contains_key(field) {
        map.insert(field.to_owned(), value.into());
    }
}
