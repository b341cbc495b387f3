//! Which operator to run on a small node: the answer that opens a report.
//!
//! Guarantees: only sizes that were measured, nothing is interpolated; the peak is that of the worst run.
//! Leaves to others: sizing in general (`sizing`).

use crate::metric;
use crate::metric::statistics::median;
use crate::model::cell::Kind;
use crate::model::summary::{OnSmallNode, Run, SmallNode, Subject, Summary};
use crate::report::rows;
use crate::report::table::{Table, figure, grouped};

/// Memory of the node: 512 MiB.
const NODE_BYTES: u64 = 512 << 20;
/// Objects on it.
const OBJECTS: usize = 3_000;
const SETTLED: &str = "memory.settled.rss_bytes";
/// Any of these may be the highest until it has settled; a restart is told apart.
const PEAKS: [&str; 5] = [
    "memory.burst.peak_bytes",
    "memory.settled.peak_bytes",
    "memory.settled.rss_bytes",
    "memory.settled.cgroup.peak_bytes",
    "memory.burst.cgroup.peak_bytes",
];

/// `None` without memory runs.
pub fn answer(subjects: &[Subject]) -> Option<SmallNode> {
    let runs = subjects.iter().flat_map(|subject| &subject.runs);
    let of_memory = runs.filter(|run| run.cell == Kind::Memory && run.objects > 0);
    let sizes: Vec<usize> = of_memory.map(|run| run.objects).collect();
    let enough = sizes.iter().copied().filter(|size| *size >= OBJECTS).min();
    let measured_objects = enough.or(sizes.into_iter().max())?;
    Some(SmallNode {
        node_bytes: NODE_BYTES,
        objects: OBJECTS,
        measured_objects,
        operators: subjects
            .iter()
            .map(|s| operator(s, measured_objects))
            .collect(),
    })
}

fn operator(subject: &Subject, objects: usize) -> OnSmallNode {
    let valid = subject
        .runs_of(Kind::Memory, objects)
        .filter(|run| run.valid);
    let valid: Vec<&Run> = valid.collect();
    let settled: Vec<f64> = valid.iter().filter_map(|run| run.value(SETTLED)).collect();
    let peaks = valid
        .iter()
        .flat_map(|run| PEAKS.iter().filter_map(|path| run.value(path)));
    let peak_bytes = peaks.reduce(f64::max);
    OnSmallNode {
        subject: subject.id(),
        runs: valid.len(),
        did_not_settle: valid
            .iter()
            .filter(|run| metric::did_not_settle(run, SETTLED))
            .count(),
        settled_bytes: median(&settled),
        peak_bytes,
        peak_share: peak_bytes.map(|bytes| bytes / NODE_BYTES as f64),
    }
}

