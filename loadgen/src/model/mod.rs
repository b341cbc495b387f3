//! What is measured and what is recorded: workloads, subjects, plans, results. Imports no other room.

pub mod bystanders;
pub mod cell;
pub mod conformance;
pub mod control_plane;
pub mod error;
pub mod estimate;
pub mod evidence;
pub mod histogram;
pub mod latency;
pub mod machine_use;
pub mod metric;
pub mod plan;
pub mod profile;
pub mod record;
pub mod request_counts;
pub mod rng;
pub mod run_id;
pub mod samples;
pub mod series;
pub mod step;
pub mod subject;
pub mod summary;
pub mod timestamp;
pub mod workload;
