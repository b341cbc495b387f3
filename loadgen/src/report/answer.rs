//! The answer that opens a report: which operator to run on a small node, how sure that is, and what the largest size says.
//!
//! Guarantees: speaks of valid runs and of sizes that were measured only, and says so where there are none; the peak is
//! that of the worst run. Leaves to others: sizing in general (`sizing`).

use serde_json::json;

use crate::metric;
use crate::plan::cell::Kind;
use crate::record::Record;
use crate::record::summary::{Comparison, OnSmallNode, SmallNode, Subject, Summary};
use crate::report::rows::{
    CPU, DRAIN, PEAK, Row, SETTLED, WRITES, largest_of, typical, with_unsettled,
};
use crate::report::table::{Table, figure, grouped, mb};
use crate::report::{Block, Section, prose, work};
use crate::spec::subject::built_in;

/// Memory of the node: 512 MiB.
const NODE_BYTES: u64 = 512 << 20;
/// Objects on it.
const OBJECTS: usize = 3_000;
/// Any of these may be the highest until it has settled; a restart is told apart.
const PEAKS: [&str; 5] = [
    "memory.burst.peak_bytes",
    PEAK,
    SETTLED,
    "memory.settled.cgroup.peak_bytes",
    "memory.burst.cgroup.peak_bytes",
];

pub fn section(summary: &Summary, record: &Record) -> Option<Section> {
    let mut blocks = vec![Block::Sentences(sentences(summary))];
    let operators = operators(record);
    if !operators.is_empty() {
        blocks.push(Block::Facts(operators));
    }
    let node = summary.small_node.as_ref();
    blocks.extend(node.map(|node| Block::Table(table(node))));
    Section::of("answer", "Which operator for a node with 512 MiB?", blocks)
}

/// Which one takes the least of a small node, what a restart takes beyond, and what the largest size says of memory, or
/// else of the time to drain.
fn sentences(summary: &Summary) -> Vec<String> {
    let node = summary.small_node.as_ref();
    let operators = node.iter().flat_map(|node| &node.operators);
    let mut ranked: Vec<&OnSmallNode> = operators.filter(|o| o.peak_bytes.is_some()).collect();
    ranked
        .sort_by(|a, b| f64::total_cmp(&a.peak_bytes.unwrap_or(0.0), &b.peak_bytes.unwrap_or(0.0)));
    let restarted = summary.subjects.iter().filter_map(|subject| {
        let runs = subject.runs.iter().filter(|run| run.valid);
        let peaks =
            runs.filter_map(|run| Some((run.value("memory.restart.peak_bytes")?, run.objects)));
        let (bytes, objects) = peaks.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(json!({ "subject": subject.id(), "bytes": bytes, "objects": objects }))
    });
    let leads = [(SETTLED, "settles at", "MB RSS"), (DRAIN, "drains in", "s")];
    let lead = leads.iter().find_map(|(name, verb, unit)| {
        let row = Row::named(name)?;
        let objects = largest_of(summary, row.kind?)?;
        let known = |subject: &Subject| Some((subject.id(), row.value(subject, objects)?));
        let each: Vec<(String, f64)> = summary.subjects.iter().filter_map(known).collect();
        Some((
            row,
            objects,
            json!({ "verb": verb, "unit": unit, "objects": objects, "each": each }),
        ))
    });
    let pair = lead.as_ref().and_then(|(row, objects, _)| {
        let lead = compared(summary, row.name()).find(|c| c.objects == *objects)?;
        let (subject, against) = (&lead.subject, &lead.against);
        let words = [
            (SETTLED, "settled RSS"),
            (DRAIN, "time to drain"),
            (CPU, "CPU"),
            (WRITES, "writes"),
        ];
        let parts = words.iter().filter_map(|(name, words)| {
            let of_pair =
                compared(summary, name).find(|c| c.subject == *subject && c.against == *against)?;
            Some(format!("{} times the {words}", work::ratio(of_pair)))
        });
        Some(json!({ "subject": subject, "against": against, "parts": parts.collect::<Vec<_>>() }))
    });
    prose::sentences(
        "answer",
        json!({
            "node": node, "ranked": ranked, "pair": pair, "restarted": restarted.collect::<Vec<_>>(),
            "lead": lead.map(|(_, _, lead)| lead), "of_several_workloads": summary.is_of_several_workloads(),
            "subjects": summary.subjects.len(),
        }),
    )
}

/// The comparisons of a figure.
fn compared<'a>(summary: &'a Summary, name: &'a str) -> impl Iterator<Item = &'a Comparison> {
    let all = summary.comparisons.iter();
    all.filter(move |comparison| comparison.metric == name)
}

