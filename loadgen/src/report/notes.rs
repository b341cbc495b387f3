//! What a reader must know: why figures are missing, what was short, what went wrong.
//!
//! Guarantees: every `null` of the summary is named here by its path, and every figure that some of its runs do not have,
//! with a reason; a reason is told once. Leaves to others: how the notes are shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::metric;
use crate::metric::{Metric, Source};
use crate::plan::cell::Kind;
use crate::plan::profile::Timing;
use crate::record::Record;
use crate::record::conformance::Conformance;
use crate::record::summary::{Run, Summary};
use crate::report::circumstances::missing;
use crate::report::rows::sizes_of;
use crate::report::{Block, Section, prose};
use crate::spec::bystanders;
use crate::spec::workload::{Resource, mix};

/// How notes begin on what is `null` in the summary, on figures that some runs do not have, and on runs that failed.
const NULL: &str = "null: ";
const NOT_MEASURED: &str = "not measured: ";
const FAILED: &str = "failed: ";

/// Without what is for programs, and without runs that failed: these have a section of their own.
pub fn section(summary: &Summary) -> Option<Section> {
    let elsewhere = [NULL, NOT_MEASURED, FAILED];
    let is_here = |note: &&String| !elsewhere.iter().any(|begin| note.starts_with(begin));
    let notes: Vec<String> = summary.notes.iter().filter(is_here).cloned().collect();
    let list = (!notes.is_empty()).then_some(Block::List(notes));
    Section::of("notes", "Notes", list.into_iter().collect())
}

