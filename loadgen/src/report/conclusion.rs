//! The end of a report: one sentence with ratios, what was not measured, and the next command.
//!
//! Guarantees: speaks of valid runs only, and says so where there are none. Leaves to others:
//! the figures.

use crate::model::cell::Kind;
use crate::model::profile::Profile;
use crate::model::record::Record;
use crate::model::summary::{Comparison, Summary};
use crate::report::table::{figure, grouped};
use crate::report::tables::{sizes_of, typical};

/// One sentence.
pub fn conclusion(summary: &Summary) -> String {
    let Some(&largest) = sizes_of(summary, Kind::Memory).last() else {
        return of_drains(summary);
    };
    let about = |metric: &str| summary.comparisons.iter().find(|c| c.metric == metric);
    let Some(settled) = about("memory.settled.rss_bytes").filter(|c| c.objects == largest) else {
        return alone(summary, largest);
    };
    let same = |metric: &str| {
        about(metric).filter(|c| c.against == settled.against && c.subject == settled.subject)
    };
    let rss = |id: &str| {
        let subject = summary.subjects.iter().find(|s| s.id() == id)?;
        Some(typical(subject, Kind::Memory, largest, "memory.settled.rss_bytes")? / 1e6)
    };
    let parts = [
        ("convergence.drain_s", "of its time to drain"),
        ("cpu.converge_s", "of its CPU"),
        ("requests.writes_per_object", "of its writes"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter_map(|(metric, words)| same(metric).map(|c| format!("{} {words}", times(c))))
        .collect();
    let with = if parts.is_empty() {
        String::new()
    } else {
        format!(", with {}", parts.join(", "))
    };
    format!(
        "At {} objects {} settles at {} MB RSS, {} that of {} ({} MB){with}.",
        grouped(largest),
        settled.subject,
        figure(rss(&settled.subject)),
        times(settled),
        settled.against,
        figure(rss(&settled.against)),
    )
}

fn times(comparison: &Comparison) -> String {
    let interval = comparison
        .ci95
        .map(|[low, high]| format!(" [{low:.2} to {high:.2}]"));
    let noise = match comparison.significant {
        Some(false) => " (not significant)",
        _ => "",
    };
    let ratio = comparison.ratio;
    format!("{ratio:.2}{}{noise} ×", interval.unwrap_or_default())
}

/// Of a bench without memory runs: the time to drain.
fn of_drains(summary: &Summary) -> String {
    let Some(&largest) = sizes_of(summary, Kind::Drain).last() else {
        return "No result: nothing was measured.".into();
    };
    let drain = |id: &str| {
        let subject = summary.subjects.iter().find(|s| s.id() == id)?;
        typical(subject, Kind::Drain, largest, "convergence.drain_s")
    };
    let about = |metric: &str| summary.comparisons.iter().find(|c| c.metric == metric);
    let Some(took) = about("convergence.drain_s").filter(|c| c.objects == largest) else {
        let each = summary.subjects.iter().filter_map(|subject| {
            let drain_s = drain(&subject.id())?;
            Some(format!(
                "{} drains in {} s",
                subject.id(),
                figure(Some(drain_s))
            ))
        });
        let each: Vec<String> = each.collect();
        return match each.is_empty() {
            true => format!(
                "No result: no subject has a valid run at {} objects.",
                grouped(largest)
            ),
            false => format!("At {} objects {}.", grouped(largest), each.join(", ")),
        };
    };
    let cpu = about("cpu.converge_s").filter(|c| c.against == took.against);
    let with = cpu.map_or(String::new(), |c| format!(", with {} of its CPU", times(c)));
    format!(
        "At {} objects {} drains in {} s, {} that of {} ({} s){with}.",
        grouped(largest),
        took.subject,
        figure(drain(&took.subject)),
        times(took),
        took.against,
        figure(drain(&took.against)),
    )
}

/// Without a pair to compare: the memory of each subject.
fn alone(summary: &Summary, largest: usize) -> String {
    let settled = summary.subjects.iter().filter_map(|subject| {
        let rss = typical(subject, Kind::Memory, largest, "memory.settled.rss_bytes")?;
        Some(format!(
            "{} settles at {} MB RSS",
            subject.id(),
            figure(Some(rss / 1e6))
        ))
    });
    let settled: Vec<String> = settled.collect();
    if settled.is_empty() {
        return format!(
            "No result: no subject has a valid run at {} objects.",
            grouped(largest)
        );
    }
    let unpaired = match summary.subjects.len() {
        1 => "",
        _ if summary.is_of_several_workloads() => "; they do different work",
        _ => "; there is no valid pair of subjects to compare",
    };
    format!(
        "At {} objects {}{unpaired}.",
        grouped(largest),
        settled.join(", ")
    )
}

/// What this report does not say, in one line.
pub fn not_measured(summary: &Summary, record: &Record) -> String {
    format!("Not measured: {}.", gaps(summary, record).join(", "))
}

/// What this report does not say, one thing each.
pub fn gaps(summary: &Summary, record: &Record) -> Vec<String> {
    let runs = || summary.subjects.iter().flat_map(|s| &s.runs);
    let none = |kind: Kind| runs().all(|run| run.cell != kind);
    let measured = |name: &str| runs().any(|run| run.value(name).is_some());
    let cgroup = measured("memory.settled.cgroup.working_set_bytes");
    let intervals = summary.comparisons.iter().any(|c| c.ci95.is_some());
    let images = summary
        .subjects
        .iter()
        .any(|s| s.image_bytes_compressed.is_some());
    let quick = record.experiment.profile == Profile::Quick;
    let slopes = summary
        .subjects
        .iter()
        .any(|s| s.bytes_per_object.is_some());
    let gaps = [
        (
            summary.environment.control_plane == "kubesim",
            "a real control plane (--control-plane kube)",
        ),
        (none(Kind::Memory), "settled memory"),
        (none(Kind::Drain), "times on an idle machine"),
        (none(Kind::Rate), "latency at a rate"),
        (
            !slopes,
            "memory for each further object (two sizes of 500 or more)",
        ),
        (
            !cgroup,
            "memory as a node counts it (no cgroup could be made)",
        ),
        (quick, "memory after long settling (--profile full)"),
        (!intervals, "confidence intervals (--repeats 2 or more)"),
        (
            summary.noise_floors.is_empty(),
            "noise floors (--repeats-largest 2 or more)",
        ),
        (!measured("memory.churn.rss_bytes"), "churn"),
        (!measured("gc_pause.count"), "garbage collection pauses"),
        (!measured("write_span.p50_ms"), "write spans"),
        (none(Kind::DefaultFlags), "the servers' default flags"),
        (
            none(Kind::Rejected),
            "objects that the server rejects (--unhealthy)",
        ),
        (
            none(Kind::NeverReady),
            "objects that never become ready (--unhealthy)",
        ),
        (none(Kind::UpdateStorm), "an update storm (--update-storm)"),
        (!images, "images"),
        (
            !measured("memory.settled.api_server_rss_bytes"),
            "memory of the API server",
        ),
        (true, "memory of the datastore"),
        (true, "other processors than that of this machine"),
        (true, "pods and nodes"),
    ];
    let gaps = gaps.into_iter().filter(|(missing, _)| *missing);
    gaps.map(|(_, what)| what.to_owned()).collect()
}

/// The command that answers the next question.
pub fn next(record: &Record) -> &'static str {
    let failed = record.runs.values().any(|run| run.failure.is_some());
    let missing = record
        .experiment
        .planned
        .iter()
        .any(|cell| !record.runs.contains_key(cell));
    if failed {
        "read logs/ in that folder, then repeat the command"
    } else if missing {
        "repeat the command with --resume --out and that folder"
    } else if record.experiment.profile == Profile::Quick {
        "repeat the command with --objects 0,500,2000,5000 --repeats 5    (larger sizes, confidence intervals)"
    } else {
        "loadgen bench --subject your-operator.toml    (your own operator)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::summary::{Run, sample};

    #[test]
    fn a_bench_without_memory_runs_ends_with_its_time_to_drain() {
        assert_eq!(
            conclusion(&sample(vec![])),
            "No result: nothing was measured."
        );
        let run = Run::without_figures(Kind::Drain, 500, 1, vec![]);
        let said = conclusion(&sample(vec![run.clone()]));
        assert_eq!(
            said,
            "No result: no subject has a valid run at 500 objects."
        );
        let summary = sample(vec![run.with("convergence.drain_s", 12.5)]);
        let (said, id) = (conclusion(&summary), summary.subjects[0].id());
        assert_eq!(said, format!("At 500 objects {id} drains in 12.5 s."));
    }

    #[test]
    fn one_subject_alone_has_nothing_to_be_compared_with() {
        let run = Run::without_figures(Kind::Memory, 500, 1, vec![]);
        let mut summary = sample(vec![run.with("memory.settled.rss_bytes", 4e6)]);
        let said = conclusion(&summary);
        assert!(!said.contains("compare"), "{said}");
        let mut other = summary.subjects[0].clone();
        other.variant = "other".into();
        summary.subjects.push(other);
        let said = conclusion(&summary);
        assert!(said.contains("no valid pair of subjects"), "{said}");
        for (subject, workload) in summary.subjects.iter_mut().zip(["widgets", "gadgets"]) {
            subject.workload = Some(workload.into());
        }
        let said = conclusion(&summary);
        assert!(said.ends_with("they do different work."), "{said}");
        let compared = crate::metric::compare::comparisons(&summary, &[]);
        assert!(compared.is_empty(), "{compared:?}");
    }
}
