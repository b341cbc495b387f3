//! What a reader must know: why figures are missing, what was short, what went wrong.
//!
//! Guarantees: every `null` of the summary is named here by its path, and every figure that some of its runs do not have,
//! with a reason. Leaves to others: how the notes are shown.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::metric;
use crate::metric::Source;
use crate::model::bystanders;
use crate::model::bystanders::Bystanders;
use crate::model::cell::Kind;
use crate::model::conformance::Conformance;
use crate::model::profile::Timing;
use crate::model::record::Record;
use crate::model::summary::{Run, Summary};
use crate::model::workload::mix;
use crate::report::restarts;

mod reasons;

/// How notes begin on what is `null` in the summary, and on figures that some runs do not have.
const NULL: &str = "null: ";
const NOT_MEASURED: &str = "not measured: ";

/// Whether a note is about one name in the files of the folder: nothing for the first look.
pub fn is_for_a_program(note: &str) -> bool {
    note.starts_with(NULL) || note.starts_with(NOT_MEASURED)
}

use reasons::REASONS;

/// All notes, the most important first.
pub fn notes(summary: &Summary, record: &Record) -> Vec<String> {
    let conformance = record.conformance.iter();
    let mut notes: Vec<String> = conformance.filter_map(Conformance::warning).collect();
    notes.extend(missing(record));
    notes.extend(failures(record));
    notes.extend(Timing::says(record.experiment.profile).map(str::to_owned));
    notes.extend(several_kinds(record));
    notes.extend(own_objects(record));
    notes.extend(foreign_objects(&record.experiment.bystanders));
    if !record.images.is_empty() {
        notes.push("an image holds the program only; packed size is with zstd -19 (gzip -9 is in images.json)".into());
    }
    if record.experiment.overlap > 1 {
        notes.push(format!(
            "idle phases of up to {} runs overlapped; each run had its own control plane, and only one worked at a time; PSS divides file pages among overlapping runs of the same program, so it is lower than for a single process",
            record.experiment.overlap
        ));
    }
    notes.extend(record.experiment.resumed_at.iter().map(|at| {
        format!("the bench was interrupted and resumed at {at}; finished runs were kept")
    }));
    notes.extend(of_real(summary));
    if record.experiment.origin.environment.control_plane == "kubesim" {
        notes.push("measured against the simulated API server, which answers faster than kube-apiserver; do not compare these figures with those of a real control plane".into());
    }
    if let Some(window) = idle_window(record) {
        notes.push(format!(
            "idle figures are measured for at least {window:.0} s after settling and scaled to their unit"
        ));
    }
    notes.push("latencies count from the intended send time; in a burst that is the start of the burst for every object; latencies from the actual send are in runs/".into());
    notes.push("time to drain is from the first send until the last object is Ready and includes the readiness delay; reconcile percentiles are upper bounds of histogram buckets".into());
    notes.extend(restarts::notes(record));
    notes.extend(kept_pace(record));
    notes.extend(warnings(record));
    notes.extend(not_measured(summary));
    notes.extend(nulls(summary));
    notes
}

/// Workloads of several kinds.
fn several_kinds(record: &Record) -> Option<String> {
    let scenario = &record.experiment.origin.scenario;
    let all: usize = scenario.parts().map(|part| part.share).sum();
    let kinds = scenario.parts().map(|part| {
        let (kind, bytes) = (part.resource.kinds(), part.object_bytes);
        format!("{} of {all} {kind} of {bytes} bytes", part.share)
    });
    (!scenario.also.is_empty()).then(|| {
        format!(
            "the objects are of several kinds in turn: {}; a figure per object is one per object of any kind",
            mix::list(kinds)
        )
    })
}

/// Objects that are not the subjects'.
fn foreign_objects(all: &[Bystanders]) -> Option<String> {
    (!all.is_empty()).then(|| {
        format!(
            "foreign objects ({}) are there in every run before the subject starts: memory is measured with them, also at the start",
            bystanders::text(all)
        )
    })
}

/// Subjects that manage another kind than that of the experiment.
fn own_objects(record: &Record) -> Vec<String> {
    let others = record.experiment.origin.scenario.kinds();
    let subjects = record.experiment.origin.subjects.iter().map(|r| &r.subject);
    let own = subjects.filter_map(|subject| Some((subject, subject.objects.as_ref()?)));
    own.map(|(subject, objects)| {
        let converged = match &subject.convergence.child {
            Some(child) => format!("they are converged when their {} are ready", child.plural),
            None => "they are converged when their status says so".to_owned(),
        };
        format!(
            "{} manages {} of {}/{} of about {} bytes in place of {others}, without a conformance check; {converged}",
            subject.id(),
            objects.resource.plural,
            objects.resource.group,
            objects.resource.version,
            objects.object_bytes
        )
    })
    .collect()
}

