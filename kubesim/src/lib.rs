#![doc = include_str!("../README.md")]
//!
//! # Rooms
//! Each room uses the ones above it and none below.
//!
//! | room | what is in it |
//! |---|---|
//! | `schema` | structural schemas: parse, prune, default, validate, CEL |
//! | `model` | kinds, objects as JSON and as records, metadata, selectors, errors of the API |
//! | `fields`, `patch`, `defaults` | who owns which field; patches; defaults of built-in kinds |
//! | `admission` | a closure that rewrites what is written |
//! | `signal` | telling many tasks in their order that something has changed |
//! | `store` | tables, revisions, history |
//! | `state` | what all handles of a server share |
//! | `api` | the verbs, lists, watches, definitions, discovery, logs |
//! | `controllers` | garbage collection, namespaces, readiness |
//! | `serve` | paths, request counts, faults, HTTP |
//! | `server` | the handle that a test holds |

mod admission;
mod api;
mod clock;
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
mod signal;
mod state;
mod store;
mod tls;

pub use crate::admission::{Admission, AdmissionFacts};
pub use crate::clock::Clock;
pub use crate::error::Error;
pub use crate::faults::{Faults, RequestFacts, RequestFault, WatchFacts, WatchFault};
pub use crate::model::built_in::{BuiltIn, When};
pub use crate::requests::{RequestCount, RequestCounts};
pub use crate::server::Server;
pub use crate::state::options::{Decide, Options, Readiness};
pub use crate::store::Backup;
pub use crate::tls::{CA_NAME, Tls, kubeconfig};
