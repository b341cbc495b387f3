//! A library for Kubernetes operators whose memory follows the work in flight, not the number of
//! objects.
//!
//! You write a resource and a *plan*: a pure function from an owner and its observed children to the
//! children and the status that should exist. The library lists, watches, creates, patches and deletes;
//! it corrects drift, backs off, writes conditions and Events, and runs the finalizer.
//!
//! A whole operator, which owns a ConfigMap for each `Note`:
//!
//! ```no_run
//! use tare_runtime::prelude::*;
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
//!
//! impl Operator for Notes {
//!     type Resource = Note;
//!     type Status = NoteStatus;
//!     type Error = Infallible;
//!     type Observed = ();
//!     const NAME: &'static str = "notes";
//!     const FINALIZER: Option<&'static str> = None;
//!     const KINDS: &'static [Kind] = &[CONFIG_MAP];
//!
//!     fn plan(&self, note: &Owner<Self>, _: &Children) -> Result<Plan<NoteStatus>, Infallible> {
//!         let body = json!({"data": {"text": note.spec.text}});
//!         Ok(Plan {
//!             children: vec![Child::new(CONFIG_MAP, &*note.meta.name, body)],
//!             status: NoteStatus { observed_generation: Some(note.meta.generation) },
//!             requeue: Requeue::Default,
//!         })
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     let program = Program::of::<Note>("an operator for Notes", env!("CARGO_PKG_VERSION"));
//!     program.main(Notes, std::env::args_os().skip(1))
//! }
//! ```
//!
//! `notes run --install-crd` then runs it, with probes and metrics on the admin port; `notes help` lists
//! commands and options. `examples/` of the repository has four operators. The names of labels, metrics
//! and annotations come from the operator ([`Operator::NAME`](api::Operator::NAME),
//! [`owner_label`](api::Operator::owner_label), [`metrics_prefix`](api::Operator::metrics_prefix) and the
//! group of its resource).
//!
//! # Rooms
//!
//! | room | |
//! |---|---|
//! | [`allocator`] | which allocator the program has; what is free goes back to the kernel |
//! | [`model`] | objects, keys, revisions and times: types only |
//! | [`api`] | what an author writes: operator, plan, child, status, errors |
//! | [`metrics`] | counters, gauges, readiness, and their Prometheus text |
//! | [`http`] | one request: paths, deadlines, bounds, errors; kubeconfig, TLS, credentials |
//! | [`leader`] | of several replicas one works: a Lease |
//! | `queue` | the workqueue: admission, deduplication, back-off, outcome |
//! | `watch` | one watch stream for each kind, which recovers by itself |
//! | `relist` | lists owners and children again in key order, and finds what differs; when that is due |
//! | `reconcile` | one owner: children, differences, status, finalizer, Events |
//! | [`cache`] | what is retained of idle objects: none, metadata, pruned |
//! | [`controller`] | the loop that joins these rooms |
//! | [`free`] | `Controller` with kube's signature: the author's reconcile, requeues, error policy |
//! | [`app`] | the program around it: command line, CRD, admin port, log |
//!
//! Each module uses only those above it. The rooms without a link are private.
//!
//! There are two fronts: [`Operator`](api::Operator), a plan, and [`Controller`](free::Controller), a reconcile of your own.
//! `docs/runtime.md` of the repository says which one to take, and `runtime/template` is an operator to copy.
//! [`testing`] starts an operator in a test.
//!
//! An author of a plan needs [`prelude`]: [`api`] and [`Program`](app::program::Program). [`controller::run`] runs an
//! operator inside a program of another kind.

#[macro_use]
mod mutants;

pub mod allocator;
pub mod api;
pub mod app;
pub mod cache;
pub mod controller;
pub mod free;
pub mod http;
pub mod leader;
pub mod metrics;
pub mod model;
pub mod prelude;
mod queue;
mod reconcile;
mod relist;
pub mod testing;
mod watch;

// What the types and macros of this crate need of others, in the versions that they need.
pub use k8s_openapi;
pub use kube;
pub use schemars;
pub use serde_json;

/// What Tare's own benches and tests reach into. Not part of the library's interface: it changes without notice.
#[doc(hidden)]
pub mod internals {
    #[cfg(feature = "mutants")]
    pub use crate::mutants::{Mutant, choose};

    pub use crate::http::paths::Paths;
    pub use crate::http::request::{Api, Request};
    pub use crate::queue::{Admission, Observation, Outcome, Queue};
    pub use crate::reconcile::child_names::ChildNames;
    pub use crate::reconcile::compare::Comparer;
    pub use crate::reconcile::observe::{Observed, Observer};
    pub use crate::relist::{Coverage, Found, Relist};
    pub use crate::watch::{WatchEvent, WatchStream};
}

#[cfg(test)]
mod test_operator;
