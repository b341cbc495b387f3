//! `loadgen`: creates thousands of custom resources, measures operators, and writes a report with
//! its raw data.
//!
//! The program is [`cli`]; what reads folders of results (`xtask`) uses the rooms below it.

pub mod cli;
pub mod load;
pub mod measure;
pub mod metric;
pub mod model;
pub mod report;
pub mod run;
pub mod target;
pub mod terminal;
