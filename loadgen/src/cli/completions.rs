//! `loadgen completions`: a completion script for a shell.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;

#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// Shell that the script is for; for bash, run: source <(loadgen completions bash)
    shell: Shell,
}

pub fn run(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    clap_complete::generate(
        args.shell,
        &mut Cli::command(),
        "loadgen",
        &mut std::io::stdout(),
    );
    Ok(ExitCode::SUCCESS)
}
