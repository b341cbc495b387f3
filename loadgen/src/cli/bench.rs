//! `loadgen bench`: from arguments to a report.
//!
//! Guarantees: bad input is refused before anything is built or started; whatever was measured
//! is reported, also after Ctrl-C, and an interrupted bench goes on with `--resume`. Leaves to
//! others: building, running, reporting.

pub mod args;
mod artifacts;
pub mod choice;
pub mod describe;
pub mod dry_run;
pub mod plan;
pub mod provenance;
pub mod resume;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use tare_procstat::MemoryCgroup;

use crate::cli::bench::args::BenchArgs;
use crate::cli::means;
use crate::cli::means::Means;
use crate::engine;
use crate::engine::conformance;
use crate::engine::workspace::Workspace;
use crate::engine::{Ending, Kept, Setting};
use crate::error::{Usage, no_folder};
use crate::plan::Plan;
use crate::plan::cell::Cell;
use crate::plan::estimate;
use crate::record::Experiment;
use crate::record::evidence;
use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::report;
use crate::run_id;
use crate::spec::control_plane::ControlPlane;
use crate::spec::workload::Workload;
use crate::target::Source;
use crate::target::context::Target;
use crate::target::existing::ExistingCluster;

pub fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    let mut plan = plan::plan(&args)?;
    let workspace = args.means.workspace(&plan.subjects)?;
    let mut workload = choice::choose(&args, &mut plan.subjects)?;
    if !args.means.control_plane.is_ours_and_real() {
        workload.needs_no_own_server().map_err(Usage::of)?;
    }
    let object_bytes = choice::object_bytes(args.object_bytes, &workload)?;
    let scenarios = [Some(&mut workload.scenario), workload.rejected.as_mut()];
    for scenario in scenarios.into_iter().flatten() {
        scenario.object_bytes = object_bytes;
        scenario.ready_delay_ms = args.ready_delay_ms.unwrap_or(scenario.ready_delay_ms);
    }
    if args.dry_run {
        return dry_run::run(&args, &plan, &workload);
    }
    means::runtime()?.block_on(measure(args, plan, workload, workspace))
}

async fn measure(
    args: BenchArgs,
    mut plan: Plan,
    mut workload: Workload,
    workspace: Workspace,
) -> anyhow::Result<ExitCode> {
    let source = source(&args, &mut workload, &mut plan).await?;
    let (evidence, resumed) = folder(&args).map_err(no_folder)?;
    let means = Means::gather(&args.means, source, workspace, evidence)?;
    let (stop, place) = (&means.stop, &means.place);
    let stopped = |what: &str| means.end(Ending::Stopped, false, what);
    match stop.or(means.build(&plan.subjects)).await {
        Some(built) => built?,
        None => return Ok(stopped("while building; nothing was measured")),
    }
    let setting = Setting {
        seed: args.seed,
        profile: plan::profile(&args),
        deadline: args.deadline_s.map(Duration::from_secs),
        largest: plan.largest(),
        bounds: args.bounds(),
        bursts_only: args.only_bursts(),
        asked: args.asked(&workload.steps),
        bystanders: args.bystanders.clone().unwrap_or_default().0,
        attempts: plan::attempts(&args),
        marks_disturbed: plan::marks_disturbed(&args),
        overlap: plan.overlap,
        ..Setting::new(workload, place.clone())
    };
    if let Err(error) = MemoryCgroup::create() {
        place.progress.say(&format!(
            "memory as a node accounts for it is not measured: {error}"
        ));
    }
    let mut described = describe::describe(&args, &plan, &setting)?;
    let (mut experiment, kept) = if resumed {
        go_on(&mut plan, described, &setting)?
    } else {
        let skip = args.skip_conformance;
        if !conformance::admit(&mut plan, &mut described, &setting, stop, skip).await? {
            return Ok(stopped("while checking conformance; nothing was measured"));
        }
        (described, Kept::default())
    };
    place.evidence.write_json(EXPERIMENT, &experiment)?;
    announce(&plan, &setting, args.means.control_plane, &kept);
    let ending = engine::run(&plan, &setting, &mut experiment, kept, stop).await;
    place.progress.finish();
    if let Source::Existing(existing) = &place.source {
        // After Ctrl-C the namespace of the run at hand is still there.
        existing.clean(&place.temp_dir).await?;
    }
    let ending = ending?;
    let sound = report::publish(&place.evidence)?;
    let dir = place.evidence.root().display();
    let how = format!(
        "what was measured is in the report; to go on: the same command with --resume --out {dir}"
    );
    Ok(means.end(ending, sound, &how))
}

