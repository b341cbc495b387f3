//! `loadgen restarts`: what it costs to start an operator on objects that are there already.
//!
//! Guarantees: the objects converge once per size, under the first subject; then every subject starts
//! on the same server again and again, in an order drawn from the seed, one at a time. What was
//! measured is written after every start. Nothing it started outlives it. Leaves to others: bursts
//! and everything that changes objects (`bench`).

pub mod account;
pub mod start;
pub mod world;

use crate::report::restarts;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::cli::bench::describe;
use crate::cli::bench::describe::Measured;
use crate::cli::bench::plan;
use crate::model::error::{Usage, no_folder};
use crate::model::evidence::Evidence;
use crate::model::interrupt::Stop;
use crate::model::progress::Progress;
use crate::model::record::Origin;
use crate::model::rng::SplitMix64;
use crate::model::subject;
use crate::model::subject::Subject;
use crate::model::workload;
use crate::model::workload::Scenario;
use crate::run::build;
use crate::run::build::Workspace;
use crate::run::restarts::start::Start;
use crate::run::restarts::world::{Filled, World};
use crate::run::temp_dir::TempDir;
use crate::{model::control_plane::ControlPlane, target::Source};

/// The raw data.
const RECORD: &str = "restarts.json";
const PAGE: &str = "restarts.md";

#[derive(Args, Clone, Debug)]
pub struct RestartArgs {
    /// Subjects to start, as name/variant, separated by commas. Under the first the objects converge, so
    /// all of them have to want the same children.
    #[arg(
        long,
        value_name = "A,B",
        default_value = "tare/none,tare/metadata,tare/pruned"
    )]
    pub subjects: String,
    /// An operator of your own, described by a subject.toml; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub subject: Vec<PathBuf>,
    /// Numbers of objects, separated by commas.
    #[arg(long, value_name = "N,M", default_value = "5000")]
    pub objects: String,
    /// How often each is started.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,
    /// A subject is weighed after so long without events and without work.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub quiet_s: u64,
    /// Give up on objects that have not converged after this long [default: 60 s + 200 ms each].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline_s: Option<u64>,
    /// Decides the order of the starts and the content of the objects.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where the evidence goes; must be new or empty [default: results/restarts-<date>-<n>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Build Tare and its Rust rivals static for this target.
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Measure the binaries that are there.
    #[arg(long)]
    pub no_build: bool,
    /// What the subjects run against: a server of our own.
    #[arg(long, value_enum, default_value = "kubesim")]
    pub control_plane: ControlPlane,
    /// How the report calls this machine.
    #[arg(long, default_value = "local")]
    pub host_label: String,
}

/// Everything that was measured, as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub kubernetes_version: Option<String>,
    pub quiet_s: u64,
    pub converged: Vec<Converged>,
    pub starts: Vec<Start>,
}

/// The objects of one size.
#[derive(Debug, Serialize, Deserialize)]
pub struct Converged {
    pub objects: usize,
    /// Under whom.
    pub subject: String,
    #[serde(flatten)]
    pub filled: Filled,
    pub datastore_size_bytes: Option<u64>,
}

/// What is the same for all starts.
struct Setting {
    source: Source,
    scenario: Arc<Scenario>,
    seed: u64,
    quiet: Duration,
    deadline: Option<Duration>,
    workspace: PathBuf,
    bin: PathBuf,
    private: PathBuf,
    evidence: Evidence,
    progress: Progress,
}

