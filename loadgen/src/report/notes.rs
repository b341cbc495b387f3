//! What a reader must know: why figures are missing, what was short, what went wrong.
//!
//! Guarantees: every `null` of the summary is named here by its path, with a reason. Leaves to
//! others: how the notes are shown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::summary::Summary;
use crate::conformance::Conformance;
use crate::experiment::order::Kind;
use crate::record::{Record, Settle};

/// Why a figure is null, by how its path ends; the first that fits.
const REASONS: [(&str, &str); 24] = [
    ("noise_floor", "no subject was measured against itself"),
    ("beyond_noise", "there is no noise floor to compare with"),
    (
        "comparisons[].ci95",
        "an interval needs two pairs; use --repeats",
    ),
    (
        "bytes_per_object.ci95",
        "an interval needs three sizes or repeats",
    ),
    (
        "bytes_per_object",
        "a slope needs settled memory at two sizes",
    ),
    ("image_bytes_compressed", "this bench builds no image"),
    ("image_bytes_unpacked", "this bench builds no image"),
    (
        "cgroup_peak_bytes",
        "subjects run without a cgroup of their own",
    ),
    (
        "write_span",
        "needs an audit log, which the embedded server does not write",
    ),
    (
        "datastore",
        "the embedded server keeps its objects in memory",
    ),
    ("gc_pause", "no garbage collector, or none that is read yet"),
    ("memory.burst", "only where objects are offered as a burst"),
    (
        "memory.churn",
        "measured with --settle full, in the burst at the largest size",
    ),
    (
        "memory.deleted",
        "measured in the burst at the largest size; with more than 1,000 objects only with --settle full",
    ),
    (
        "memory.restart",
        "measured in the burst at the largest size",
    ),
    ("cpu.restart_s", "measured in the burst at the largest size"),
    (
        "memory.settled",
        "a steady cell of the quick mode is not left to settle",
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
];

/// All notes, the most important first.
pub fn notes(summary: &Summary, record: &Record) -> Vec<String> {
    let conformance = record.conformance.iter();
    let mut notes: Vec<String> = conformance.filter_map(Conformance::remark).collect();
    notes.extend(missing(record));
    notes.extend(failures(record));
    if record.experiment.settle == Settle::Quick {
        notes.push("quick mode: a subject is weighed after 10 s without events (empty 1 s, restarted 4 s, all deleted 2 s), not after 150 s; caches and allocators may still give memory back later".into());
    }
    if record.experiment.control_plane == "embedded" {
        notes.push("measured against the embedded API server, which answers faster than kube-apiserver; these figures never share a table with those of a real control plane".into());
    }
    if let Some(window) = idle_window(record) {
        notes.push(format!(
            "idle figures come from a window of {window:.0} s after settling, scaled to their unit"
        ));
    }
    notes.push("latencies count from the intended send time, which in a burst is its start for every object; those from the actual send are in runs/".into());
    notes.push("drain_s is the time from the first send until the last object is Ready, the readiness delay included; reconcile percentiles are upper bounds of buckets".into());
    notes.extend(kept_pace(record));
    notes.extend(remarks(record));
    notes.extend(nulls(summary));
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

fn remarks(record: &Record) -> Vec<String> {
    let all = record
        .runs
        .values()
        .flat_map(|run| run.remarks.iter().map(move |remark| (run, remark)));
    all.map(|(run, remark)| format!("{}: {remark}", run.cell))
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

/// Paths of all nulls, array indices left out, with how often each occurs. A valid run's
/// `invalid_reason` is no missing figure.
pub fn null_paths(value: &Value) -> BTreeMap<String, usize> {
    fn walk(value: &Value, path: &str, found: &mut BTreeMap<String, usize>) {
        match value {
            Value::Null if !path.ends_with("invalid_reason") => {
                *found.entry(path.to_owned()).or_default() += 1
            }
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
        let value =
            json!({"a": null, "b": [{"c": null}, {"c": 1}, {"c": null}], "invalid_reason": null});
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
