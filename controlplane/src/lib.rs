#![doc = include_str!("../README.md")]
//!
//! # Rooms
//! [`build`] makes and finds the programs. `datastore`, `api_server` and `controllers` know how each is
//! started, `credentials` makes keys and users, and [`ControlPlane`] (`plane`) starts all of it in order.
//! [`readiness`] stands in for nodes; [`node`] is a real one. [`shared`] lets the tests of one binary share one.

mod api_server;
pub mod build;
mod component;
mod controllers;
mod credentials;
mod datastore;
mod error;
pub mod node;
mod options;
mod plane;
pub mod readiness;
pub mod shared;

pub use crate::build::binaries::{Binaries, NodeBinaries};
pub use crate::error::Error;
pub use crate::options::{Datastore, Flags, Network, Options, User};
pub use crate::plane::{ControlPlane, CpuSeconds, client};
