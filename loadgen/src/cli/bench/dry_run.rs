//! `loadgen bench --dry-run`: what a bench would take.
//!
//! Guarantees: builds, starts and writes nothing; runs that are in the folder to go on with are not counted as left.
//! Leaves to others: the plan (`plan`), the time (`plan::estimate`).

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::bench::args::BenchArgs;
use crate::cli::bench::plan as options;
use crate::plan::Plan;
use crate::plan::cell::{Cell, Kind};
use crate::plan::course::Course;
use crate::plan::estimate;
use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::report;
use crate::spec::control_plane::ControlPlane;
use crate::spec::workload::Workload;

/// As it is printed. Runs of the rate sweep are as many as there can be at most.
#[derive(Serialize)]
struct Printed {
    subjects: Vec<String>,
    runs: usize,
    /// Not in the folder yet.
    runs_left: usize,
    /// By kind of run.
    runs_by_kind: BTreeMap<&'static str, usize>,
    /// For the runs that are left, on two cores.
    left_s: u64,
    /// The folder in the end.
    results_bytes: u64,
    /// Of datastores, while it runs.
    temporary_bytes: u64,
    memory_bytes: u64,
}

/// Of one run with its share of the reports: between 60 and 150 KB on a real server.
const RUN_BYTES: u64 = 100_000;
const RUN_BYTES_OF_KUBESIM: u64 = 90_000;
/// Of one object in `samples/`, packed.
const SAMPLE_BYTES: u64 = 20;
/// Of a datastore without objects: etcd's log is allocated in pieces of 64 MB.
const DATASTORE_BYTES: u64 = 160_000_000;
/// What an object takes in a datastore after a run, in sizes of the object: its revisions and those of its children, in
/// the log and in the file.
const COPIES: u64 = 20;

pub fn run(args: &BenchArgs, plan: &Plan, workload: &Workload) -> anyhow::Result<ExitCode> {
    let object_bytes = workload.scenario.object_bytes;
    let kept = kept(args)?;
    let is_there = |cell: &Cell| kept.contains(cell);
    let (profile, bursts_only) = (options::profile(args), args.only_bursts());
    let asked = args.asked(&workload.steps);
    let course = Course::of(profile, bursts_only, plan.largest(), asked);
    let cells = plan.cells(args.seed);
    let time = estimate::of_plan(plan, &cells, &course, args.means.control_plane, is_there);
    let mut runs_by_kind = BTreeMap::new();
    for cell in &cells {
        *runs_by_kind.entry(cell.kind.name()).or_default() += 1;
    }
    if plan.to_follow() > 0 {
        runs_by_kind.insert(Kind::Rate.name(), plan.to_follow());
    }
    let runs = cells.len() + plan.to_follow();
    let is_real = args.means.control_plane != ControlPlane::Kubesim;
    let run_bytes = if is_real {
        RUN_BYTES
    } else {
        RUN_BYTES_OF_KUBESIM
    };
    let with_samples = cells.iter().filter(|cell| cell.has_samples());
    let objects: u64 = with_samples.map(|cell| cell.objects as u64).sum();
    let largest = plan.largest();
    let datastore = DATASTORE_BYTES + largest as u64 * object_bytes as u64 * COPIES;
    let extra = object_bytes.saturating_sub(2_048);
    let memory = options::needed_bytes(largest, extra, args.means.control_plane);
    let overlap = plan.overlap as u64;
    let printed = Printed {
        subjects: plan.ids(),
        runs,
        runs_left: runs - kept.len().min(runs),
        runs_by_kind,
        left_s: time.time(plan.overlap).as_secs(),
        results_bytes: runs as u64 * run_bytes + objects * SAMPLE_BYTES,
        temporary_bytes: if is_real { overlap * datastore } else { 0 },
        memory_bytes: overlap * memory,
    };
    println!("{}", serde_json::to_string_pretty(&printed)?);
    Ok(ExitCode::SUCCESS)
}

/// What is in the folder to go on with.
fn kept(args: &BenchArgs) -> anyhow::Result<Vec<Cell>> {
    let Some(out) = args.means.out.as_deref().filter(|_| args.resume) else {
        return Ok(Vec::new());
    };
    let evidence = Evidence::open(out);
    match evidence.path(EXPERIMENT).is_file() {
        true => Ok(report::read(&evidence)?.runs.into_keys().collect()),
        false => Ok(Vec::new()),
    }
}
