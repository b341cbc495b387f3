//! `loadgen envelope`: the most objects, the highest rate of new objects and of updates of an operator within limits.
//!
//! Guarantees: each size is tried on a control plane of its own, from the start of the subject; a try that is killed
//! for memory is a result and not an error. Leaves to others: which size is next (`metric::envelope`).

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::cli::bench::{choice, describe};
use crate::cli::means;
use crate::cli::means::MeansArgs;
use crate::engine::{Setting, session};
use crate::error::Usage;
use crate::metric::envelope::Search;
use crate::plan::cell::{Cell, Kind};
use crate::plan::course::Updates;
use crate::record::Arrival;
use crate::record::envelope::{Envelope, Try};
use crate::report::envelope as report;
use crate::report::table::{figure, grouped, mb};
use crate::spec::bounds;
use crate::spec::bounds::Bounds;
use crate::spec::subject;
use crate::spec::subject::Subject;

/// The answer lies within this part of the first size that does not hold.
const PRECISION: f64 = 0.1;
const FIRST_RATE: usize = 10;
const MOST_RATE: usize = 1_000;

#[derive(Args, Clone, Debug)]
pub struct EnvelopeArgs {
    /// The operator: a name/variant of loadgen subjects, or the file of one
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// What is created: a shipped workload, or the folder of one [default: that of the subject]
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Memory that the subject may have, such as 64Mi
    #[arg(long, value_name = "QUANTITY", value_parser = bounds::memory, required_unless_present = "cpu")]
    memory: Option<u64>,
    /// Cores that the subject may use, such as 500m or 1
    #[arg(long, value_name = "QUANTITY", value_parser = bounds::cores)]
    cpu: Option<f64>,
    /// Service level: 99 % of the objects have to be ready within MS milliseconds [default: none; all have to be
    /// ready in the end]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..))]
    p99_ms: Option<u32>,
    #[command(flatten)]
    means: MeansArgs,
    /// The first number of objects that is tried
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    first: u32,
    /// The most objects that are tried
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    most: u32,
    /// Also search for the highest rate; each is offered for S seconds, 0 for none
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=600))]
    rate_s: u32,
    /// Also search for the highest rate of updates, with half of the most objects; each is offered for S seconds,
    /// 0 for none
    #[arg(long, value_name = "S", alias = "churn-s", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=600))]
    update_s: u32,
    /// A try fails when its objects have not converged after S seconds [default: 60 + 0.2 per object]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    deadline_s: Option<u64>,
    /// Seed for the content of objects
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub fn run(args: EnvelopeArgs) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(measure(args))
}

async fn measure(args: EnvelopeArgs) -> anyhow::Result<ExitCode> {
    let why = "an envelope needs a control plane of its own";
    let source = args.means.own_source(why)?;
    let mut subject = subject::one(&args.subject).map_err(Usage::of)?;
    let workload = choice::alone(&mut subject, args.workload.as_deref())?;
    let subjects = [subject];
    let [subject] = &subjects;
    let means = args.means.gather(source, &subjects, "envelope")?;
    let place = &means.place;
    let mut envelope = Envelope {
        subject: subject.id(),
        workload: workload.name.clone(),
        control_plane: args.means.control_plane.name().into(),
        kubernetes_version: None,
        loadgen_commit: place.run_machine.loadgen_commit.clone(),
        bounds: Bounds {
            memory_bytes: args.memory,
            cpu_cores: args.cpu,
        },
        p99_ms: args.p99_ms.map(f64::from),
        objects: Vec::new(),
        rates: Vec::new(),
        updates: Vec::new(),
    };
    let mut setting = Setting {
        seed: args.seed,
        deadline: args.deadline_s.map(Duration::from_secs),
        bounds: envelope.bounds,
        ..Setting::new(workload, place.clone())
    };
    let searching = async {
        describe::executable(subject, &place.workspace)?;
        search(&args, &mut setting, subject, &mut envelope).await
    };
    let ending = means.work(&subjects, searching).await?;
    let evidence = &place.evidence;
    evidence.write_json("envelope.json", &envelope)?;
    if let Some(svg) = report::svg(&envelope)? {
        evidence.write("envelope.svg", svg.as_bytes())?;
    }
    for table in report::tables(&envelope) {
        println!("{}", table.plain());
    }
    println!("Results: {}", evidence.root().display());
    let some = envelope.objects.iter().any(Try::held);
    let stopped = "the search did not end; what was tried is in the tables";
    Ok(means.end(ending, some, stopped))
}

