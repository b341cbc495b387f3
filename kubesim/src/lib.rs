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

pub mod agenda;
pub mod clock;
pub mod contract;
mod controllers;
mod defaults;
mod definition;
mod discovery;
mod events;
mod faults;
mod fields;
mod gc;
mod http;
mod kind;
mod ledger;
mod list;
mod logs;
mod metadata;
mod names;
mod object;
mod patch;
mod prepare;
pub mod readiness;
mod record;
mod route;
mod schema;
mod selector;
mod server;
mod service;
mod status;
mod store;
mod tls;
mod verbs;
mod watch;

pub use crate::faults::{Faults, RequestFacts, RequestFault, WatchFacts, WatchFault};
pub use crate::http::serve;
pub use crate::ledger::{Entry, Ledger};
pub use crate::server::{Decide, Options, Readiness, Server};
pub use crate::tls::{Tls, kubeconfig};

/// What can go wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the CustomResourceDefinition cannot be installed: {0}")]
    Definition(String),
    #[error("the line cannot be logged: {0}")]
    Log(String),
    #[error("the serving certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("the TLS configuration is refused: {0}")]
    Tls(#[from] rustls::Error),
}
