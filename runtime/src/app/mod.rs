//! The program around an operator: command line, CRD, admin port, allocator, log.

pub mod admin;
pub mod allocator;
pub mod cli;
pub mod crd;
pub mod program;
pub mod run;
pub mod telemetry;
