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
//! use tare::operator::{CONFIG_MAP, Child, Children, Kind, Operator, Owner, OwnerStatus, Plan, Requeue};
//! use tare::{cache::Storeless, client, controller};
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

pub mod admin;
pub mod allocator;
mod apply;
pub mod cache;
mod child;
pub mod cli;
pub mod client;
pub mod controller;
pub mod crd;
pub mod drift;
pub mod edgeapp;
mod events;
pub mod histogram;
pub mod join;
pub mod metrics;
pub mod object;
pub mod operator;
mod owner;
pub mod prelude;
pub mod program;
pub mod queue;
pub mod request;
mod right;
pub mod run;
pub mod scope;
pub mod source;
pub mod telemetry;
mod timestamp;
