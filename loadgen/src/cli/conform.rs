//! `loadgen conform`: runs the conformance scenario without measuring.
//!
//! Guarantees: one table for all subjects; exit code 1 when one of them fails. Leaves to others:
//! building the subjects, and the scenario.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::cli::bench::choice;
use crate::cli::means;
use crate::cli::means::MeansArgs;
use crate::engine::Setting;
use crate::engine::conformance;
use crate::engine::conformance::STEP_DEADLINE;
use crate::error::Usage;
use crate::record::conformance::{Conformance, ConformanceResult, Outcome};
use crate::report::Table;
use crate::spec::subject;

#[derive(Args, Clone, Debug)]
pub struct ConformArgs {
    /// Subjects to check, as name/variant, separated by commas
    /// [default: those that `loadgen bench` measures on this control plane]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    subjects: Option<Vec<String>>,
    /// File that describes your own operator; may be repeated
    #[arg(long, value_name = "FILE")]
    subject: Vec<PathBuf>,
    #[command(flatten)]
    means: MeansArgs,
    /// Fail a step after S seconds
    #[arg(long, value_name = "S", default_value_t = STEP_DEADLINE.as_secs(), value_parser = clap::value_parser!(u64).range(1..=600))]
    deadline_s: u64,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

pub fn run(args: ConformArgs) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(check(args))
}

async fn check(args: ConformArgs) -> anyhow::Result<ExitCode> {
    let why = "the conformance scenario runs on a control plane of its own";
    let source = args.means.own_source(why)?;
    let real = args.means.control_plane.is_ours_and_real();
    let mut subjects =
        subject::select(args.subjects.as_deref(), &args.subject, real).map_err(Usage::of)?;
    // The first one that each serves.
    let mut workloads = Vec::new();
    for subject in &mut subjects {
        workloads.push(choice::alone(subject, None)?);
    }
    let means = args.means.gather(source, &subjects, "conform")?;
    let place = &means.place;
    let mut found = Vec::new();
    let checking = async {
        for (subject, workload) in subjects.iter().zip(workloads) {
            let setting = Setting::new(workload, place.clone());
            let within = Duration::from_secs(args.deadline_s);
            let one = conformance::check(&setting, subject, within).await;
            conformance::keep(&place.evidence, &one)?;
            found.push(one);
        }
        Ok(())
    };
    let ending = means.work(&subjects, checking).await?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found);
        println!("Results: {}", place.evidence.root().display());
    }
    let is_failed = |one: &Conformance| one.result == ConformanceResult::Failed;
    let stopped = "subjects that are not in the table were not checked";
    Ok(means.end(ending, !found.iter().any(is_failed), stopped))
}

fn print(found: &[Conformance]) {
    println!("{}", table(found).plain());
    for one in found {
        for (step, failure) in one.failures() {
            println!("FAIL {}: {step}: {failure}", one.subject);
        }
        match &one.result {
            ConformanceResult::NotChecked(reason) => {
                println!("{}: not checked: {reason}", one.subject);
            }
            _ if one.deviations.is_empty() => {}
            _ => println!(
                "{} deviates from: {}",
                one.subject,
                one.deviations.join(", ")
            ),
        }
    }
}

/// A row per step, a column per subject.
fn table(found: &[Conformance]) -> Table {
    let mut steps: Vec<&str> = Vec::new();
    for record in found.iter().flat_map(|one| &one.steps) {
        if !steps.contains(&record.step.as_str()) {
            steps.push(&record.step);
        }
    }
    let cell = |one: &Conformance, step: &str| {
        let record = one.steps.iter().find(|record| record.step == step);
        match record.map(|record| (&record.outcome, record.took_s)) {
            Some((Outcome::Passed, took_s)) => format!("pass {took_s:.1} s"),
            Some((Outcome::Failed(_), took_s)) => format!("FAIL {took_s:.1} s"),
            Some((Outcome::Deviates, _)) => "deviates".into(),
            Some((Outcome::NotRun, _)) => "not run".into(),
            None => "not checked".into(),
        }
    };
    let header = found.iter().map(|one| one.subject.clone());
    let rows = steps.into_iter().map(|step| {
        let cells = found.iter().map(|one| cell(one, step));
        std::iter::once(step.to_owned()).chain(cells).collect()
    });
    Table {
        title: "Conformance".into(),
        header: std::iter::once("step".to_owned()).chain(header).collect(),
        rows: rows.collect(),
    }
}
