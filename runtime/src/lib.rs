//! A lean base for Kubernetes operators: memory that follows the work in flight, not the number of
//! objects.
//!
//! An author writes a resource and a pure plan; the runtime lists, watches, creates, patches, heals,
//! backs off and tears down. A whole operator:
//!
//! ```no_run
//! use std::{convert::Infallible, future::pending, sync::Arc};
//! use kube::{CustomResource, KubeSchema};
//! use serde::{Deserialize, Serialize};
//! use tare_runtime::api::{CONFIG_MAP, Child, Children, Kind, Operator, Owner, OwnerStatus, Plan, Requeue};
//! use tare_runtime::{cache::Storeless, controller, http::client};
//!
//! #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
//! #[kube(group = "example.com", version = "v1", kind = "Note", namespaced, status = "NoteStatus")]
//! struct NoteSpec { text: String }
//!
//! #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default)]
//! #[serde(rename_all = "camelCase")]
//! struct NoteStatus { observed_generation: Option<i64> }
//!
//! impl OwnerStatus for NoteStatus {
//!     fn observed_generation(&self) -> Option<i64> { self.observed_generation }
//!     fn ready(&self) -> bool { true }
//! }
//!
//! struct Notes;
//! impl Operator for Notes {
//!     type Resource = Note;
//!     type Status = NoteStatus;
//!     type Error = Infallible;
//!     const NAME: &'static str = "notes";
//!     const FINALIZER: Option<&'static str> = None;
//!     const KINDS: &'static [Kind] = &[CONFIG_MAP];
//!     fn plan(&self, note: &Owner<Self>, _: &Children) -> Result<Plan<NoteStatus>, Infallible> {
//!         let map = serde_json::json!({"data": {"text": note.spec.text}});
//!         Ok(Plan {
//!             children: vec![Child::new(CONFIG_MAP, note.meta.name.as_ref(), map)],
//!             status: NoteStatus { observed_generation: Some(note.meta.generation) },
//!             requeue: Requeue::Default,
//!         })
//!     }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = client::build(&client::config(None).await?)?;
//! controller::run(Arc::new(Notes), Storeless, client, Arc::default(), Default::default(), pending()).await;
//! # Ok(()) }
//! ```
//!
//! A program around it, with a command line, a CRD and an admin port, is [`program`]; `examples/` has four
//! that use it. The rooms: [`operator`] is what an author writes, [`edgeapp`] the operator that is shipped,
//! [`controller`] the loop around [`source`] (what changed), [`queue`] (what is due), `apply` (what is
//! written) and [`join`] (what was missed).

pub mod api;
pub mod app;
pub mod cache;
pub mod controller;
pub mod http;
pub mod metrics;
pub mod model;
pub mod prelude;
pub mod queue;
pub mod reconcile;
pub mod relist;
pub mod watch;

#[cfg(test)]
extern crate self as tare_runtime;
#[cfg(test)]
#[path = "../../src/edgeapp/mod.rs"]
mod edgeapp;
