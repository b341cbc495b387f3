//! What is being measured, where and with what: `experiment.json`.
//!
//! Guarantees: read off the machine, the checkout and the programs themselves; every program is
//! read once, which also warms it. Leaves to others: writing it down.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::bench::args::BenchArgs;
use crate::cli::bench::{artifacts, provenance};
use crate::cli::command_line;
use crate::engine::Setting;
use crate::engine::workspace::Workspace;
use crate::plan::Plan;
use crate::record::evidence::sums::sha256_of;
use crate::record::{Environment, Experiment, Origin, RunMachine, SubjectRecord};
use crate::spec::subject;
use crate::spec::subject::Subject;
use crate::spec::workload::Scenario;
use crate::timestamp::now_rfc3339;

/// The commit that this program was compiled from; see `build.rs`.
const COMMIT: &str = env!("BUILT_FROM");
/// The target that this program was compiled for, and cargo builds the subjects for.
const TARGET: &str = env!("BUILT_FOR");

/// # Errors
/// A program or its CRD is not there.
pub fn describe(args: &BenchArgs, plan: &Plan, setting: &Setting) -> anyhow::Result<Experiment> {
    let place = &setting.place;
    // A datastore writes to the private folder, and only there its filesystem matters.
    let data = if plan.request_counts {
        &place.temp_dir
    } else {
        place.evidence.root()
    };
    let subjects = plan.subjects.iter();
    let subjects = subjects.map(|subject| program(subject, args, &place.workspace));
    Ok(Experiment {
        schema: crate::record::SCHEMA,
        origin: Origin {
            environment: Environment {
                started_at: now_rfc3339(),
                command_line: command_line::of_process(),
                host_label: args.host_label.clone(),
                loadgen_commit: COMMIT.to_owned(),
                control_plane: args.means.control_plane.name().into(),
                control_plane_flags: place.source.flags(),
                kubernetes_version: None,
                filesystem: tare_procstat::filesystem(data),
                machine: tare_procstat::machine(),
            },
            scenario: Scenario::clone(&setting.scenario),
            seed: setting.seed,
            subjects: subjects.collect::<anyhow::Result<_>>()?,
        },
        profile: setting.profile,
        ready_delay_ms: setting.ready_delay_ms,
        asked: setting.asked.clone(),
        bystanders: setting.bystanders.clone(),
        bounds: setting.bounds,
        deadline_s: args.deadline_s,
        planned: plan.cells(setting.seed),
        overlap: setting.overlap,
        resumed_at: vec![],
    })
}

/// The executable of a subject, read once, which also warms it, so that the first run is not slower than others; `None` where
/// the kernel finds it in PATH, by its own rules.
///
/// # Errors
/// It is not there; the message says what to do.
pub fn executable(subject: &Subject, workspace: &Workspace) -> anyhow::Result<Option<Vec<u8>>> {
    let program = program_of(subject, workspace);
    match read_from_disk(&program) {
        Ok(binary) => Ok(Some(binary)),
        Err(_) if program.components().count() == 1 => Ok(None),
        Err(error) => {
            let id = subject.id();
            let way = match subject.build {
                Some(_) => "build it, or leave out --no-build",
                None => "build it, correct [run] command, or say in [build] how it is built",
            };
            anyhow::bail!("{id}: cannot read {}: {error}; {way}", program.display());
        }
    }
}

fn program_of(subject: &Subject, workspace: &Workspace) -> PathBuf {
    let places = subject::Places {
        bin: workspace.bin_of(subject),
        ..subject::Places::default()
    };
    subject.launch(&places).program
}

fn program(
    subject: &Subject,
    args: &BenchArgs,
    workspace: &Workspace,
) -> anyhow::Result<SubjectRecord> {
    let program = program_of(subject, workspace);
    let binary = executable(subject, workspace)?;
    if let Some(crd) = subject.crd() {
        std::fs::metadata(&crd)
            .with_context(|| format!("{}: cannot read its CRD {}", subject.id(), crd.display()))?;
    }
    let folder = subject.base.as_deref().unwrap_or(&workspace.root);
    let artifacts =
        artifacts::read(&subject.run.artifacts, folder).with_context(|| subject.id())?;
    let executable_sha256 = binary.as_deref().map(sha256_of);
    let (binary_bytes, binary_sha256) = match &artifacts[..] {
        [] => (
            binary.as_ref().map(|bytes| bytes.len() as u64),
            executable_sha256.clone(),
        ),
        all => {
            let whole = SubjectRecord::of_artifacts(executable_sha256.as_deref(), all);
            (Some(whole.0), Some(whole.1))
        }
    };
    let build = subject.build.as_ref();
    let of_workspace = build.is_some_and(|build| !build.cargo_packages.is_empty());
    Ok(SubjectRecord {
        target: subject
            .target
            .clone()
            .or_else(|| args.means.target.clone().filter(|_| of_workspace))
            .unwrap_or_else(|| TARGET.to_owned()),
        binary: shown(&program, &workspace.root),
        binary_bytes,
        binary_sha256,
        executable_sha256: executable_sha256.filter(|_| !artifacts.is_empty()),
        artifacts,
        commit: binary
            .as_deref()
            .and_then(|content| provenance::commit(subject, &program, content)),
        subject: subject.clone(),
    })
}

/// What every run records of the machine and of loadgen itself.
pub fn run_machine() -> RunMachine {
    let machine = tare_procstat::machine();
    let own = std::env::current_exe().and_then(std::fs::read);
    RunMachine {
        cpu_model: machine.cpu_model,
        kernel: machine.kernel,
        loadgen_commit: COMMIT.to_owned(),
        loadgen_sha256: own.ok().as_deref().map(sha256_of),
    }
}

/// What a linker has just written lies in the page cache in other pieces than what was read from the disk
/// since, and a page fault maps all of a piece: the same static `tare` had an RSS of 2.4 MB read in order
/// and 2.8 MB as `strip` had written it (Linux 6.18, ext4). So every program is read anew.
fn read_from_disk(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    // Where the kernel keeps the pages all the same, memory is sampled with them.
    let _ = file.sync_all();
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As seen from the checkout: where that is says nothing to a reader of the results.
fn shown(program: &Path, workspace: &Path) -> String {
    let inside = program.strip_prefix(workspace).unwrap_or(program);
    inside.display().to_string()
}