/// What a reader must know about runs on a real control plane.
fn of_real(summary: &Summary) -> Vec<String> {
    if summary.environment.control_plane == "kubesim" {
        return Vec::new();
    }
    let mut notes = Vec::new();
    if summary.environment.control_plane == "existing" {
        notes.push("measured on an existing cluster: objects ask for 0 replicas, so that no pods start; subjects use the user's own account and see the whole cluster; requests, CPU of the API server and the datastore cannot be measured there".into());
    }
    let any = |kind: Kind| {
        let mut runs = summary.subjects.iter().flat_map(|s| &s.runs);
        runs.any(|run| run.cell == kind)
    };
    notes.push(
        "datastore size is the size of its files; etcd allocates them ahead in steps of 64 MB"
            .into(),
    );
    if any(Kind::RequestCount) {
        notes.push("requests and write spans come from `request-count` runs, which have the audit log on; the log slows subjects that send many requests, so other figures of these runs are not used; a patch with force counts as an apply; a write span lasts from the arrival of the first write of an object to the answer to the last, including the one that sets Ready".into());
    }
    if any(Kind::DefaultFlags) {
        notes.push("`default-flags` runs use the servers' default flags; they are in no other table and no ratio".into());
    }
    if any(Kind::DrainAa) || any(Kind::MemoryAa) {
        notes.push("`drain-aa` and `memory-aa` runs measure one subject a second time in every repeat (A/A); the noise floor of a metric is the 95 % interval of that ratio; a difference within it, or whose own interval contains 1, is not significant".into());
    }
    notes.push("garbage collection pauses are stop-the-world times from the runtime's own histogram, given as upper bounds of its buckets; Go's buckets are a factor of 11 apart (0.9, 10.5, 117 ms), so a true pause may be much shorter; the total is a lower bound".into());
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

/// Where creating took most of the time to drain, the subject was not the only limit.
fn kept_pace(record: &Record) -> Vec<String> {
    let bursts = record
        .runs
        .values()
        .filter(|run| run.cell.kind == Kind::Drain);
    let notes = bursts.filter_map(|run| {
        let convergence = run.convergence.as_ref()?;
        let (offer_s, drain_s) = (convergence.offer_s, convergence.drain_s?);
        (offer_s > 0.8 * drain_s).then(|| {
            format!(
                "{}: creating the objects took {offer_s:.1} of the {drain_s:.1} s until all were Ready, so the API server and the generator limited the time to drain, too",
                run.cell
            )
        })
    });
    notes.collect()
}

fn warnings(record: &Record) -> Vec<String> {
    let all = record
        .runs
        .values()
        .flat_map(|run| run.warnings.iter().map(move |warning| (run, warning)));
    all.map(|(run, warning)| format!("{}: {warning}", run.cell))
        .collect()
}

/// Figures that some of their runs do not have: a note for each reason.
fn not_measured(summary: &Summary) -> Vec<String> {
    let runs: Vec<&Run> = summary.subjects.iter().flat_map(|s| &s.runs).collect();
    let mut missing: Vec<(&str, Vec<String>)> = Vec::new();
    for metric in metric::all()
        .iter()
        .filter(|metric| !matches!(metric.source, Source::Verbs))
    {
        let own = || runs.iter().filter(|run| metric.kinds.contains(&run.cell));
        let (all, without) = (
            own().count(),
            own().filter(|run| run.value(&metric.id).is_none()).count(),
        );
        if without == 0 {
            continue;
        }
        let told = format!("`{}` ({without} of {all} runs)", metric.id);
        match missing.iter_mut().find(|(why, _)| *why == metric.missing) {
            Some((_, figures)) => figures.push(told),
            None => missing.push((metric.missing, vec![told])),
        }
    }
    let failed = match runs.iter().any(|run| !run.valid) {
        true => "; or the run failed before",
        false => "",
    };
    let notes = missing.iter().map(|(why, figures)| {
        let figures = figures.join(", ");
        format!("{NOT_MEASURED}{figures}: {why}{failed}")
    });
    notes.collect()
}

fn nulls(summary: &Summary) -> Vec<String> {
    // What cannot be serialised has no nulls; the summary always can.
    let summary = serde_json::to_value(summary).unwrap_or_default();
    let nulls = null_paths(&summary).into_iter();
    nulls
        .map(|(path, times)| format!("{NULL}`{path}` ({times} times): {}", reason(&path)))
        .collect()
}

fn reason(path: &str) -> &'static str {
    match REASONS.iter().find(|(end, _)| path.ends_with(end)) {
        Some((_, reason)) => reason,
        None if path.starts_with("environment.") => "the machine does not tell",
        None => "not specified",
    }
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
    fn memory_with_foreign_objects_is_said_to_be_so() {
        assert_eq!(foreign_objects(&[]), None);
        let all = bystanders::parse("secrets=3").expect("valid");
        let note = foreign_objects(&all).expect("a note");
        assert!(note.starts_with("foreign objects (secrets=3)"), "{note}");
    }

    #[test]
    fn every_reason_is_reachable() {
        for (index, (end, _)) in REASONS.iter().enumerate() {
            let first = REASONS.iter().position(|(other, _)| end.ends_with(other));
            assert_eq!(first, Some(index), "{end} is hidden by an earlier row");
        }
    }
}
