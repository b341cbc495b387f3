//! From a client to a controller: the same Pods through four layers, each on top of the one before.
//!
//! Each prints one line per thing it is told. All but the first run until they are dropped.

mod client;
mod controller;
mod reflector;
mod watcher;

pub use client::client;
pub use controller::controller;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
pub use reflector::reflector;
pub use watcher::watcher;

use super::pod_ext::PodExt;

fn told(what: &str, pod: &Pod) -> String {
    let namespace = pod.namespace().unwrap_or_default();
    format!("{what} {namespace}/{} {}", pod.name_any(), pod.status())
}
