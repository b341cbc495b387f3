//! The sources of `kube-rs/stock`, compiled against [`tare_runtime::free`] in place of `kube::runtime::controller`.
//!
//! Guarantees: `controller` is all that differs. Leaves the resource, its children, writes and status to `league/kube-rs`.

#[path = "../../kube-rs/src/admin.rs"]
pub mod admin;
#[path = "../../kube-rs/src/children.rs"]
pub mod children;
/// Where `league/kube-rs` has kube's.
pub mod controller {
    pub use tare_runtime::free::*;
}
#[path = "../../kube-rs/src/edgeapp.rs"]
pub mod edgeapp;
#[path = "../../../runtime/src/metrics/histogram.rs"]
mod histogram;
#[path = "../../kube-rs/src/metrics.rs"]
pub mod metrics;
#[path = "../../kube-rs/src/status.rs"]
pub mod status;
#[path = "../../kube-rs/src/stock.rs"]
pub mod stock;
#[path = "../../kube-rs/src/writes.rs"]
pub mod writes;
