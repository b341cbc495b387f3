//! The program around an operator: command line, CRD, admin port, log.

mod admin;
pub mod cli;
mod crd;
pub mod front;
mod pause;
pub mod program;
mod run;
mod telemetry;