/// The answer in a few sentences: which one, how sure that is, and what it does not say.
pub fn sentences(summary: &Summary) -> Vec<String> {
    let Some(node) = &summary.small_node else {
        return vec![
            "This bench measured no memory, so it does not say which operator fits a small node."
                .into(),
        ];
    };
    let mut measured: Vec<&OnSmallNode> = node
        .operators
        .iter()
        .filter(|o| o.peak_bytes.is_some())
        .collect();
    measured.sort_by(|a, b| {
        a.peak_bytes
            .partial_cmp(&b.peak_bytes)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some((least, others)) = measured.split_first() else {
        return vec![format!(
            "No operator has a valid memory run at {} objects, so there is no answer.",
            grouped(node.measured_objects)
        )];
    };
    let mb = |bytes: Option<f64>| figure(bytes.map(|bytes| bytes / 1e6));
    let percent = |share: Option<f64>| figure(share.map(|share| share * 100.0));
    if summary.is_of_several_workloads() {
        let mut said =
            vec!["The operators do different work, so none is ahead of another.".to_owned()];
        said.extend(restarts(summary));
        return said;
    }
    let mut said = vec![format!(
        "{}{}: with {} objects it peaked at {} MB{}, which is {} % of a node with 512 MiB, and settled at {} MB.",
        least.subject,
        match node.operators.len() {
            1 => "",
            _ => " takes the least memory",
        },
        grouped(node.measured_objects),
        mb(least.peak_bytes),
        match least.runs {
            1 => " in one run".to_owned(),
            runs => format!(" in the worst of {runs} runs"),
        },
        percent(least.peak_share),
        mb(least.settled_bytes),
    )];
    if let Some(next) = others.first() {
        let most = others.last().unwrap_or(next);
        said.push(match others.len() {
            1 => format!(
                "{} peaked at {} MB ({} %) and settled at {} MB.",
                next.subject,
                mb(next.peak_bytes),
                percent(next.peak_share),
                mb(next.settled_bytes)
            ),
            _ => format!(
                "The others peaked at {} MB ({}) to {} MB ({}).",
                mb(next.peak_bytes),
                next.subject,
                mb(most.peak_bytes),
                most.subject
            ),
        });
        said.push(certainty(summary, node, &least.subject, &next.subject));
    }
    said.extend(restarts(summary));
    said.push(match node.measured_objects {
        n if n > OBJECTS => format!(
            "Memory was measured at {} objects, the smallest size above {} that was measured.",
            grouped(n),
            grouped(OBJECTS)
        ),
        n if n == OBJECTS => format!("Memory was measured at {} objects.", grouped(n)),
        n => format!(
            "The largest size that was measured is {}: this bench says nothing about {} objects.",
            grouped(n),
            grouped(OBJECTS)
        ),
    });
    said
}

/// Settled memory of one operator, as a part of that of another.
fn ratio(node: &SmallNode, one: &str, other: &str) -> Option<f64> {
    let settled = |id: &str| {
        let mut operators = node.operators.iter();
        operators.find(|o| o.subject == id)?.settled_bytes
    };
    Some(settled(one)? / settled(other)?)
}

/// What a restart takes, which the peaks above do not have; `None` where none was measured.
fn restarts(summary: &Summary) -> Option<String> {
    let restarted = |subject: &Subject| {
        let runs = subject.runs.iter().filter(|run| run.valid);
        let peaks = runs.filter_map(|run| {
            let bytes = run.value("memory.restart.peak_bytes")?;
            Some((run.objects, bytes))
        });
        peaks.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let mut objects = 0;
    let peaks: Vec<String> = summary
        .subjects
        .iter()
        .filter_map(|subject| {
            let (size, bytes) = restarted(subject)?;
            objects = objects.max(size);
            Some(format!(
                "{} MB ({})",
                figure(Some(bytes / 1e6)),
                subject.id()
            ))
        })
        .collect();
    (!peaks.is_empty()).then(|| {
        format!(
            "A restart on {} objects peaked at {}.",
            grouped(objects),
            peaks.join(", ")
        )
    })
}

/// How sure the difference between the two smallest is.
fn certainty(summary: &Summary, node: &SmallNode, least: &str, next: &str) -> String {
    let runs = node
        .operators
        .iter()
        .map(|o| o.runs)
        .filter(|runs| *runs > 0)
        .min();
    let runs = runs.map_or_else(|| figure(None), |n| n.to_string());
    let compared = summary.comparisons.iter().find(|c| {
        c.metric == SETTLED
            && c.objects == node.measured_objects
            && ((c.subject == least && c.against == next)
                || (c.subject == next && c.against == least))
    });
    match compared {
        Some(c) => match (c.ci95, c.significant) {
            (Some([low, high]), Some(true)) => format!(
                "How sure: {runs} or more runs of each; settled RSS of {} is {} times that of {} (95 %: {} to {}), which is more than noise explains.",
                c.subject,
                figure(Some(c.ratio)),
                c.against,
                figure(Some(low)),
                figure(Some(high))
            ),
            (Some([low, high]), Some(false)) => format!(
                "How sure: {runs} or more runs of each; the difference between {} and {} is not significant (ratio of settled RSS {}, 95 %: {} to {}).",
                c.subject,
                c.against,
                figure(Some(c.ratio)),
                figure(Some(low)),
                figure(Some(high))
            ),
            (Some([low, high]), None) => format!(
                "How sure: {runs} or more runs of each; settled RSS of {} is {} times that of {} (95 %: {} to {}); noise was not measured.",
                c.subject,
                figure(Some(c.ratio)),
                c.against,
                figure(Some(low)),
                figure(Some(high))
            ),
            (None, _) => format!(
                "How sure: one run of each, so there is no interval; take the ratio of settled RSS between {} and {}, {}, as a first look.",
                c.subject,
                c.against,
                figure(Some(c.ratio))
            ),
        },
        None => format!(
            "How sure: there is no interval at this size (valid runs: {runs} of each or more); settled RSS of {least} is {} times that of {next}, as a first look.",
            figure(ratio(node, least, next))
        ),
    }
}

/// `None` without memory runs.
pub fn table(summary: &Summary) -> Option<Table> {
    let node = summary.small_node.as_ref()?;
    let mb = |bytes: Option<f64>| figure(bytes.map(|bytes| bytes / 1e6));
    let row = |operator: &OnSmallNode| {
        let settled = mb(operator.settled_bytes);
        vec![
            operator.subject.clone(),
            operator.runs.to_string(),
            rows::with_unsettled(settled, operator.did_not_settle, operator.runs),
            mb(operator.peak_bytes),
            figure(operator.peak_share.map(|share| share * 100.0)),
        ]
    };
    let header = [
        "",
        "valid runs",
        "RSS settled, MB (median)",
        "highest until settled, MB (RSS or cgroup)",
        "of 512 MiB, %",
    ];
    Some(Table {
        title: format!(
            "On a node with 512 MiB, at {} objects",
            grouped(node.measured_objects)
        ),
        header: header.map(str::to_owned).to_vec(),
        rows: node.operators.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::summary::sample;

    #[test]
    fn one_operator_alone_is_not_the_least_of_several() {
        let run = Run::without_figures(Kind::Memory, 500, 1, vec![]);
        let mut summary = sample(vec![run.with(SETTLED, 4e6)]);
        summary.small_node = answer(&summary.subjects);
        let said = sentences(&summary).join(" ");
        assert!(
            said.starts_with("tare/none: with 500 objects it peaked at"),
            "{said}"
        );
        let mut other = summary.subjects[0].clone();
        other.variant = "other".into();
        summary.subjects.push(other);
        summary.small_node = answer(&summary.subjects);
        let said = sentences(&summary).join(" ");
        assert!(
            said.starts_with("tare/none takes the least memory:"),
            "{said}"
        );
        for (subject, workload) in summary.subjects.iter_mut().zip(["widgets", "gadgets"]) {
            subject.workload = Some(workload.into());
        }
        let said = sentences(&summary).join(" ");
        assert!(
            said.starts_with("The operators do different work"),
            "{said}"
        );
    }
}
