//! The real control plane: etcd or kine, kube-apiserver and kube-controller-manager as child
//! processes on loopback.
//!
//! Guarantees: every start has keys, credentials and (unless data is given) a datastore of its own;
//! what answers at its address is the process that was started; when it is started it is ready, and
//! everything ends with the process that started it, SIGKILL included (Linux). The datastore listens
//! on a socket in a private folder: other users of the machine cannot reach it.
//! Leaves to others: where the folders are and when they are removed; what is run against it.
//!
//! There are no nodes, but for [`crate::node`]. A readiness agent ([`readiness`]) stands in for them, or, with
//! [`Options::pods`], the real Deployment controllers make Pods that wait for a node.

mod access;
mod api_server;
pub mod binaries;
pub mod build;
mod compaction;
mod controllers;
mod crd;
mod datastore;
mod error;
pub mod node;
mod options;
mod plane;
mod port;
pub(crate) mod private;
pub mod readiness;
pub mod shared;
pub(crate) mod started;
mod tools;

pub use crate::binaries::{Binaries, NodeBinaries};
pub use crate::error::Error;
pub use crate::options::{Datastore, Flags, Network, Options, User};
pub use crate::plane::{ControlPlane, CpuSeconds, client};
