//! `loadgen`: creates thousands of custom resources, measures operators, and writes a report with
//! its raw data.

pub mod cli;
pub mod load;
pub mod measure;
pub mod metric;
pub mod model;
pub mod report;
pub mod run;
pub mod target;
pub mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(ended) => return ended,
    };
    match cli::run(command) {
        Ok(code) => code,
        Err(error) => cli::explain(&error),
    }
}
