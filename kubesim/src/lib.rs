//! An embedded Kubernetes API server for tests, simulation and measurement.
//!
//! In process it is a tower service behind a [`kube::Client`] that keeps working under tokio's
//! paused time; on a socket it is HTTPS/1.1 with bearer tokens ([`serve`]). It behaves as
//! kube-apiserver 1.36 does in what operators under test use and is not a second Kubernetes.
//!
//! # What it holds
//! Any CustomResourceDefinition with one served version, Deployments, ReplicaSets, Services,
//! ConfigMaps, Pods, Namespaces, Events, Leases. Create, get, list (paged at one revision), watch
//! (bookmarks, 410, initial events), update, merge, JSON and strategic merge patch, server-side
//! apply, status and scale, delete with finalizers, preconditions and propagation, dry run,
//! garbage collection, managedFields, a readiness model for Deployments, logs of Pods whose lines a
//! test gives ([`Server::log_line`]).
//!
//! # Guarantees
//! One revision counter; a watch from a revision misses nothing after it; memory is the encoded
//! objects plus a bounded history. Wall time follows tokio's clock.
//!
//! # Limits
//! What it does not implement answers 501 and names it. Beyond that: no authorization, no admission
//! but its own, no protobuf, no OpenAPI, no ReplicaSet or Pod behind a Deployment. A Pod that is
//! deleted goes at once, without a grace period and without being seen to end. A definition is
//! Established in the write that creates it, and when it goes its objects go at once, finalizers or
//! not, and its watches end without DELETED events. `fieldValidation=Strict` looks at custom
//! resources only. CEL has no cost budget and no ratcheting, and the functions for URLs and IP
//! addresses are missing: a rule that uses them refuses the object. `managedFields` are not capped
//! at ten updaters.

mod api;
mod clock;
pub mod contract;
mod controllers;
mod defaults;
mod error;
mod faults;
mod fields;
mod model;
mod patch;
pub mod readiness;
mod requests;
mod schema;
mod serve;
mod server;
mod state;
mod store;
mod tls;

pub use crate::clock::Clock;
pub use crate::error::Error;
pub use crate::faults::{Faults, RequestFacts, RequestFault, WatchFacts, WatchFault};
pub use crate::requests::{RequestCount, RequestCounts};
pub use crate::server::Server;
pub use crate::state::options::{Decide, Options, Readiness};
pub use crate::tls::{Tls, kubeconfig};
