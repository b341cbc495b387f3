//! `loadgen bench`: from arguments to a report.
//!
//! Guarantees: bad input is refused before anything is built or started; whatever was measured
//! is reported, also after Ctrl-C. Leaves to others: building, running, reporting.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use testbed::weigh;

use crate::cli::{BenchArgs, Usage};
use crate::conformance;
use crate::evidence::Evidence;
use crate::experiment::{self, Ending, Plan, Setting, now_rfc3339};
use crate::progress::Progress;
use crate::record::{Experiment, Settle, SubjectRecord};
use crate::scenario::{self, Scenario};
use crate::stop::Stop;
use crate::subject::{self, Subject};
use crate::subjects_build::{self, Workspace};
use crate::{evidence, report};

const MOST_OBJECTS: usize = 1_000_000;

pub fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    let plan = plan(&args)?;
    let workspace = Workspace::find()
        .and_then(|found| found.for_target(args.target.as_deref()))
        .map_err(|e| Usage(e.to_string()))?;
    let mut scenario = scenario::edgeapp()?;
    scenario.ready_delay_ms = args.ready_delay_ms.unwrap_or(scenario.ready_delay_ms);
    let evidence = folder(&args).map_err(|error| match error {
        evidence::Error::NotEmpty(_) | evidence::Error::NotAFolder(_) => {
            anyhow::Error::new(Usage(error.to_string()))
        }
        other => other.into(),
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(measure(args, plan, workspace, scenario, evidence))
}

async fn measure(
    args: BenchArgs,
    mut plan: Plan,
    workspace: Workspace,
    scenario: Scenario,
    evidence: Evidence,
) -> anyhow::Result<ExitCode> {
    let stop = Stop::on_signals().context("cannot listen for Ctrl-C")?;
    let progress = Arc::new(Progress::new());
    if !args.no_build {
        let log = evidence.path("logs/build.log");
        let building = subjects_build::build(&plan.subjects, &workspace, &log, &progress);
        tokio::select! {
            built = building => built?,
            () = stop.requested() => return Ok(interrupted(&progress, "while building; nothing was measured")),
        }
    }
    let private = PrivateFolder::create()?;
    let setting = Setting {
        scenario: Arc::new(scenario),
        seed: args.seed,
        settle: args.settle,
        ready_delay_ms: 0,
        deadline: args.deadline_s.map(Duration::from_secs),
        largest: plan.largest(),
        bin: workspace.bin(),
        workspace: workspace.root.clone(),
        private: private.0.clone(),
        evidence: evidence.clone(),
        progress: progress.clone(),
    };
    let setting = Setting {
        ready_delay_ms: setting.scenario.ready_delay_ms,
        ..setting
    };
    let mut experiment = describe(&args, &plan, &setting)?;
    let skip = args.skip_conformance;
    if !conformance::admit(&mut plan, &mut experiment, &setting, &stop, skip).await? {
        return Ok(interrupted(
            &progress,
            "while checking conformance; nothing was measured",
        ));
    }
    evidence.write_json("experiment.json", &experiment)?;
    let ending = experiment::run(&plan, &setting, &mut experiment, &stop).await;
    progress.finish();
    drop(private);
    let ending = ending?;
    let sound = report::publish(&evidence)?;
    Ok(match ending {
        Ending::Stopped => interrupted(&progress, "what was measured is in the report"),
        Ending::Complete if sound => ExitCode::SUCCESS,
        Ending::Complete => ExitCode::FAILURE,
    })
}

fn interrupted(progress: &Progress, what: &str) -> ExitCode {
    progress.finish();
    progress.say(&format!("stopped: {what}"));
    ExitCode::from(130)
}

fn plan(args: &BenchArgs) -> Result<Plan, Usage> {
    match args.control_plane.as_str() {
        "embedded" => {}
        "kube" | "kine" | "existing" => {
            return Err(Usage(format!(
                "--control-plane {}: not yet: only embedded is there so far",
                args.control_plane
            )));
        }
        other => {
            return Err(Usage(format!(
                "--control-plane {other:?}: unknown; use embedded (kube, kine, existing: not yet)"
            )));
        }
    }
    let names: Option<Vec<String>> = args
        .subjects
        .as_ref()
        .map(|list| list.split(',').map(str::to_owned).collect());
    let subjects =
        subject::select(names.as_deref(), &args.subject).map_err(|e| Usage(e.to_string()))?;
    let sizes = sizes(&args.objects)?;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    enough_memory(largest, available_bytes())?;
    Ok(Plan {
        subjects,
        sizes,
        repeats: args.repeats,
    })
}

fn sizes(list: &str) -> Result<Vec<usize>, Usage> {
    let mut sizes = Vec::new();
    for text in list.split(',').map(str::trim) {
        let size: usize = text.parse().map_err(|_| {
            Usage(format!("--objects {list:?}: {text:?} is not a number of objects; write them like 0,500,2000,5000"))
        })?;
        if size > MOST_OBJECTS {
            return Err(Usage(format!(
                "--objects: {size} is more than the {MOST_OBJECTS} that can be measured"
            )));
        }
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    Ok(sizes)
}

/// What the embedded server (20 KB per object with its children), a subject that keeps all of it
/// (30 KB) and the harness need at most, in bytes.
pub fn needed_bytes(objects: usize) -> u64 {
    300_000_000 + objects as u64 * 52_000
}

fn enough_memory(objects: usize, available: Option<u64>) -> Result<(), Usage> {
    let needed = needed_bytes(objects);
    match available {
        Some(available) if available < needed => Err(Usage(format!(
            "--objects: {objects} need about {} MB of memory and {} MB are available; choose fewer",
            needed / 1_000_000,
            available / 1_000_000
        ))),
        _ => Ok(()),
    }
}

/// `MemAvailable`, or the limit of the cgroup where that is lower; `None` where nobody says.
pub fn available_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limit = limits
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
        .min();
    Some(limit.map_or(available, |limit: u64| limit.min(available)))
}

fn folder(args: &BenchArgs) -> Result<Evidence, evidence::Error> {
    match &args.out {
        Some(out) => Evidence::create(out),
        None => {
            let kind = if args.settle == Settle::Quick {
                "quick"
            } else {
                "full"
            };
            let today = now_rfc3339().chars().take(10).collect::<String>();
            Evidence::create_next(Path::new("results"), &format!("{kind}-{today}"))
        }
    }
}

fn describe(args: &BenchArgs, plan: &Plan, setting: &Setting) -> anyhow::Result<Experiment> {
    let subjects = plan
        .subjects
        .iter()
        .map(|subject| weigh_binary(subject, args.target.as_deref(), setting));
    Ok(Experiment {
        schema: 1,
        started_at: now_rfc3339(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        host_label: args.host_label.clone(),
        tare_revision: revision(&setting.workspace),
        control_plane: args.control_plane.clone(),
        control_plane_flags: "an in-memory server that holds what operators use; malloc tuned for it, not for subjects".into(),
        machine: weigh::machine(),
        filesystem: weigh::filesystem(setting.evidence.root()),
        scenario: setting.scenario.as_ref().clone(),
        seed: setting.seed,
        settle: setting.settle,
        ready_delay_ms: setting.ready_delay_ms,
        subjects: subjects.collect::<anyhow::Result<_>>()?,
        planned: plan.bursts(setting.seed),
    })
}

/// Reads the binary once, which also warms it, so that the first run is not slower than others.
fn weigh_binary(
    subject: &Subject,
    target: Option<&str>,
    setting: &Setting,
) -> anyhow::Result<SubjectRecord> {
    let nowhere = PathBuf::new();
    let launch = subject.launch(&subject::Places {
        admin: String::new(),
        kubeconfig: nowhere.clone(),
        dir: nowhere,
        bin: setting.bin.clone(),
    });
    let program = launch.program;
    // A bare name is found in PATH by the kernel's rules, and its size is then not known here.
    let is_path = program.components().count() > 1;
    let binary_bytes = match std::fs::read(&program) {
        Ok(binary) => Some(binary.len() as u64),
        Err(_) if !is_path => None,
        Err(error) => {
            let id = subject.id();
            anyhow::bail!(
                "{id}: cannot read {}: {error}; build it, or leave out --no-build",
                program.display()
            );
        }
    };
    let crd = subject.crd(&setting.workspace);
    std::fs::metadata(&crd)
        .with_context(|| format!("{}: cannot read its CRD {}", subject.id(), crd.display()))?;
    let build = subject.build.as_ref();
    let of_workspace = build.is_some_and(|build| !build.cargo_packages.is_empty());
    Ok(SubjectRecord {
        target: subject
            .target
            .clone()
            .or_else(|| target.filter(|_| of_workspace).map(str::to_owned))
            .unwrap_or_else(own_target),
        binary: program.display().to_string(),
        binary_bytes,
        subject: subject.clone(),
    })
}

/// Target triple of loadgen itself, which cargo builds for as it builds the subjects.
fn own_target() -> String {
    let system = if cfg!(target_os = "macos") {
        "apple-darwin"
    } else {
        "unknown-linux"
    };
    let library = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else {
        ""
    };
    format!("{}-{system}{library}", std::env::consts::ARCH)
}

fn revision(workspace: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(workspace)
            .args(args)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(sha) = git(&["rev-parse", "HEAD"]) else {
        return "unknown".into();
    };
    match git(&["status", "--porcelain"]) {
        Some(changes) if changes.is_empty() => sha,
        _ => format!("{sha}-dirty"),
    }
}

/// A folder for credentials that nobody else can read, removed in the end.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    pub fn create() -> anyhow::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("loadgen-{}", std::process::id()));
        // What an earlier process of the same number left behind.
        let _ = std::fs::remove_dir_all(&path);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| {
            format!("cannot make {} for credentials; set TMPDIR", path.display())
        })?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // The credentials in it died with their servers.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused() {
        assert_eq!(sizes("0, 500,500").expect("valid"), [0, 500]);
        for (list, want) in [
            ("5k", "\"5k\" is not a number of objects"),
            ("", "\"\" is not a number"),
            ("-1", "\"-1\" is not a number"),
            ("1000001", "1000001 is more than the 1000000"),
        ] {
            let error = sizes(list).expect_err(list).to_string();
            assert!(error.contains(want), "{list}: {error}");
        }
    }

    #[test]
    fn memory_needed_and_present_are_said() {
        let error = enough_memory(100_000, Some(2_000_000_000))
            .expect_err("too little")
            .to_string();
        assert!(
            error.contains("100000 need about 5500 MB of memory and 2000 MB are available"),
            "{error}"
        );
        assert!(enough_memory(100_000, Some(8_000_000_000)).is_ok());
        assert!(enough_memory(5_000, None).is_ok());
    }
}
