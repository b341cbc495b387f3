//! What a report is about: its title, its circumstances, and what makes figures hard to compare.
//!
//! Guarantees: pure; a folder whose runs differ in processor, kernel, Kubernetes or loadgen says so in
//! its title. Leaves to others: the figures.

use std::collections::BTreeSet;

use serde_json::json;

use crate::record::summary::Summary;
use crate::record::{Record, Run};
use crate::report::circumstances::missing;
use crate::report::prose;
use crate::report::rows::sizes;
use crate::report::table::grouped;

/// The title, two sentences on the circumstances, and a warning for whatever a reader must know before the first figure.
pub fn heading(summary: &Summary, record: &Record) -> Vec<String> {
    let environment = &summary.environment;
    let (failed, others): (Vec<&Run>, Vec<&Run>) =
        record.runs.values().partition(|run| run.failure.is_some());
    let all = || summary.subjects.iter().flat_map(|subject| &subject.runs);
    let disturbed = || all().filter(|run| !run.disturbed_by.is_empty());
    let invalid = others.iter().filter(|run| !run.invalid_because.is_empty());
    prose::sentences(
        "heading",
        json!({
            "environment": environment, "scenario": summary.scenario, "mixed": summary.mixed,
            "control_plane": control_plane(&environment.control_plane), "commit": short(&environment.loadgen_commit),
            "date": environment.started_at.get(..10).unwrap_or(&environment.started_at),
            "sizes": sizes(summary).into_iter().map(grouped).collect::<Vec<_>>(),
            "of_several_workloads": summary.is_of_several_workloads(), "runs": record.runs.len(),
            "missing": missing(record).len(), "failed": failed.len(), "invalid": invalid.count(),
            "disturbed": disturbed().count(), "disturbed_by": disturbed().flat_map(|run| &run.disturbed_by).next(),
        }),
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
