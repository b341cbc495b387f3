//! `loadgen bystanders`: what an operator pays for Secrets, ConfigMaps and Pods that are not its own.
//!
//! Guarantees: each start has a control plane of its own, with the foreign objects there before the operator; what was
//! measured is kept after Ctrl-C. Leaves to others: the steps of a start (`plan::course`), what they mean
//! (`metric::foreign_cost`).

use std::process::ExitCode;

use clap::Args;

use crate::cli::bench::{choice, describe};
use crate::cli::means::MeansArgs;
use crate::cli::{command_line, means};
use crate::engine::{Setting, session};
use crate::error::Usage;
use crate::metric::foreign_cost::{FOREIGN_COST, ForeignCost};
use crate::plan::cell::{Cell, Kind};
use crate::plan::course::Asked;
use crate::plan::profile::Profile;
use crate::record::Run;
use crate::report::foreign_cost as report;
use crate::spec::bounds;
use crate::spec::bounds::Bounds;
use crate::spec::bystanders;
use crate::spec::control_plane::ControlPlane;
use crate::spec::subject;
use crate::spec::subject::Subject;
use crate::timestamp::now_rfc3339;
use crate::watch::log_tail::end_of_log;

#[derive(Args, Clone, Debug)]
pub struct BystandersArgs {
    /// The operator: a name/variant of loadgen subjects, or the file of one
    #[arg(value_name = "SUBJECT")]
    subject: String,
    #[command(flatten)]
    means: MeansArgs,
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
        self.means.control_plane == ControlPlane::Kubesim
    }
}

pub fn run(args: BystandersArgs) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(measure(args))
}

async fn measure(args: BystandersArgs) -> anyhow::Result<ExitCode> {
    let why = "foreign objects are made on a control plane of loadgen's own";
    let source = args.means.own_source(why)?;
    let mut subject = subject::one(&args.subject).map_err(Usage::of)?;
    let workload = choice::alone(&mut subject, None)?;
    let subjects = [subject];
    let [subject] = &subjects;
    let means = args.means.gather(source, &subjects, "bystanders")?;
    let place = &means.place;
    let profile = args.profile.unwrap_or(match args.is_simulated() {
        true => Profile::Quick,
        false => Profile::Standard,
    });
    let cost = ForeignCost {
        subject: subject.id(),
        command_line: command_line::of_process(),
        control_plane: args.means.control_plane.name().into(),
        kubernetes_version: None,
        profile,
        loadgen_commit: place.run_machine.loadgen_commit.clone(),
        started_at: Some(now_rfc3339()),
        offers: args.offers(),
        starts: Vec::new(),
    };
    let mut setting = Setting {
        profile,
        bounds: Bounds {
            memory_bytes: args.memory,
            cpu_cores: None,
        },
        ..Setting::new(workload, place.clone())
    };
    let mut runs = Vec::new();
    let measuring = async {
        describe::executable(subject, &place.workspace)?;
        let repeats = args
            .repeats
            .unwrap_or(if args.is_simulated() { 1 } else { 3 });
        starts(repeats, &cost, &mut setting, subject, &mut runs).await
    };
    let ending = means.work(&subjects, measuring).await?;
    let cost = cost.with_runs(&runs);
    let evidence = &place.evidence;
    evidence.write_json(FOREIGN_COST, &cost)?;
    if let Some(svg) = report::badge(&cost) {
        evidence.write("badge.svg", svg.as_bytes())?;
    }
    let table = report::table(&cost);
    evidence.write("bystanders.md", table.markdown().as_bytes())?;
    evidence.write_sums()?;
    println!("{}", table.plain());
    println!("Results: {}", evidence.root().display());
    let whole = runs.iter().all(|run| run.failure.is_none());
    let stopped = "not every start was measured; those that were are in the table";
    Ok(means.end(ending, whole, stopped))
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
            repeat,
            ..Cell::first(subject.id(), Kind::Memory, 0)
        };
        let run = session::run(setting, subject, &cell, 1).await.run;
        setting.place.progress.say(&match &run.failure {
            None => format!("{}, beside {offer}: measured", cell.subject),
            Some(failure) => format!(
                "{}, beside {offer}: failed: {}{}",
                cell.subject,
                failure.reason,
                end_of_log(&failure.last_log_lines)
            ),
        });
        let file = format!("runs/{}.json", cell.file_stem());
        setting.place.evidence.write_json(&file, &run)?;
        runs.push(run);
    }
    Ok(())
}
