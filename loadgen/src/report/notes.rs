//! What a reader must know: why figures are missing, what was short, what went wrong.
//!
//! Guarantees: every `null` of the summary is named here by its path, with a reason. Leaves to
//! others: how the notes are shown.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::cell::Kind;
use crate::model::conformance::Conformance;
use crate::model::profile::Timing;
use crate::model::record::Record;
use crate::model::summary::Summary;

/// Why a figure is null, by how its path ends; the first that fits.
const REASONS: [(&str, &str); 30] = [
    (
        "noise_floor",
        "no subject was measured against itself; a twin needs --repeats-largest 2 or more",
    ),
    (
        "significant",
        "the twin has no such figure, or there is no twin",
    ),
    (
        "comparisons[].ci95",
        "an interval needs two pairs; requests are counted in one run each; else use --repeats",
    ),
    (
        "requests.wire_bytes_per_object",
        "an audit log has no bytes; only the simulated server counts them",
    ),
    (
        "bytes_per_object.ci95",
        "an interval needs three sizes or repeats",
    ),
    (
        "bytes_per_object",
        "a slope needs settled memory at two sizes",
    ),
    (
        "image_bytes_compressed",
        "no image was made of it: scripts/image-sizes.sh FOLDER weighs those of static programs",
    ),
    ("image_bytes_unpacked", "as image_bytes_compressed"),
    (
        "write_span",
        "from the audit log of a real control plane, which is on only in the runs of kind `request-count`",
    ),
    (
        "runs[].requests",
        "counted by the simulated server, or in the runs of kind `request-count`; nothing to count with 0 objects",
    ),
    (
        "runs[].api_server_cpu_s",
        "nothing to measure with 0 objects, or the API server is not ours",
    ),
    (
        "datastore",
        "the simulated server keeps its objects in memory, and that of an existing cluster cannot be read",
    ),
    (
        "gc_pause.p99_ms",
        "no collection, or the bucket has no upper bound",
    ),
    (
        "gc_pause.max_ms",
        "no collection, or the bucket has no upper bound",
    ),
    (
        "gc_pause",
        "no garbage collector, or nothing measured with 0 objects",
    ),
    ("memory.burst", "only where objects are offered as a burst"),
    (
        "memory.churn",
        "in the burst at the largest size: of the first repeat with --profile standard, of all with full, of none with quick",
    ),
    (
        "memory.after_soak",
        "only with --soak-events, in the first run at the largest size",
    ),
    (
        "memory.deleted",
        "in the burst at the largest size: of the first repeat with --profile standard, of all with full, of those up to 1,000 objects with quick",
    ),
    (
        "memory.restart",
        "measured in the burst at the largest size",
    ),
    ("cpu.restart_s", "measured in the burst at the largest size"),
    (
        "memory.settled",
        "a steady cell is left to settle only with --profile full",
    ),
    (
        "cpu.idle_ms_per_minute",
        "only where the subject was left to settle, and did",
    ),
    (
        "cpu.idle_context_switches_per_s",
        "only where the subject was left to settle, and no thread of it ended meanwhile",
    ),
    (
        "requests.idle_writes_per_minute",
        "only where the subject was left to settle, and did",
    ),
    (
        "requests.idle_reads_per_minute",
        "only where the subject was left to settle, and did",
    ),
    (
        "reconcile.max_ms",
        "the highest bucket of its histogram has no upper bound",
    ),
    (
        "reconcile.errors",
        "its error counter is not on its metrics page",
    ),
    ("binary_bytes", "the program was found by its name in PATH"),
    (
        "claims[].measured",
        "not among the sizes and figures of this experiment",
    ),
];