/// What the operators take of a small node; `None` without memory runs.
pub fn small_node(subjects: &[Subject]) -> Option<SmallNode> {
    let runs = subjects.iter().flat_map(|subject| &subject.runs);
    let of_memory = runs.filter(|run| run.cell == Kind::Memory && run.objects > 0);
    let sizes: Vec<usize> = of_memory.map(|run| run.objects).collect();
    let enough = sizes.iter().copied().filter(|size| *size >= OBJECTS).min();
    let measured_objects = enough.or(sizes.into_iter().max())?;
    let operators = subjects.iter().map(|subject| {
        let valid = || subject.valid_runs(Kind::Memory, measured_objects);
        let peak_bytes = subject.largest(Kind::Memory, measured_objects, &PEAKS);
        let unsettled = valid().filter(|run| metric::did_not_settle(run, SETTLED));
        OnSmallNode {
            subject: subject.id(),
            runs: valid().count(),
            did_not_settle: unsettled.count(),
            settled_bytes: typical(subject, Kind::Memory, measured_objects, SETTLED),
            peak_bytes,
            peak_share: peak_bytes.map(|bytes| bytes / NODE_BYTES as f64),
        }
    });
    Some(SmallNode {
        node_bytes: NODE_BYTES,
        objects: OBJECTS,
        measured_objects,
        operators: operators.collect(),
    })
}

/// What each operator is, by its name: as its file says, or that of the subject that comes with loadgen.
fn operators(record: &Record) -> Vec<(String, String)> {
    let shipped = built_in().unwrap_or_default();
    let subjects = record.experiment.origin.subjects.iter();
    let described = subjects.filter_map(|subject| {
        let id = subject.subject.id();
        let same = shipped.iter().find(|one| one.id() == id);
        let own = subject.subject.description.as_ref();
        let words = own.or_else(|| same?.description.as_ref())?;
        Some((id, words.clone()))
    });
    described.collect()
}

fn table(node: &SmallNode) -> Table {
    let settled = |operator: &OnSmallNode| {
        let settled = mb(operator.settled_bytes);
        with_unsettled(settled, operator.did_not_settle, operator.runs)
    };
    let percent = |operator: &OnSmallNode| figure(operator.peak_share.map(|share| share * 100.0));
    Table::of(
        format!(
            "On a node with 512 MiB, at {} objects",
            grouped(node.measured_objects)
        ),
        &node.operators,
        &[
            ("", &|operator| operator.subject.clone()),
            ("valid runs", &|operator| operator.runs.to_string()),
            ("RSS settled, MB (median)", &settled),
            ("highest until settled, MB (RSS or cgroup)", &|operator| {
                mb(operator.peak_bytes)
            }),
            ("of 512 MiB, %", &percent),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::{Run, sample};

    fn answer(summary: &Summary) -> String {
        sentences(summary).join(" ")
    }

    fn conclusion(summary: &Summary) -> String {
        sentences(summary).pop().unwrap_or_default()
    }

    #[test]
    fn one_operator_alone_is_not_the_least_of_several() {
        let run = Run::without_figures(Kind::Memory, 500, 1, vec![]);
        let mut summary = sample(vec![run.with(SETTLED, 4e6)]);
        summary.small_node = small_node(&summary.subjects);
        let said = answer(&summary);
        let want = "tare/none: with 500 objects it peaked at 4.00 MB in one run, which is 0.75 % of a node with 512 MiB, ";
        assert!(said.starts_with(want), "{said}");
        let mut other = summary.subjects[0].clone();
        other.variant = "other".into();
        summary.subjects.push(other);
        summary.small_node = small_node(&summary.subjects);
        let said = answer(&summary);
        assert!(
            said.starts_with("tare/none takes the least memory:"),
            "{said}"
        );
        for (subject, workload) in summary.subjects.iter_mut().zip(["widgets", "gadgets"]) {
            subject.workload = Some(workload.into());
        }
        let said = answer(&summary);
        assert!(
            said.starts_with("The operators do different work"),
            "{said}"
        );
    }

    #[test]
    fn a_bench_without_memory_runs_ends_with_its_time_to_drain() {
        let said = conclusion(&sample(vec![]));
        assert_eq!(said, "No result: nothing was measured.");
        let run = Run::without_figures(Kind::Drain, 500, 1, vec![]);
        let said = conclusion(&sample(vec![run.clone()]));
        assert_eq!(
            said,
            "No result: no subject has a valid run at 500 objects."
        );
        let said = conclusion(&sample(vec![run.with(DRAIN, 12.5)]));
        assert_eq!(said, "At 500 objects tare/none drains in 12.5 s.");
    }

    #[test]
    fn two_subjects_are_compared_where_a_pair_is_valid_and_their_work_is_the_same() {
        let run = Run::without_figures(Kind::Memory, 500, 1, vec![]);
        let mut summary = sample(vec![run.with(SETTLED, 4e6)]);
        let said = conclusion(&summary);
        assert_eq!(said, "At 500 objects tare/none settles at 4.00 MB RSS.");
        let mut other = summary.subjects[0].clone();
        other.variant = "other".into();
        summary.subjects.push(other);
        let said = conclusion(&summary);
        assert!(
            said.ends_with("; there is no valid pair of subjects to compare."),
            "{said}"
        );
        for (subject, workload) in summary.subjects.iter_mut().zip(["widgets", "gadgets"]) {
            subject.workload = Some(workload.into());
        }
        let said = conclusion(&summary);
        assert!(said.ends_with("; they do different work."), "{said}");
        let compared = crate::metric::compare::comparisons(&summary, &[]);
        assert!(compared.is_empty(), "{compared:?}");
    }
}
