//! Where figures come from: the machine, the programs, the command lines.
//!
//! Guarantees: pure; what nobody knows is called unknown. Leaves to others: layout.

use crate::model::record::Record;
use crate::model::subject::built_in;
use crate::model::summary::{Subject, Summary};
use crate::report::table::{Table, figure};
use crate::report::title::short;

const UNKNOWN: &str = "unknown";

/// The environment, as names and values.
pub fn environment(summary: &Summary) -> Vec<(&'static str, String)> {
    let environment = &summary.environment;
    let machine = &environment.machine;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.into());
    let cores = machine
        .cores
        .map_or(UNKNOWN.into(), |cores| cores.to_string());
    let memory = machine
        .memory_bytes
        .map(|bytes| format!("{} MB", bytes / 1_000_000));
    vec![
        ("begun", environment.started_at.clone()),
        ("loadgen", environment.loadgen_commit.clone()),
        ("control plane", environment.control_plane.clone()),
        ("Kubernetes", known(&environment.kubernetes_version)),
        (
            "flags of the servers",
            environment.control_plane_flags.clone(),
        ),
        (
            "processor",
            format!("{}, {cores} cores", known(&machine.cpu_model)),
        ),
        ("memory", memory.unwrap_or_else(|| UNKNOWN.into())),
        ("kernel", known(&machine.kernel)),
        (
            "filesystem of the datastore",
            known(&environment.filesystem),
        ),
        ("profile", summary.scenario.profile.name().to_owned()),
        ("seed", summary.scenario.seed.to_string()),
    ]
}

/// What each operator is, by its name: as its file says, or that of the subject that comes with loadgen.
pub fn operators(record: &Record) -> Vec<(String, String)> {
    let shipped = built_in().unwrap_or_default();
    let subjects = record.experiment.origin.subjects.iter();
    subjects
        .filter_map(|subject| {
            let id = subject.subject.id();
            let same = shipped.iter().find(|one| one.id() == id);
            let own = subject.subject.description.as_ref();
            let words = own.or_else(|| same?.description.as_ref())?;
            Some((id, words.clone()))
        })
        .collect()
}

/// The programs that were measured.
pub fn subjects(summary: &Summary) -> Table {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.into());
    let row = |subject: &Subject| {
        vec![
            subject.id(),
            subject
                .commit
                .as_deref()
                .map_or(UNKNOWN.into(), |commit| short(commit).to_owned()),
            subject
                .binary_sha256
                .as_deref()
                .map_or(UNKNOWN.into(), |sha| short(sha).to_owned()),
            subject.target.clone(),
            known(&subject.profile),
            known(&subject.allocator),
            figure(subject.binary_bytes.map(|bytes| bytes as f64 / 1e6)),
            figure(
                subject
                    .image_bytes_compressed
                    .map(|bytes| bytes as f64 / 1e6),
            ),
        ]
    };
    let header = [
        "",
        "commit",
        "SHA-256",
        "target",
        "build profile",
        "allocator",
        "binary, MB",
        "image, packed, MB",
    ];
    Table {
        title: "Programs (commit as the program itself says; whole SHA-256 in summary.json)".into(),
        header: header.map(str::to_owned).to_vec(),
        rows: summary.subjects.iter().map(row).collect(),
    }
}

/// The options as they were typed, behind the program as a checkout runs it.
fn typed(command_line: &str) -> String {
    let options = command_line.split_once(' ').map_or("", |(_, rest)| rest);
    format!("cargo run --release -p loadgen -- {options}")
}

/// What to type to measure the same.
pub fn commands(summary: &Summary) -> Vec<String> {
    let commit = summary
        .environment
        .loadgen_commit
        .trim_end_matches("-dirty");
    vec![
        format!("git checkout {commit}"),
        "cargo run --release -p loadgen -- doctor".into(),
        typed(&summary.environment.command_line),
    ]
}
