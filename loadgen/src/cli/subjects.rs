//! `loadgen subjects`: the operators under test that loadgen knows without a file, and files for others (`new`).

mod new;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::report::Table;
use crate::spec::subject;
use crate::spec::subject::{Language, Measured, Subject};

#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SubjectsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// Write a subject and a workload for an operator of your own, from the definition of its kind
    New(new::NewArgs),
}

/// A subject, as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    measured: Measured,
    language: Language,
    command: &'a str,
}

pub fn run(args: SubjectsArgs) -> anyhow::Result<ExitCode> {
    if let Some(Command::New(args)) = args.command {
        return new::run(args);
    }
    let subjects = subject::built_in()?;
    if args.json {
        let lines: Vec<Line<'_>> = subjects.iter().map(line).collect();
        println!("{}", serde_json::to_string_pretty(&lines)?);
    } else {
        print!("{}", table(&subjects).plain());
    }
    Ok(ExitCode::SUCCESS)
}

fn line(subject: &Subject) -> Line<'_> {
    Line {
        id: subject.id(),
        measured: subject.measured,
        language: subject.language,
        command: &subject.run.command,
    }
}

fn table(subjects: &[Subject]) -> Table {
    let measured = |subject: &Subject| match subject.measured {
        Measured::Always => "in every bench".to_owned(),
        Measured::OnRealServers => "on a real control plane".to_owned(),
        Measured::ByName => "only with --subjects".to_owned(),
    };
    Table::of(
        "Built-in subjects",
        subjects,
        &[
            ("subject", &Subject::id),
            ("measured", &measured),
            ("what it is", &|it| {
                it.description.clone().unwrap_or_default()
            }),
        ],
    )
}
