//! `cargo xtask`: what serves this repository alone, and no user of loadgen.
//!
//! Guarantees: each command has `--check`, which writes nothing and ends with exit code 1 where a document is not what
//! the folders of results give; tests run it. Leaves to others: the figures (`loadgen`).

mod blocks;
mod claims;
mod excerpt;
mod foreign;
mod index;
mod marks;
mod tables;

use std::process::ExitCode;

use clap::Parser;

/// Makes the documents of this repository that follow from its results
#[derive(Parser)]
#[command(name = "xtask", disable_help_subcommand = true)]
enum Command {
    /// Write the index of a folder of results into its README.md
    Index(index::command::IndexArgs),
    /// Make the tables in documents again from the folders that their marks name
    Tables(tables::TablesArgs),
    /// Write the published figures and whether they hold into docs/claims.md
    Claims(claims::page::ClaimsArgs),
}

fn main() -> ExitCode {
    let ended = match Command::parse() {
        Command::Index(args) => index::command::run(args),
        Command::Tables(args) => tables::run(args),
        Command::Claims(args) => claims::page::run(args),
    };
    ended.unwrap_or_else(|error| loadgen::cli::explain(&error))
}
