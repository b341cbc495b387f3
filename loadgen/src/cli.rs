//! The command line: the commands, and how errors are printed.
//!
//! Guarantees: bad input is one line, `error: what, where, what to do`, with exit code 2; a
//! failure is one line with exit code 1 (a failed build adds the compiler's last lines). Leaves
//! to others: the commands themselves, one file each.

pub mod bench;
pub mod bystanders;
pub mod check;
pub mod clean;
pub(crate) mod command_line;
pub mod compare;
pub mod completions;
pub mod conform;
pub mod control_plane;
pub mod doctor;
pub mod envelope;
pub mod kubesim;
pub mod lint;
pub mod means;
pub mod merge;
pub mod metrics;
pub mod question;
pub mod report;
pub mod run;
pub mod schema;
pub mod sizing;
pub mod subjects;
pub mod verify;
pub mod workloads;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::cli::bench::args::BenchArgs;
use crate::cli::check::CheckArgs;
use crate::cli::clean::CleanArgs;
use crate::cli::control_plane::ControlPlaneCommand;
use crate::cli::doctor::DoctorArgs;
use crate::cli::run as load;
use crate::cli::run::RunArgs;
use crate::error::Usage;

/// Measures the memory, CPU and requests of Kubernetes operators
///
/// Creates thousands of custom resources, measures what each operator costs while it reconciles
/// them, and writes a report with its raw data.
#[derive(Parser)]
#[command(name = "loadgen", version = env!("TARE_VERSION"), disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Measure operators side by side and write a report
    Bench(Box<BenchArgs>),
    /// Search for the most objects and the highest rate that an operator manages within a memory limit
    Envelope(Box<envelope::EnvelopeArgs>),
    /// Measure what an operator pays for Secrets, ConfigMaps and Pods that are not its own
    Bystanders(bystanders::BystandersArgs),
    /// Check that operators pass the conformance scenario
    Conform(conform::ConformArgs),
    /// Create the objects of a workload on a cluster, report how they converge, and remove them
    Run(RunArgs),
    /// Merge what the shards of a run have printed: they count as one run
    Merge(merge::MergeArgs),
    /// Remove what interrupted runs left on a cluster
    Clean(CleanArgs),
    /// Build or run a real Kubernetes control plane on this machine
    #[command(subcommand)]
    ControlPlane(ControlPlaneCommand),
    /// Check what can be measured on this machine, and how to enable the rest
    Doctor(DoctorArgs),
    /// Rebuild summary.json, report.md and the tables of a folder from its raw data
    Report(report::ReportArgs),
    /// Check that a folder is what was measured: files, hashes, plan, and every figure again
    Verify(verify::VerifyArgs),
    /// Print the JSON Schema of summary.json or another file of a folder
    Schema(schema::SchemaArgs),
    /// List every figure by the name that limits, comparisons and summary.json use
    Metrics(metrics::MetricsArgs),
    /// Compare the figures of a folder with a file of limits
    Check(CheckArgs),
    /// Print the resources that an operator needs, from the measurements in a folder
    Sizing(sizing::SizingArgs),
    /// Compare two folders: what changed from the first to the second
    Compare(compare::CompareArgs),
    /// List the built-in subjects, or write files for one of your own
    Subjects(subjects::SubjectsArgs),
    /// List the shipped workloads
    Workloads(workloads::WorkloadsArgs),
    /// Check a workload: its files, and on a cluster one object of each template
    Lint(lint::LintArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Run the simulated API server on a port of this machine
    Kubesim(kubesim::KubesimArgs),
}

/// The whole program: reads its arguments, and says with which code to end.
pub fn main() -> ExitCode {
    let command = match parse(std::env::args_os()) {
        Ok(command) => command,
        Err(ended) => return ended,
    };
    match run(command) {
        Ok(code) => code,
        Err(error) => explain(&error),
    }
}

/// # Errors
/// The exit code, after help, version or an error is printed.
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, ExitCode> {
    Cli::try_parse_from(args)
        .map(|cli| cli.command)
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let asked = error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
                // A closed pipe is no failure of ours.
                let _ = error.print();
                if asked {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::from(2)
                }
            }
            _ => {
                eprintln!("{}", one_line(&error.render().to_string()));
                ExitCode::from(2)
            }
        })
}

/// clap's message without its usage block: what is wrong, then its tips.
fn one_line(rendered: &str) -> String {
    let lines = rendered
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let wanted = lines.take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    format!(
        "{}; see loadgen --help",
        wanted.collect::<Vec<_>>().join(" ")
    )
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Bench(args) => bench::run(*args),
        Command::Envelope(args) => envelope::run(*args),
        Command::Bystanders(args) => bystanders::run(args),
        Command::Conform(args) => conform::run(args),
        Command::Run(args) => load::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Clean(args) => clean::run(args),
        Command::ControlPlane(command) => control_plane::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Report(args) => report::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Check(args) => check::run(args),
        Command::Sizing(args) => sizing::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Metrics(args) => metrics::run(args),
        Command::Subjects(args) => subjects::run(args),
        Command::Workloads(args) => workloads::run(args),
        Command::Lint(args) => lint::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Kubesim(args) => kubesim::run(args),
    }
}

/// An error and its causes, without a cause that the message before it has already.
fn causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// With which code a command ends that has done its work: 1 where what it was asked about is not sound.
fn exit_code(is_sound: bool) -> ExitCode {
    match is_sound {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Prints an error and says with which code to end.
pub fn explain(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {}", causes(error));
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("no such file")
            .context("cannot read x: no such file")
            .context("no report");
        assert_eq!(causes(&error), "no report: cannot read x: no such file");
    }

    #[test]
    fn a_refusal_is_one_line() {
        let error = Cli::try_parse_from(["loadgen", "bench", "--sed", "3"])
            .err()
            .expect("unknown option");
        let line = one_line(&error.render().to_string());
        assert!(
            line.starts_with("error: unexpected argument '--sed' found") && !line.contains('\n'),
            "{line}"
        );
    }
}
