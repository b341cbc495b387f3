//! Programs as a user starts them, and what of the library is tested with one: `tare`, the examples `several` and
//! `pods`, the client behind a kubeconfig, the memory of a cache.
//!
//! Leaves to others: what an operator does (`tests/scenarios`), the command lines of `loadgen` (`loadgen/tests`).

#![allow(clippy::unwrap_used)] // a test that meets an unexpected value fails

mod cache_memory;
mod client;
mod pods;
mod process;