/// What the report does not say: a line for each kind of reason, with one of its figures. All are in `summary.json`.
pub fn not_measured(summary: &Summary) -> Option<Section> {
    let (_, kinds) = kinds(summary);
    let mut lines = vec![
        "memory of the datastore, other processors than that of this machine, pods and nodes"
            .into(),
    ];
    if summary.environment.control_plane == "kubesim" {
        lines.push("a real control plane: --control-plane kube".to_owned());
    }
    if summary.comparisons.iter().all(|c| c.ci95.is_none()) {
        lines.push("confidence intervals: --repeats 2 or more".to_owned());
    }
    if !kinds.is_empty() {
        lines.push(format!("runs of the kinds {}", kinds.join(", ")));
    }
    let missing = without_figures(summary).into_iter();
    lines.extend(missing.map(|(why, figures)| {
        let others = match figures.len() {
            0 | 1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        format!("{}{others}: {why}", figures[0].label)
    }));
    Section::of(
        "not-measured",
        "What was not measured",
        vec![Block::List(lines)],
    )
}

/// All notes, the most important first.
pub fn notes(summary: &Summary, record: &Record) -> Vec<String> {
    let experiment = &record.experiment;
    let (origin, scenario) = (&experiment.origin, &experiment.origin.scenario);
    let runs = record.runs.values();
    let idle_s = runs
        .clone()
        .filter_map(|run| Some(run.idle.as_ref()?.window_s));
    let idle_s = idle_s
        .min_by(f64::total_cmp)
        .map(|window_s| format!("{window_s:.0}"));
    let runs = runs.map(|run| json!({ "cell": run.cell.to_string(), "of": run }));
    let parts = scenario.parts().map(|part| {
        json!({ "share": part.share, "kinds": part.resource.kinds(), "bytes": part.object_bytes })
    });
    let own_objects = origin.subjects.iter().filter_map(|record| {
        let (subject, objects) = (&record.subject, record.subject.objects.as_ref()?);
        let Resource {
            plural,
            group,
            version,
            ..
        } = &objects.resource;
        let child = subject
            .convergence
            .child
            .as_ref()
            .map(|child| &child.plural);
        let resource = format!("{plural} of {group}/{version}");
        Some(json!({ "subject": subject.id(), "resource": resource, "bytes": objects.object_bytes, "child": child }))
    });
    let children = scenario
        .children
        .iter()
        .map(|kind| format!("{}s", kind.kind));
    let kinds_of_parts = scenario.parts().map(|part| part.resource.kinds());
    let all_kinds = mix::list(kinds_of_parts.chain(children));
    let foreign = &experiment.bystanders;
    let foreign = (!foreign.is_empty()).then(|| bystanders::text(foreign));
    let (run_kinds, _) = kinds(summary);
    let not_measured = without_figures(summary).into_iter();
    let not_measured = not_measured
        .map(|(why, figures)| named(figures.iter().map(|metric| metric.id.as_str()), why));
    prose::sentences(
        "notes",
        json!({
            "conformance": record.conformance.iter().filter_map(Conformance::warning).collect::<Vec<_>>(),
            "not_run": missing(record).iter().map(ToString::to_string).collect::<Vec<_>>(),
            "runs": runs.collect::<Vec<_>>(), "profile": Timing::says(experiment.profile),
            "parts": parts.collect::<Vec<_>>(), "own_objects": own_objects.collect::<Vec<_>>(),
            "kinds": scenario.kinds(), "foreign": foreign,
            "bounds": (!experiment.bounds.are_none()).then(|| experiment.bounds.to_string()),
            "has_images": !record.images.is_empty(), "overlap": experiment.overlap,
            "resumed_at": experiment.resumed_at, "control_plane": origin.environment.control_plane,
            "run_kinds": run_kinds, "idle_s": idle_s, "all_kinds": all_kinds, "restarts": experiment.asked.restarts, "not_measured": not_measured.collect::<Vec<_>>(),
            "nulls": nulls(summary),
        }),
    )
}

/// The names of the kinds of runs that there are, and of the others.
fn kinds(summary: &Summary) -> (Vec<&'static str>, Vec<&'static str>) {
    let is_there = |kind: &&Kind| !sizes_of(summary, &[**kind]).is_empty();
    let (there, others): (Vec<Kind>, Vec<Kind>) = Kind::ALL.iter().partition(is_there);
    let names = |kinds: Vec<Kind>| kinds.into_iter().map(Kind::name).collect();
    (names(there), names(others))
}

/// Figures that some of their runs do not have, by the reason.
fn without_figures(summary: &Summary) -> Vec<(&'static str, Vec<&'static Metric>)> {
    let runs: Vec<&Run> = summary.subjects.iter().flat_map(|s| &s.runs).collect();
    let mut missing: Vec<(&str, Vec<&Metric>)> = Vec::new();
    let of_runs = metric::all()
        .iter()
        .filter(|metric| !matches!(metric.source, Source::Verbs));
    for metric in of_runs {
        let mut own = runs.iter().filter(|run| metric.kinds.contains(&run.cell));
        if own.all(|run| run.value(&metric.id).is_some()) {
            continue;
        }
        match missing.iter_mut().find(|(why, _)| *why == metric.missing) {
            Some((_, figures)) => figures.push(metric),
            None => missing.push((metric.missing, vec![metric])),
        }
    }
    missing
}

fn nulls(summary: &Summary) -> Vec<String> {
    // What cannot be serialised has no nulls; the summary always can.
    let summary = serde_json::to_value(summary).unwrap_or_default();
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in null_paths(&summary) {
        by_reason.entry(reason(&path)).or_default().push(path);
    }
    let notes = by_reason.iter();
    notes
        .map(|(why, paths)| named(paths.iter().map(String::as_str), why))
        .collect()
}

/// Names with their reason.
fn named<'a>(names: impl Iterator<Item = &'a str>, why: &str) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("{}: {why}", names.join(", "))
}

/// Why something in a summary is `null`, by how its path ends: a line each.
fn reasons() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("prose/null.txt")
        .lines()
        .filter_map(|line| line.split_once(": "))
}

/// The first that fits.
fn reason(path: &str) -> &'static str {
    match reasons().find(|(end, _)| path.ends_with(end)) {
        Some((_, reason)) => reason,
        None if path.starts_with("environment.") => "the machine does not tell",
        None => "not specified",
    }
}

/// Paths of all nulls, array indices left out.
pub fn null_paths(value: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Null => drop(found.insert(path.to_owned())),
            Value::Array(items) => items
                .iter()
                .for_each(|item| walk(item, &format!("{path}[]"), found)),
            Value::Object(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                let fields = fields.iter();
                fields.for_each(|(key, value)| walk(value, &format!("{path}{dot}{key}"), found));
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
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
            BTreeSet::from(["a".into(), "b[].c".into()])
        );
    }

    #[test]
    fn every_reason_is_reachable() {
        for (index, (end, _)) in reasons().enumerate() {
            let first = reasons().position(|(other, _)| end.ends_with(other));
            assert_eq!(first, Some(index), "{end} is hidden by an earlier row");
        }
        assert_eq!(
            reasons().count(),
            include_str!("prose/null.txt").lines().count()
        );
    }
}
