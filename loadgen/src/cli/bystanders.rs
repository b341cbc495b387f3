//! `loadgen bystanders`: what an operator pays for Secrets, ConfigMaps and Pods that are not its own.
//!
//! Guarantees: each start has a control plane of its own, with the foreign objects there before the operator; what was
//! measured is kept after Ctrl-C. Leaves to others: the steps of a start (`plan::course`), what they mean
//! (`metric::foreign_cost`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::cli::bench::{choice, describe};
use crate::cli::means::Means;
use crate::cli::{command_line, means};
use crate::engine::workspace::Workspace;
use crate::engine::{Place, Setting, build, session};
use crate::error::{Usage, no_folder};
use crate::metric::foreign_cost::{FOREIGN_COST, ForeignCost};
use crate::plan::cell::{Cell, Kind};
use crate::plan::course::Asked;
use crate::plan::profile::Profile;
use crate::record::Run;
use crate::record::evidence::Evidence;
use crate::report::foreign_cost as report;
use crate::spec::bounds;
use crate::spec::bounds::Bounds;
use crate::spec::bystanders;
use crate::spec::control_plane::ControlPlane;
use crate::spec::subject;
use crate::spec::subject::Subject;
use crate::spec::workload::Workload;
use crate::target::Source;
use crate::timestamp::now_rfc3339;
use crate::watch::log_tail::end_of_log;

#[derive(Args, Clone, Debug)]
pub struct BystandersArgs {
    /// The operator: a name/variant of loadgen subjects, or the file of one
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// Cluster that it runs against; kube and kine need loadgen control-plane build
    #[arg(long, value_enum, default_value = "kubesim")]
    control_plane: ControlPlane,
    /// Foreign objects of one kind, for the cost of each
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    each: u32,
    /// Foreign objects of every kind, for the peak of a cold start
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    all: u32,
    /// Repeats of each start [default: 1 on kubesim, else 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: Option<u32>,
    /// Idle time before memory is sampled; Go's collector needs that of standard [default: quick on kubesim, else standard]
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Memory that it may have, such as 512Mi; a start that needs more is killed, and the table says so [default: no limit]
    #[arg(long, value_name = "QUANTITY", value_parser = bounds::memory)]
    memory: Option<u64>,
    /// Target triple for Tare and the Rust rivals, such as x86_64-unknown-linux-musl [default: that of this machine]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Use the existing binaries
    #[arg(long)]
    no_build: bool,
    /// Folder for the results; must be new or empty [default: results/bystanders-DATE-N]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl BystandersArgs {
    /// What is there before each start.
    fn offers(&self) -> Vec<String> {
        let (each, all) = (self.each, self.all);
        let kinds = bystanders::plurals();
        let of_one = kinds.iter().map(|kind| format!("{kind}={each}"));
        let of_all: Vec<String> = kinds.iter().map(|kind| format!("{kind}={all}")).collect();
        std::iter::once(bystanders::text(&[]))
            .chain(of_one)
            .chain([of_all.join(",")])
            .collect()
    }

    fn is_simulated(&self) -> bool {
        self.control_plane == ControlPlane::Kubesim
    }
}

pub fn run(args: BystandersArgs) -> anyhow::Result<ExitCode> {
    let usage = |error: &dyn std::fmt::Display| Usage(error.to_string());
    let Some(source) = Source::own(args.control_plane)? else {
        let why = "--control-plane existing: foreign objects are made on a control plane of loadgen's own; use kubesim, kube or kine";
        return Err(Usage(why.into()).into());
    };
    let mut subject = chosen(&args)?;
    let workload = choice::alone(&mut subject, None)?;
    let workspace = Workspace::find()
        .and_then(|found| found.for_target(args.target.as_deref()))
        .map_err(|e| usage(&e))?;
    let subjects = [subject];
    if !args.no_build {
        workspace.can_build(&subjects).map_err(|e| usage(&e))?;
    }
    let evidence = Evidence::create_new(args.out.as_deref(), "bystanders").map_err(no_folder)?;
    let runtime = means::runtime()?;
    runtime.block_on(measure(
        args, source, subjects, workload, workspace, evidence,
    ))
}

