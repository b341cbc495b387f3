//! The operator in process against the API server in process, on paused time, in every cache mode:
//! what it does and does not do, request by request, and what it does about what goes wrong around it.
//!
//! Leaves to others: the program (`tests/process.rs`), real servers (`tests/real/`).

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod drift;
mod failing;
mod life;
mod others;
mod watches;
