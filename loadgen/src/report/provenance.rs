//! Where figures come from: the machine, the programs, the command lines.
//!
//! Guarantees: pure; what nobody knows is called unknown. Leaves to others: layout.

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

/// What to type to measure the same.
pub fn commands(summary: &Summary) -> Vec<String> {
    let commit = summary
        .environment
        .loadgen_commit
        .trim_end_matches("-dirty");
    vec![
        format!("git checkout {commit}"),
        "cargo run --release -p loadgen -- doctor".into(),
        summary.environment.command_line.clone(),
    ]
}