/// All notes, the most important first.
pub fn notes(summary: &Summary, record: &Record) -> Vec<String> {
    let conformance = record.conformance.iter();
    let mut notes: Vec<String> = conformance.filter_map(Conformance::warning).collect();
    notes.extend(missing(record));
    notes.extend(failures(record));
    notes.extend(Timing::says(record.experiment.profile).map(str::to_owned));
    notes.extend(own_objects(record));
    if !record.images.is_empty() {
        notes.push("images are from scratch, of the program alone, packed with zstd -19 (gzip -9 in images.json)".into());
    }
    if record.experiment.overlap > 1 {
        notes.push(format!(
            "up to {} runs were under way at once, each with a control plane of its own: one worked, the subjects of the others were being left alone; PSS divides pages of a program's file among runs of the same program and is therefore lower than alone",
            record.experiment.overlap
        ));
    }
    notes.extend(record.experiment.resumed_at.iter().map(|at| {
        format!("the bench was interrupted and resumed at {at}; finished runs were kept")
    }));
    notes.extend(of_real(summary));
    if record.experiment.origin.environment.control_plane == "kubesim" {
        notes.push("measured against the simulated API server, which answers faster than kube-apiserver; these figures never share a table with those of a real control plane".into());
    }
    if let Some(window) = idle_window(record) {
        notes.push(format!(
            "idle figures come from a window of at least {window:.0} s after settling, scaled to their unit"
        ));
    }
    notes.push("latencies count from the intended send time, which in a burst is its start for every object; those from the actual send are in runs/".into());
    notes.push("drain_s is the time from the first send until the last object is Ready, the readiness delay included; reconcile percentiles are upper bounds of buckets".into());
    notes.extend(kept_pace(record));
    notes.extend(warnings(record));
    notes.extend(nulls(summary));
    notes
}

/// Subjects that were not given EdgeApps.
fn own_objects(record: &Record) -> Vec<String> {
    let subjects = record.experiment.origin.subjects.iter().map(|r| &r.subject);
    let own = subjects.filter_map(|subject| Some((subject, subject.objects.as_ref()?)));
    own.map(|(subject, objects)| {
        let converged = match &subject.convergence.child {
            Some(child) => format!("they count as converged by their {}", child.plural),
            None => "they count as converged by their status".to_owned(),
        };
        format!(
            "{} was given {} of {}/{} of about {} bytes, not EdgeApps, and no conformance check; {converged}",
            subject.id(),
            objects.resource.plural,
            objects.resource.group,
            objects.resource.version,
            objects.object_bytes
        )
    })
    .collect()
}

/// What differs on a control plane that is not embedded.
fn of_real(summary: &Summary) -> Vec<String> {
    if summary.environment.control_plane == "kubesim" {
        return Vec::new();
    }
    let mut notes = Vec::new();
    if summary.environment.control_plane == "existing" {
        notes.push("measured on a cluster that was there already: objects ask for 0 replicas, so that no pods are made; subjects work under the user's own account and see all of the cluster; requests, the API server's CPU and the datastore cannot be read there".into());
    }
    let any = |kind: Kind| {
        let mut runs = summary.subjects.iter().flat_map(|s| &s.runs);
        runs.any(|run| run.cell == kind)
    };
    notes.push(
        "the datastore's size is that of its files, which etcd allocates ahead in pieces of 64 MB"
            .into(),
    );
    if any(Kind::RequestCount) {
        notes.push("requests and write spans come from runs of their own (kind `request-count`) with the audit log on, which slows subjects that send many; a patch counts as an apply when it asks for force; a write span goes from the arrival of the first to the answer to the last write under an object's name, the one that makes it Ready included".into());
    }
    if any(Kind::DefaultFlags) {
        notes.push("runs of kind `default-flags` have the servers' default flags and are in no other table or ratio".into());
    }
    if any(Kind::AA) {
        notes.push("runs of kind `a-a` are a subject measured a second time beside itself; the noise floor of a metric is the 95 % interval of that ratio, and a difference within it, or whose own interval holds 1, is called none".into());
    }
    notes.push("collector pauses are stop-the-world times for garbage collection from the runtime's own histogram: upper bounds of buckets, which Go's metrics library keeps about a factor of 11 apart (0.9, 10.5, 117 ms), so the true pause may be far shorter; their sum is a lower bound".into());
    notes
}

fn missing(record: &Record) -> Option<String> {
    let absent: Vec<String> = record
        .experiment
        .planned
        .iter()
        .filter(|cell| !record.runs.contains_key(cell))
        .map(|c| c.to_string())
        .collect();
    (!absent.is_empty()).then(|| format!("not run: {}", absent.join(", ")))
}

