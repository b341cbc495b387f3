//! What a report is about: its title, one line of circumstances, and what makes figures hard to compare.
//!
//! Guarantees: pure; a folder whose runs differ in processor, kernel, Kubernetes or loadgen says so in
//! its title. Leaves to others: the figures.

use std::collections::BTreeSet;

use crate::model::record::{Record, Run};
use crate::model::summary::{Scenario, Summary};
use crate::report::table::grouped;
use crate::report::tables::sizes;

/// What a workload says whose children are no Services.
const NO_SERVICE: &str = "none";

/// What was measured, on what, when, by which commit; and what is mixed.
pub fn title(summary: &Summary) -> String {
    let environment = &summary.environment;
    let version = environment.kubernetes_version.as_deref();
    let of_version = version.map_or(String::new(), |version| format!(" {version}"));
    let mixed = match summary.mixed.is_empty() {
        true => String::new(),
        false => format!(" (mixed: {})", summary.mixed.join(", ")),
    };
    format!(
        "{} operators on {}{of_version}, {}, {}, loadgen {}{mixed}",
        summary.scenario.name,
        control_plane(&environment.control_plane),
        environment.host_label,
        environment
            .started_at
            .get(..10)
            .unwrap_or(&environment.started_at),
        short(&environment.loadgen_commit),
    )
}

/// What a control plane is called in a sentence.
pub fn control_plane(name: &str) -> &str {
    match name {
        "kube" => "kube-apiserver with etcd",
        "kine" => "kube-apiserver with kine",
        "kubesim" => "the simulated API server",
        "existing" => "an existing cluster",
        other => other,
    }
}

/// The first digits of a commit.
pub fn short(commit: &str) -> &str {
    match commit.char_indices().nth(12) {
        Some((end, _)) if commit.chars().take(12).all(|c| c.is_ascii_hexdigit()) => &commit[..end],
        _ => commit,
    }
}

/// The circumstances in one line.
pub fn setting(summary: &Summary) -> String {
    let (environment, scenario) = (&summary.environment, &summary.scenario);
    let cores = environment.machine.cores;
    let cores = cores.map_or("?".into(), |cores| cores.to_string());
    let version = environment.kubernetes_version.as_deref();
    let numbers: Vec<String> = sizes(summary).into_iter().map(grouped).collect();
    format!(
        "{} {}{}; {} API server {}; {cores} cores; profile {}; MB are 1,000,000 bytes",
        match numbers.is_empty() {
            true => "no".to_owned(),
            false => numbers.join(" / "),
        },
        scenario.name,
        match summary.is_of_several_workloads() {
            // Each has objects of its own size.
            true => String::new(),
            false => format!(" of {} bytes{}", scenario.object_bytes, children(scenario)),
        },
        environment.control_plane,
        version.unwrap_or("(no version)"),
        scenario.profile.name(),
    )
}

/// What is said of children, where the control plane has to do with them.
fn children(scenario: &Scenario) -> String {
    let service = match scenario.service.as_str() {
        NO_SERVICE => String::new(),
        service => format!(" with a {service} Service"),
    };
    let ready = match (service.as_str(), scenario.ready_delay_ms) {
        ("", 0) => String::new(),
        (_, delay_ms) => format!(", ready after {delay_ms} ms"),
    };
    service + &ready
}

/// What should be the same in all runs of a folder.
type Fact = fn(&Run) -> Option<&String>;

/// What the runs of a folder differ in, of what they should share.
pub fn mixed(record: &Record) -> Vec<String> {
    let differs = |of: Fact| {
        let values: BTreeSet<&String> = record.runs.values().filter_map(of).collect();
        values.len() > 1
    };
    let facts: [(&str, Fact); 4] = [
        ("processors", |run| run.machine.cpu_model.as_ref()),
        ("kernels", |run| run.machine.kernel.as_ref()),
        ("Kubernetes versions", |run| run.kubernetes_version.as_ref()),
        ("loadgen commits", |run| Some(&run.machine.loadgen_commit)),
    ];
    let mixed = facts.into_iter().filter(|(_, of)| differs(*of));
    mixed.map(|(name, _)| name.to_owned()).collect()
}

/// How many runs are in no figure, and why.
fn unusable(record: &Record) -> Option<String> {
    let failed = record.runs.values().filter(|run| run.failure.is_some());
    let invalid = record
        .runs
        .values()
        .filter(|run| run.failure.is_none() && !run.invalid_because.is_empty());
    let (failed, invalid) = (failed.count(), invalid.count());
    (failed + invalid > 0).then(|| {
        format!(
            "Runs that are in no figure: {} of {} ({failed} failed, {invalid} invalid). Why is in \"Failed, invalid and unsettled runs\".",
            failed + invalid,
            record.runs.len()
        )
    })
}

/// What the words of the page mean.
pub fn words(summary: &Summary) -> String {
    let object = match summary.scenario.service.as_str() {
        _ if summary.is_of_several_workloads() => {
            "An object is one of the workload of its operator; the operators do different work, so nothing here ranks them".to_owned()
        }
        NO_SERVICE => format!("An object is one of the workload {}", summary.scenario.name),
        _ => format!(
            "An object is one custom resource of kind {}; the operator makes its children and writes its status",
            summary.scenario.name
        ),
    };
    format!(
        "{object}. In a drain all objects are created at once, and the time to drain lasts until the last one is ready. Settled means that nothing happens any more. RSS is the memory of the operator's process, and a cgroup counts what a node counts."
    )
}

/// What a reader must know before the first figure.
pub fn warnings(summary: &Summary, record: &Record) -> Vec<String> {
    let mut warnings = Vec::new();
    if !summary.mixed.is_empty() {
        warnings.push(format!(
            "The runs of this folder do not share their {}. Figures of different runs may not be comparable.",
            summary.mixed.join(", ")
        ));
    }
    if summary.environment.control_plane == "kubesim" {
        warnings.push("Measured against the simulated API server, which answers faster than kube-apiserver: do not set these figures beside those of a real control plane.".into());
    }
    let missing = record.experiment.planned.iter();
    let missing = missing
        .filter(|cell| !record.runs.contains_key(cell))
        .count();
    if missing > 0 {
        warnings.push(format!(
            "The bench is not complete: {missing} runs that it planned are missing."
        ));
    }
    warnings.extend(unusable(record));
    warnings
}
