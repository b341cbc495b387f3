//! What the variants of the baseline share: the resource, its children and status, the writes that
//! keep to what is ours, the reconciler of stock and predicate, metrics and the admin port.
//!
//! Guarantees: no variant has a thing that another lacks, but for how it watches and when it
//! writes. Links nothing of Tare but its histogram. Leaves the installation of the CRD to whoever
//! starts it (`deploy/base/crd.yaml`).

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

pub mod admin;
pub mod children;
pub mod edgeapp;
/// Where `league/tare-controller` has Tare's: all that differs between the two.
pub mod controller {
    pub use kube::runtime::controller::*;
}
#[path = "../../../runtime/src/metrics/histogram.rs"]
mod histogram;
pub mod metrics;
pub mod status;
pub mod stock;
pub mod writes;
