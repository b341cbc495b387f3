//! The `tare` command: arguments, telemetry, signals, and off it goes.

use std::process::ExitCode;

use tare::cli::{self, Command};
use tare::run;

fn main() -> ExitCode {
    tare::allocator::init();
    let code = work();
    tare::allocator::end();
    code
}

fn work() -> ExitCode {
    let command = match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => run::print(cli::HELP),
        Command::Version => run::print(&run::version()),
        Command::Crd => run::print(tare::edgeapp::CRD_YAML),
        Command::Install(cluster) => run::block_on(run::install(cluster)),
        Command::Run(options) => run::block_on(run::run(options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
