//! What authors rely on of a `Controller`: the same scenarios, compiled against kube's and against ours.
//!
//! Guarantees: `scenarios.rs` is one source; `on_kube` and `on_tare` differ in what they import. On the simulated server, on
//! paused time. Leaves to others: what only ours promises (`ours`).

// On purpose: one source against two crates is what is tested.
#![allow(clippy::duplicate_mod)]

mod on_kube;
mod on_tare;
mod ours;
mod world;
