//! What people write: workloads, subjects, rates, steps.
//!
//! Guarantees: what is read can be used; an error is one line with its file and what to do. Leaves to others: doing it.

pub mod bounds;
pub mod bystanders;
pub mod control_plane;
pub mod operator;
pub mod outline;
pub mod rate;
pub mod shard;
pub mod step;
pub mod subject;
pub mod toml_line;
pub mod workload;