/// The experiment that was begun, and the runs that it has already.
fn go_on(
    plan: &mut Plan,
    mut now: Experiment,
    setting: &Setting,
) -> anyhow::Result<(Experiment, Kept)> {
    let evidence = &setting.place.evidence;
    let record = report::read(evidence)?;
    // Who did not pass then is not let in now.
    conformance::retain(plan, &mut now, setting, &record.conformance);
    let experiment = resume::go_on(record.experiment, &now).map_err(|differs| {
        let dir = evidence.root().display();
        Usage(format!(
            "--resume: {dir} holds another experiment: {differs}"
        ))
    })?;
    let mut attempts = BTreeMap::new();
    for run in record.attempts {
        let last = attempts.entry(run.cell).or_default();
        *last = run.attempt.max(*last);
    }
    let runs = record.runs;
    Ok((experiment, Kept { runs, attempts }))
}

/// How many runs there are and how long they may take.
fn announce(plan: &Plan, setting: &Setting, control_plane: ControlPlane, kept: &Kept) {
    let course = setting.course();
    let cells = plan.cells(setting.seed);
    let is_there = |cell: &Cell| kept.runs.contains_key(cell);
    let estimate = estimate::of_plan(plan, &cells, &course, control_plane, is_there);
    let time = estimate.time(setting.overlap);
    let all = cells.len() + plan.to_follow();
    let there = match kept.runs.len() {
        0 => String::new(),
        there => format!(", of which {there} are there already"),
    };
    setting.place.progress.say(&format!(
        "{all} runs{there}, {}about {}",
        match setting.overlap {
            1 => String::new(),
            overlap => format!("up to {overlap} memory runs under way at once, "),
        },
        estimate::words(time)
    ));
}

async fn source(
    args: &BenchArgs,
    workload: &mut Workload,
    plan: &mut Plan,
) -> anyhow::Result<Source> {
    let cluster = &args.cluster;
    let elsewhere = cluster.kubeconfig.is_some() || cluster.context.is_some() || cluster.yes;
    if elsewhere && args.means.control_plane != ControlPlane::Existing {
        let with = "--kubeconfig, --context and --yes go with --control-plane existing";
        return Err(Usage(with.into()).into());
    }
    if let Some(source) = Source::own(args.means.control_plane)? {
        return Ok(source);
    }
    let target = Target::choose(cluster).await?;
    if !target.local && !cluster.yes {
        let (context, url) = (&target.context, &target.url);
        return Err(Usage(format!(
            "context {context:?} at {url} is {}, and subjects would work on all of it; if it is the right one, add --yes",
            target.whereabouts()
        ))
        .into());
    }
    let run = run_id::new();
    // Pods of thousands of objects are more than a cluster that is not ours may have room for.
    let scenarios = [Some(&mut workload.scenario), workload.rejected.as_mut()];
    for scenario in scenarios.into_iter().flatten() {
        *scenario = scenario.clone().without_pods().of_bench(&run);
    }
    let mut resources = Vec::new();
    for subject in &mut plan.subjects {
        let own = subject.objects.take();
        subject.objects = own.map(|own| own.of_bench(&run));
        let scenario = subject.objects.as_ref().unwrap_or(&workload.scenario);
        for resource in scenario.resources() {
            if !resources.contains(&resource) {
                resources.push(resource);
            }
        }
    }
    let existing = ExistingCluster::of(&target, run, resources, workload.fixtures.clone());
    Ok(Source::Existing(Box::new(existing)))
}

/// Where the evidence goes, and whether some is there already.
fn folder(args: &BenchArgs) -> Result<(Evidence, bool), evidence::Error> {
    let out = args.means.out.as_deref();
    if let Some(out) = out.filter(|_| args.resume) {
        let (evidence, anew) = Evidence::resume(out)?;
        return Ok((evidence, !anew));
    }
    let evidence = Evidence::create_new(out, plan::profile(args).name())?;
    Ok((evidence, false))
}
