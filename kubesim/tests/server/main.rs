//! The API server: its verbs, watches, rules and faults.
//!
//! Leaves to others: what it has to have in common with kube-apiserver (`contract.rs`).

#![allow(clippy::unwrap_used)]

mod apply;
mod built_ins;
mod crud;
mod faults;
mod fixtures;
mod kinds;
mod logs;
mod owners;
mod seed;
mod speed;
mod tls;
mod watch;
