//! `Controller` with kube's signature, and no store.
//!
//! An author's reconcile for `kube::runtime::Controller` runs here unchanged: only the lines that import `Controller`,
//! `Action`, `Config` and `finalizer` are others.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::runtime::watcher;
//! use kube::{Api, Client};
//! use tare_runtime::free::{Action, Controller};
//!
//! struct Context;
//!
//! async fn reconcile(map: Arc<ConfigMap>, _: Arc<Context>) -> Result<Action, kube::Error> {
//!     println!("{:?}", map.metadata.name);
//!     Ok(Action::requeue(Duration::from_secs(300)))
//! }
//!
//! fn error_policy(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<Context>) -> Action {
//!     Action::back_off()
//! }
//!
//! # async fn run() -> Result<(), kube::Error> {
//! let maps = Api::<ConfigMap>::all(Client::try_default().await?);
//! Controller::new(maps, watcher::Config::default())
//!     .shutdown_on_signal()
//!     .run(reconcile, error_policy, Arc::new(Context))
//!     .for_each(|_| std::future::ready(()))
//!     .await;
//! # Ok(())
//! # }
//! ```

mod action;
mod config;
mod controller;
mod engine;
mod error;
pub mod finalizer;
mod marks;
mod queue;

pub use crate::free::action::{Action, back_off};
pub use crate::free::config::Config;
pub use crate::free::controller::Controller;
pub use crate::free::error::{Error, QueueError};
pub use crate::free::finalizer::finalizer;