fn failures(record: &Record) -> Vec<String> {
    let failed = record
        .runs
        .values()
        .filter_map(|run| Some((run, run.failure.as_ref()?)));
    failed
        .map(|(run, failure)| format!("failed: {}: {}", run.cell, failure.reason))
        .collect()
}

fn idle_window(record: &Record) -> Option<f64> {
    record
        .runs
        .values()
        .filter_map(|run| Some(run.idle.as_ref()?.window_s))
        .min_by(f64::total_cmp)
}

/// Where creating took most of the time to drain, the subject was not alone the limit.
fn kept_pace(record: &Record) -> Vec<String> {
    let bursts = record
        .runs
        .values()
        .filter(|run| run.cell.kind == Kind::Burst);
    let told = bursts.filter_map(|run| {
        let convergence = run.convergence.as_ref()?;
        let (offer_s, drain_s) = (convergence.offer_s, convergence.drain_s?);
        (offer_s > 0.8 * drain_s).then(|| {
            format!(
                "{}: objects were being created for {offer_s:.1} of the {drain_s:.1} s that it took to drain, so the server and the generator, not the subject alone, were the limit",
                run.cell
            )
        })
    });
    told.collect()
}

fn warnings(record: &Record) -> Vec<String> {
    let all = record
        .runs
        .values()
        .flat_map(|run| run.warnings.iter().map(move |warning| (run, warning)));
    all.map(|(run, warning)| format!("{}: {warning}", run.cell))
        .collect()
}

fn nulls(summary: &Summary) -> Vec<String> {
    // What cannot be serialised has no nulls; the summary always can.
    let summary = serde_json::to_value(summary).unwrap_or_default();
    let failed = has_failed_run(&summary);
    null_paths(&summary)
        .into_iter()
        .map(|(path, times)| format!("null: `{path}` ({times} times): {}", reason(&path, failed)))
        .collect()
}

fn reason(path: &str, failed: bool) -> String {
    let known = REASONS
        .iter()
        .find(|(end, _)| path.ends_with(end))
        .map(|(_, reason)| *reason);
    let reason = match known {
        Some(reason) => reason,
        None if path == "claims[].holds" => "what was not measured neither holds nor fails",
        None if path.starts_with("environment.") => "this machine does not say",
        None if path.contains("runs[]") => {
            "nothing to measure with 0 objects, or the subject does not offer it"
        }
        None => "not given",
    };
    if failed && path.contains("runs[]") {
        format!("{reason}; or its run failed before")
    } else {
        reason.into()
    }
}

fn has_failed_run(summary: &Value) -> bool {
    let runs = summary["subjects"].as_array().into_iter().flatten();
    runs.flat_map(|s| s["runs"].as_array().into_iter().flatten())
        .any(|run| run["valid"] == false)
}

/// Paths of all nulls, array indices left out, with how often each occurs.
pub fn null_paths(value: &Value) -> BTreeMap<String, usize> {
    fn walk(value: &Value, path: &str, found: &mut BTreeMap<String, usize>) {
        match value {
            Value::Null => *found.entry(path.to_owned()).or_default() += 1,
            Value::Array(items) => items
                .iter()
                .for_each(|item| walk(item, &format!("{path}[]"), found)),
            Value::Object(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                fields
                    .iter()
                    .for_each(|(key, value)| walk(value, &format!("{path}{dot}{key}"), found));
            }
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    walk(value, "", &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_null_is_found_by_its_path() {
        let value = json!({"a": null, "b": [{"c": null}, {"c": 1}, {"c": null}]});
        assert_eq!(
            null_paths(&value),
            BTreeMap::from([("a".into(), 1), ("b[].c".into(), 2)])
        );
    }

    #[test]
    fn every_reason_is_reachable() {
        for (index, (end, _)) in REASONS.iter().enumerate() {
            let first = REASONS.iter().position(|(other, _)| end.ends_with(other));
            assert_eq!(first, Some(index), "{end} is hidden by an earlier row");
        }
    }
}
