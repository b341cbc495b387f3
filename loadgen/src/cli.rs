//! The command line: what may be asked for, and how a refusal reads.
//!
//! Guarantees: bad input is one line, `error: what, where, what to do`, with exit code 2; a
//! failure is one line with exit code 1 (a failed build adds the compiler's last lines). Leaves
//! to others: doing it.

pub mod bench;
pub mod check;
pub mod clean;
pub mod completions;
pub mod conform;
pub mod control_plane;
pub mod doctor;
pub mod kubesim;
pub mod mock_subject;
pub mod question;
pub mod report;
pub mod run;
pub mod schema;
pub mod subjects;
pub mod validate;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::cli::check::CheckArgs;
use crate::cli::clean::CleanArgs;
use crate::cli::control_plane::ControlPlaneCommand;
use crate::cli::doctor::DoctorArgs;
use crate::cli::run as load;
use crate::cli::run::RunArgs;
use crate::model::control_plane::ControlPlane;
use crate::model::error::Usage;
use crate::model::profile::Profile;
use crate::model::workload;
use crate::target::context::TargetArgs;

/// Weighs Kubernetes operators: creates thousands of custom resources, measures what the
/// operator costs, and publishes a report that can be checked.
#[derive(Parser)]
#[command(name = "loadgen", version = env!("TARE_VERSION"), disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Measures subjects side by side and writes a report.
    Bench(BenchArgs),
    /// Checks that subjects do what an EdgeApp operator has to do.
    Conform(conform::ConformArgs),
    /// Creates EdgeApps on a cluster of yours, says how they converged, and removes them.
    Run(RunArgs),
    /// Removes what runs left behind on a cluster.
    Clean(CleanArgs),
    /// Builds a real Kubernetes control plane, or runs one for you.
    #[command(subcommand)]
    ControlPlane(ControlPlaneCommand),
    /// Says what works on this machine, and what to do about the rest.
    Doctor(DoctorArgs),
    /// Rebuild summary.json, report.md and the tables of a folder from its raw data
    Report(report::ReportArgs),
    /// Check that the files of a folder are complete and well-formed
    Validate(validate::ValidateArgs),
    /// Print the JSON Schema of summary.json
    Schema,
    /// Judges a folder's summary.json by a file of limits.
    Check(CheckArgs),
    /// List the built-in subjects
    Subjects(subjects::SubjectsArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Kubesim(kubesim::KubesimArgs),
    #[command(hide = true)]
    MockSubject(mock_subject::MockArgs),
}

#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Subjects to measure, as name/variant, separated by commas; `loadgen subjects` lists them
    /// [default: tare/none and kube-rs/stock].
    #[arg(long, value_name = "A,B")]
    pub subjects: Option<String>,
    /// An operator of your own, described by a subject.toml; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub subject: Vec<PathBuf>,
    /// Numbers of objects, separated by commas.
    #[arg(long, value_name = "N,M", default_value = "0,500,2000,5000")]
    pub objects: String,
    /// How often each is measured [default: 1; 3 on another control plane than kubesim].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: Option<u32>,
    /// The same at the largest number of objects [default: --repeats, or else 1 or 5].
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats_largest: Option<u32>,
    /// Decides the order of the runs and the content of the objects.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where the evidence goes; must be new or empty [default: results/<settle>-<date>-<n>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Goes on with the interrupted bench in --out: finished runs are kept.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// How long a subject is left alone before it is weighed [default: quick; standard on another
    /// control plane than kubesim].
    #[arg(long, value_enum)]
    pub profile: Option<Profile>,
    /// How many runs may be under way at once: one works, the others are being left alone, which is
    /// most of the time. Each has a control plane of its own [default: 8, as far as memory allows; 1
    /// with --profile quick, and on an existing cluster].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub overlap: Option<u8>,
    /// Size of one object as it is sent, filled up with an annotation [default: the scenario's, 2048].
    #[arg(long, value_name = "BYTES", value_parser = object_bytes)]
    pub object_bytes: Option<usize>,
    /// From a Deployment's creation until it is ready [default: the scenario's].
    #[arg(long, value_name = "MS")]
    pub ready_delay_ms: Option<u64>,
    /// Give up on objects that have not converged after this long [default: 60 s + 200 ms each].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline_s: Option<u64>,
    /// Measure bursts and restarts alone: no steady rate, no churn, no deletion, and on a real control
    /// plane no counted requests and no check against default flags.
    #[arg(long)]
    pub bursts_only: bool,
    /// Also offer, once at the largest size, objects whose children the server rejects and objects
    /// whose children never become ready.
    #[arg(long)]
    pub unhealthy: bool,
    /// Also update 500 objects (or as many as there are at the largest size) every 500 ms for a minute.
    #[arg(long)]
    pub update_storm: bool,
    /// In the first run at the largest size, go on changing all objects (updates, children that fail and
    /// recover, deletions and re-creations) until so many watch events have passed, and weigh again.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub soak_events: Option<u64>,
    /// Restart the subject so often on the objects that exist, in every burst with objects, and report
    /// what it costs the subject and the API server [default: once, at the largest size only].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub restarts: Option<u32>,
    /// Build Tare and its Rust rivals static for this target, such as x86_64-unknown-linux-musl
    /// [default: this machine's own].
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Measure the binaries that are there.
    #[arg(long)]
    pub no_build: bool,
    /// Measure subjects without checking first that they do what an EdgeApp operator has to do.
    #[arg(long)]
    pub skip_conformance: bool,
    /// What the subjects run against.
    #[arg(long, value_enum, default_value = "kubesim")]
    pub control_plane: ControlPlane,
    /// Of an existing cluster; one that is not on this machine needs --yes.
    #[command(flatten)]
    pub cluster: TargetArgs,
    /// How the report calls this machine.
    #[arg(long, value_name = "LABEL", default_value = "local")]
    pub host_label: String,
}

/// # Errors
/// The exit code, once help, version or a refusal is printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, ExitCode> {
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

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Bench(args) => bench::run(args),
        Command::Conform(args) => conform::run(args),
        Command::Run(args) => load::run(args),
        Command::Clean(args) => clean::run(args),
        Command::ControlPlane(command) => control_plane::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Report(args) => report::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Schema => schema::run(),
        Command::Check(args) => check::run(args),
        Command::Subjects(args) => subjects::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Kubesim(args) => kubesim::run(args),
        Command::MockSubject(args) => mock_subject::run(args),
    }
}

/// A size that an object of the scenario can have.
fn object_bytes(text: &str) -> Result<usize, String> {
    let (least, most) = workload::sizes().map_err(|error| error.to_string())?;
    match text.parse() {
        Ok(bytes) if (least..=most).contains(&bytes) => Ok(bytes),
        _ => Err(format!("an object has {least} to {most} bytes")),
    }
}

/// Prints an error and says with which code to end.
pub fn explain(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
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
