//! `loadgen`: creates thousands of custom resources, weighs operators, publishes a report that
//! can be checked.

mod bench;
mod check;
mod child;
mod cli;
mod cluster;
mod conformance;
mod control_plane;
mod doctor;
mod embedded;
mod evidence;
mod experiment;
mod generate;
mod journal;
mod latency;
mod measure;
mod mock;
mod observe;
mod patience;
mod progress;
mod record;
mod report;
mod restarts;
mod run;
mod scenario;
mod schedule;
mod seed;
mod server;
mod statistics;
mod stop;
mod subject;
mod subjects_build;
mod target;
mod timeline;

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