fn chosen(args: &BystandersArgs) -> Result<Subject, Usage> {
    let usage = |error: subject::Error| Usage(error.to_string());
    let file = Path::new(&args.subject);
    if file.extension().is_some_and(|ending| ending == "toml") {
        return Subject::from_file(file).map_err(usage);
    }
    let real = args.control_plane.is_ours_and_real();
    let found =
        subject::select(Some(std::slice::from_ref(&args.subject)), &[], real).map_err(usage)?;
    found.into_iter().next().ok_or_else(|| {
        Usage(format!(
            "{}: no subject; loadgen subjects lists them, and a file ends in .toml",
            args.subject
        ))
    })
}

async fn measure(
    args: BystandersArgs,
    source: Source,
    subjects: [Subject; 1],
    workload: Workload,
    workspace: Workspace,
    evidence: Evidence,
) -> anyhow::Result<ExitCode> {
    let Means {
        stop,
        progress,
        temp_dir,
    } = Means::gather()?;
    let [subject] = &subjects;
    let run_machine = describe::run_machine();
    let profile = args.profile.unwrap_or(match args.is_simulated() {
        true => Profile::Quick,
        false => Profile::Standard,
    });
    let cost = ForeignCost {
        subject: subject.id(),
        command_line: command_line::of_process(),
        control_plane: args.control_plane.name().into(),
        kubernetes_version: None,
        profile,
        loadgen_commit: run_machine.loadgen_commit.clone(),
        started_at: Some(now_rfc3339()),
        offers: args.offers(),
        starts: Vec::new(),
    };
    let place = Place {
        source,
        workspace: &workspace,
        temp_dir: temp_dir.path(),
        run_machine,
        evidence: &evidence,
        progress: &progress,
    };
    let mut setting = Setting {
        profile,
        bounds: Bounds {
            memory_bytes: args.memory,
            cpu_cores: None,
        },
        ..Setting::new(workload, place)
    };
    let mut runs = Vec::new();
    let measuring = async {
        if !args.no_build {
            let log = evidence.path("logs/build.log");
            build::build(&subjects, &workspace, &log, &progress).await?;
        }
        describe::executable(subject, &setting.bin)?;
        let repeats = args
            .repeats
            .unwrap_or(if args.is_simulated() { 1 } else { 3 });
        starts(repeats, &cost, &mut setting, subject, &mut runs).await
    };
    let stopped = tokio::select! {
        biased;
        () = stop.requested() => true,
        measured = measuring => { measured?; false }
    };
    progress.finish();
    let cost = cost.with_runs(&runs);
    evidence.write_json(FOREIGN_COST, &cost)?;
    if let Some(svg) = report::badge(&cost) {
        evidence.write("badge.svg", svg.as_bytes())?;
    }
    let table = report::table(&cost);
    evidence.write("bystanders.md", table.markdown().as_bytes())?;
    evidence.write_sums()?;
    println!("{}", table.plain());
    println!("Results: {}", evidence.root().display());
    if stopped {
        progress.say("stopped: not every start was measured; those that were are in the table");
        return Ok(ExitCode::from(130));
    }
    let whole = runs.iter().all(|run| run.failure.is_none());
    Ok(match whole {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Each offer in turn, so that the machine's moods hit all alike.
async fn starts(
    repeats: u32,
    cost: &ForeignCost,
    setting: &mut Setting,
    subject: &Subject,
    runs: &mut Vec<Run>,
) -> anyhow::Result<()> {
    for repeat in 1..=repeats * cost.offers.len() as u32 {
        let offer = cost.offer(repeat).unwrap_or_default();
        setting.bystanders = bystanders::parse(offer).unwrap_or_default();
        setting.asked = Asked {
            bystanders: !setting.bystanders.is_empty(),
            ..Asked::default()
        };
        let cell = Cell {
            subject: subject.id(),
            objects: 0,
            repeat,
            kind: Kind::Memory,
            per_s: None,
        };
        let run = session::run(setting, subject, &cell, 1).await.run;
        setting.progress.say(&match &run.failure {
            None => format!("{}, beside {offer}: measured", cell.subject),
            Some(failure) => format!(
                "{}, beside {offer}: failed: {}{}",
                cell.subject,
                failure.reason,
                end_of_log(&failure.last_log_lines)
            ),
        });
        let file = format!("runs/{}.json", cell.file_stem());
        setting.evidence.write_json(&file, &run)?;
        runs.push(run);
    }
    Ok(())
}
