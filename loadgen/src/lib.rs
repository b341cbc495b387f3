//! `loadgen`: creates thousands of custom resources, measures operators, and writes a report with
//! its raw data.
//!
//! Rooms, each of which knows those above it: `spec` (what people write), `plan` (the runs of a bench and their order),
//! `record` (what was measured, and the folder that has it), `metric` (what a figure is), `target` (clusters), `load` (objects
//! that are offered, and what is seen of them), `watch` (memory, CPU, metrics pages), `engine` (sessions and their steps),
//! `report` (what a reader sees), `cli` (a file for each command).

pub mod cli;
pub mod engine;
pub mod error;
pub mod load;
pub mod metric;
pub mod plan;
mod private_file;
pub mod record;
pub mod report;
pub mod rng;
pub mod run_id;
pub mod spec;
pub mod target;
pub mod terminal;
pub mod timestamp;
pub mod watch;
