//! What is measured and what is recorded: workloads, subjects, plans, results. Imports no other room.

pub mod child;
pub mod conformance;
pub mod error;
pub mod evidence;
pub mod interrupt;
pub mod latency;
pub mod metric;
pub mod order;
pub mod plan;
pub mod profile;
pub mod progress;
pub mod record;
pub mod rng;
pub mod subject;
pub mod summary;
pub mod workload;