async fn search(
    args: &EnvelopeArgs,
    setting: &mut Setting,
    subject: &Subject,
    envelope: &mut Envelope,
) -> anyhow::Result<()> {
    let mut objects = Search::new(args.first as usize, args.most as usize, PRECISION);
    while let Some(size) = objects.to_try() {
        let cell = cell(subject, size, None);
        let tried = attempt(setting, subject, &cell, size, envelope).await;
        objects.note(size, tried.held());
        envelope.objects.push(tried);
        setting
            .place
            .evidence
            .write_json("envelope.json", &*envelope)?;
    }
    say(setting, "at once", "objects", &objects);
    let Some(largest) = objects.largest() else {
        return Ok(());
    };
    if args.rate_s > 0 {
        rates(args, setting, subject, largest, envelope).await?;
    }
    if args.update_s > 0 {
        let objects = (largest / 2).max(1);
        updates(args, setting, subject, objects, envelope).await?;
    }
    Ok(())
}

async fn rates(
    args: &EnvelopeArgs,
    setting: &Setting,
    subject: &Subject,
    largest: usize,
    envelope: &mut Envelope,
) -> anyhow::Result<()> {
    // Objects that are there in less than a second are no rate.
    let most = MOST_RATE.min(largest);
    let mut rates = Search::new(FIRST_RATE.min(most), most, PRECISION);
    while let Some(per_s) = rates.to_try() {
        let due = per_s * args.rate_s as usize;
        let count = due.min(largest);
        if count < due {
            setting.place.progress.say(&format!(
                "at {per_s}/s: offered for {:.1} s in place of {} s, because {} objects are the most that held at once",
                count as f64 / per_s as f64,
                args.rate_s,
                grouped(largest)
            ));
        }
        let cell = cell(subject, count, u32::try_from(per_s).ok());
        let tried = attempt(setting, subject, &cell, per_s, envelope).await;
        rates.note(per_s, tried.held());
        envelope.rates.push(tried);
        setting
            .place
            .evidence
            .write_json("envelope.json", &*envelope)?;
    }
    say(setting, "at a rate", "objects per second", &rates);
    if rates.is_open() && most < MOST_RATE {
        setting.place.progress.say(&format!(
            "at a rate: a higher one was not tried, because {} objects, the most that held at once, are offered within a second",
            grouped(largest)
        ));
    }
    Ok(())
}

/// Updates of so many objects.
async fn updates(
    args: &EnvelopeArgs,
    setting: &mut Setting,
    subject: &Subject,
    objects: usize,
    envelope: &mut Envelope,
) -> anyhow::Result<()> {
    let mut rates = Search::new(FIRST_RATE, MOST_RATE, PRECISION);
    while let Some(size) = rates.to_try() {
        setting.asked.updates = u32::try_from(size).ok().map(|per_s| Updates {
            per_s,
            seconds: args.update_s,
        });
        let tries = envelope.updates.len() as u32;
        let cell = Cell {
            // Its files are its own.
            repeat: tries + 2,
            ..cell(subject, objects, None)
        };
        let tried = attempt(setting, subject, &cell, size, envelope).await;
        rates.note(size, tried.held());
        envelope.updates.push(tried);
        setting
            .place
            .evidence
            .write_json("envelope.json", &*envelope)?;
    }
    setting.asked.updates = None;
    let how = format!("updates of {} objects", grouped(objects));
    say(setting, &how, "per second", &rates);
    Ok(())
}

fn cell(subject: &Subject, objects: usize, per_s: Option<u32>) -> Cell {
    let kind = per_s.map_or(Kind::Drain, |_| Kind::Rate);
    Cell {
        per_s,
        ..Cell::first(subject.id(), kind, objects)
    }
}

async fn attempt(
    setting: &Setting,
    subject: &Subject,
    cell: &Cell,
    size: usize,
    envelope: &mut Envelope,
) -> Try {
    let run = session::run(setting, subject, cell, 1).await.run;
    let offer = match (cell.per_s, setting.asked.updates) {
        (None, None) => Arrival::AtOnce,
        _ => Arrival::AtRate,
    };
    let tried = Try::of(&run, size, envelope.p99_ms, offer);
    let updated = setting
        .asked
        .updates
        .map(|it| format!(", updated at {}/s", it.per_s));
    let cell = format!("{cell}{}", updated.unwrap_or_default());
    setting.place.progress.say(&match &tried.why_not {
        None => format!(
            "{cell}: holds, P99 {} ms, peak {} MB",
            figure(tried.p99_ms),
            mb(tried.peak_bytes.map(|bytes| bytes as f64))
        ),
        Some(why) => format!("{cell}: does not hold: {why}"),
    });
    envelope.kubernetes_version = run
        .kubernetes_version
        .or(envelope.kubernetes_version.take());
    tried
}

fn say(setting: &Setting, how: &str, unit: &str, search: &Search) {
    setting
        .place
        .progress
        .say(&match (search.largest(), search.is_open()) {
            (None, _) => format!("{how}: not even one held"),
            (Some(largest), true) => format!(
                "{how}: {} {unit}, the most that was tried, held",
                grouped(largest)
            ),
            (Some(largest), false) => format!("{how}: up to {} {unit}", grouped(largest)),
        });
}