pub fn run(args: RestartArgs) -> anyhow::Result<ExitCode> {
    let names: Vec<String> = args.subjects.split(',').map(str::to_owned).collect();
    let subjects = subject::select(Some(&names), &args.subject, true)
        .map_err(|error| Usage(error.to_string()))?;
    let sizes = plan::sizes_that_fit(&args.objects, 0, args.control_plane)?;
    if let Some(own) = subjects.iter().find(|subject| subject.objects.is_some()) {
        return Err(Usage(format!(
            "{} has objects of its own, and here all subjects share theirs; measure it with bench",
            own.id()
        ))
        .into());
    }
    let source = Source::own(args.control_plane)?.ok_or_else(|| {
        Usage("--control-plane existing: objects are left on the server between starts, so it has to be one of our own; choose kubesim, kube or kine".into())
    })?;
    let workspace = Workspace::find()
        .and_then(|found| found.for_target(args.target.as_deref()))
        .map_err(|error| Usage(error.to_string()))?;
    let evidence = Evidence::create_new(args.out.as_deref(), "restarts").map_err(no_folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(measure(args, subjects, sizes, source, workspace, evidence))
}

async fn measure(
    args: RestartArgs,
    subjects: Vec<Subject>,
    sizes: Vec<usize>,
    source: Source,
    workspace: Workspace,
    evidence: Evidence,
) -> anyhow::Result<ExitCode> {
    let stop = Stop::on_signals().context("cannot listen for Ctrl-C")?;
    let progress = Progress::new();
    let private = TempDir::create()?;
    let work = async {
        if !args.no_build {
            let log = evidence.path("logs/build.log");
            build::build(&subjects, &workspace, &log, &progress).await?;
        }
        let setting = Setting {
            source,
            scenario: Arc::new(workload::edgeapp()?),
            seed: args.seed,
            quiet: Duration::from_secs(args.quiet_s),
            deadline: args.deadline_s.map(Duration::from_secs),
            bin: workspace.bin(),
            workspace: workspace.root.clone(),
            private: private.path().to_owned(),
            evidence: evidence.clone(),
            progress,
        };
        let mut record = begin(&args, &subjects, &setting)?;
        for objects in sizes {
            of_size(&setting, &subjects, objects, args.repeats, &mut record).await?;
        }
        setting.progress.finish();
        anyhow::Ok(())
    };
    // Dropping the work ends its subjects and servers.
    tokio::select! {
        biased;
        () = stop.requested() => {
            let record = evidence.path(RECORD);
            match record.exists() {
                true => eprintln!("stopped: what was measured is in {}", record.display()),
                false => eprintln!("stopped: nothing was measured"),
            }
            return Ok(ExitCode::from(130));
        }
        done = work => done?,
    }
    Ok(match publish(&evidence)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Whether a folder is one of this command.
pub fn is_of(evidence: &Evidence) -> bool {
    evidence.path(RECORD).exists()
}

/// Writes the page anew and prints its tables; false where a start failed or does not count.
///
/// # Errors
/// The raw data cannot be read, or the page not written.
pub fn publish(evidence: &Evidence) -> anyhow::Result<bool> {
    let record: Record = evidence.read_json(RECORD)?;
    evidence.write(PAGE, restarts::markdown(&record).as_bytes())?;
    println!();
    for table in restarts::tables(&record) {
        println!("{}", table.plain());
    }
    let failures = restarts::failures(&record);
    failures.iter().for_each(|line| println!("{line}"));
    println!(
        "Evidence: {} ({RECORD}, {PAGE}, logs/)",
        evidence.root().display()
    );
    Ok(failures.is_empty())
}

/// What is known before anything was measured.
fn begin(args: &RestartArgs, subjects: &[Subject], setting: &Setting) -> anyhow::Result<Record> {
    Ok(Record {
        schema: crate::model::record::SCHEMA,
        origin: describe::origin(&Measured {
            host_label: &args.host_label,
            control_plane: args.control_plane,
            target: args.target.as_deref(),
            subjects,
            source: &setting.source,
            scenario: &setting.scenario,
            seed: setting.seed,
            workspace: &setting.workspace,
            bin: &setting.bin,
            data: &setting.private,
        })?,
        kubernetes_version: None,
        quiet_s: args.quiet_s,
        converged: Vec::new(),
        starts: Vec::new(),
    })
}

/// All starts on the objects of one size; written once these are there, and after each start.
async fn of_size(
    setting: &Setting,
    subjects: &[Subject],
    objects: usize,
    repeats: u32,
    record: &mut Record,
) -> anyhow::Result<()> {
    let [first, ..] = subjects else {
        return Ok(());
    };
    let mut world = World::converge(setting, first, objects)
        .await
        .map_err(|reason| anyhow::anyhow!("{objects} objects under {}: {reason}", first.id()))?;
    record.kubernetes_version = Some(world.version.clone());
    let converged = Converged {
        objects,
        subject: first.id(),
        filled: world.filled.clone(),
        datastore_size_bytes: world.server.datastore_size_bytes(),
    };
    setting.progress.say(&restarts::came_to_be(&converged));
    record.converged.push(converged);
    keep(setting, record)?;
    let mut rng = SplitMix64::of(setting.seed, objects as u64);
    for repeat in 1..=repeats {
        let mut order: Vec<&Subject> = subjects.iter().collect();
        rng.shuffle(&mut order);
        for subject in order {
            let start = start::measure(setting, &mut world, subject, repeat).await;
            setting.progress.say(&restarts::sentence(&start));
            record.starts.push(start);
            keep(setting, record)?;
        }
    }
    world.teardown().await;
    Ok(())
}

/// Writes what is known so far.
fn keep(setting: &Setting, record: &Record) -> anyhow::Result<()> {
    setting.evidence.write_json(RECORD, record)?;
    let page = restarts::markdown(record);
    Ok(setting.evidence.write(PAGE, page.as_bytes())?)
}
