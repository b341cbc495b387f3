//! `loadgen conform`: runs the conformance scenario without measuring.
//!
//! Guarantees: one table for all subjects; exit code 1 when one of them fails. Leaves to others:
//! building the subjects, and the scenario.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::cli::bench::{choice, describe};
use crate::cli::means;
use crate::cli::means::Means;
use crate::engine::conformance;
use crate::engine::conformance::STEP_DEADLINE;
use crate::engine::workspace::Workspace;
use crate::engine::{Place, Setting, build};
use crate::error::{Usage, no_folder};
use crate::record::conformance::{Conformance, ConformanceResult, Outcome};
use crate::record::evidence::Evidence;
use crate::report::Table;
use crate::spec::control_plane::ControlPlane;
use crate::spec::subject;
use crate::spec::subject::Subject;
use crate::spec::workload::Workload;
use crate::target::Source;

#[derive(Args, Clone, Debug)]
pub struct ConformArgs {
    /// Subjects to check, as name/variant, separated by commas
    /// [default: those that `loadgen bench` measures on this control plane]
    #[arg(long, value_name = "A,B")]
    subjects: Option<String>,
    /// File that describes your own operator; may be repeated
    #[arg(long, value_name = "FILE")]
    subject: Vec<PathBuf>,
    /// Cluster that subjects run against
    #[arg(long, value_enum, default_value = "kubesim")]
    control_plane: ControlPlane,
    /// Fail a step after S seconds
    #[arg(long, value_name = "S", default_value_t = STEP_DEADLINE.as_secs(), value_parser = clap::value_parser!(u64).range(1..=600))]
    deadline_s: u64,
    /// Folder for the results; must be new or empty [default: results/conform-DATE-N]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Use the existing binaries
    #[arg(long)]
    no_build: bool,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

pub fn run(args: ConformArgs) -> anyhow::Result<ExitCode> {
    let usage = |error: &dyn std::fmt::Display| Usage(error.to_string());
    let Some(source) = Source::own(args.control_plane)? else {
        let why = "--control-plane existing: the conformance scenario runs on a control plane of its own; use kubesim, kube or kine";
        return Err(Usage(why.into()).into());
    };
    let names = args.subjects.as_ref();
    let names: Option<Vec<String>> = names.map(|list| list.split(',').map(str::to_owned).collect());
    let mut subjects = subject::select(
        names.as_deref(),
        &args.subject,
        args.control_plane.is_ours_and_real(),
    )
    .map_err(|e| usage(&e))?;
    let mut workloads = Vec::new();
    for subject in &mut subjects {
        let workload = choice::of(subject).map_err(|e| usage(&e))?;
        choice::prepare(subject, &workload).map_err(|e| usage(&e))?;
        workloads.push(workload);
    }
    let subjects = Chosen {
        subjects,
        workloads,
    };
    let workspace = Workspace::find().map_err(|e| usage(&e))?;
    if !args.no_build {
        workspace
            .can_build(&subjects.subjects)
            .map_err(|e| usage(&e))?;
    }
    let evidence = Evidence::create_new(args.out.as_deref(), "conform").map_err(no_folder)?;
    let runtime = means::runtime()?;
    runtime.block_on(check(args, source, subjects, workspace, evidence))
}

/// Subjects, and the first workload that each serves.
struct Chosen {
    subjects: Vec<Subject>,
    workloads: Vec<Workload>,
}

async fn check(
    args: ConformArgs,
    source: Source,
    chosen: Chosen,
    workspace: Workspace,
    evidence: Evidence,
) -> anyhow::Result<ExitCode> {
    let Means {
        stop,
        progress,
        temp_dir,
    } = Means::gather()?;
    let Chosen {
        subjects,
        workloads,
    } = chosen;
    let mut found = Vec::new();
    let checking = async {
        if !args.no_build {
            let log = evidence.path("logs/build.log");
            build::build(&subjects, &workspace, &log, &progress).await?;
        }
        for (subject, workload) in subjects.iter().zip(workloads) {
            let place = Place {
                source: source.clone(),
                workspace: &workspace,
                temp_dir: temp_dir.path(),
                run_machine: describe::run_machine(),
                evidence: &evidence,
                progress: &progress,
            };
            let setting = Setting::new(workload, place);
            let within = Duration::from_secs(args.deadline_s);
            let one = conformance::check(&setting, subject, within).await;
            conformance::keep(&evidence, &one)?;
            found.push(one);
        }
        anyhow::Ok(())
    };
    let stopped = tokio::select! {
        biased;
        () = stop.requested() => true,
        checked = checking => { checked?; false }
    };
    progress.finish();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found);
        println!("Results: {}", evidence.root().display());
    }
    if stopped {
        progress.say("stopped: subjects that are not in the table were not checked");
        return Ok(ExitCode::from(130));
    }
    let failed = found
        .iter()
        .any(|one| one.result == ConformanceResult::Failed);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
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
