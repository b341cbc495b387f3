//! Sizing: how much memory to ask for and to allow, by the number of objects.
//!
//! Guarantees: pure; from the worst valid run of each size, not the typical one, by one rule for all
//! subjects: request = 1.25 times the largest idle RSS (settled or restarted), limit = 2 times the
//! largest peak (burst, update or restart), rounded up, never below what a container needs to start. Only sizes
//! that were measured, nothing is interpolated.
//! Leaves to others: where it goes (`cli::sizing`).

use serde::Serialize;

use crate::metric;
use crate::plan::cell::Kind;
use crate::record::summary::{Run, Subject, Summary};
use crate::report::rows::{RESTARTED, SETTLED, sizes_of};
use crate::report::table::{Table, figure, grouped, mb};
use crate::report::title;

const MIB: f64 = 1_048_576.0;
/// The runtime's own first process lives in the pod's cgroup before the program runs; 16 MiB was
/// enough for runc 1.1 (`tests/release`).
const LEAST_LIMIT_MIB: f64 = 16.0;
const LEAST_REQUEST_MIB: f64 = 8.0;
/// Less makes no difference to a scheduler.
const LEAST_REQUEST_MILLICORES: f64 = 10.0;
const IDLE: [&str; 2] = [SETTLED, RESTARTED];
const PEAKS: [&str; 4] = [
    "memory.burst.peak_bytes",
    "memory.settled.peak_bytes",
    "memory.update.peak_bytes",
    "memory.restart.peak_bytes",
];

/// Request and limit, MiB, from the largest idle bytes and the largest peak.
fn request_and_limit(idle_bytes: f64, peak_bytes: f64) -> (f64, f64) {
    let request = (1.25 * idle_bytes / MIB).ceil();
    let limit = (2.0 * peak_bytes / MIB / 4.0).ceil() * 4.0;
    (request.max(LEAST_REQUEST_MIB), limit.max(LEAST_LIMIT_MIB))
}

/// The first subject in full, and the limits of all others beside it; without memory runs no rows.
pub fn table(summary: &Summary) -> Table {
    let (first, others) = match summary.subjects.split_first() {
        Some((first, others)) => (Some(first), others),
        None => (None, &[][..]),
    };
    let limits: Vec<String> = others
        .iter()
        .map(|other| format!("limit of {}", other.id()))
        .collect();
    let header = ["objects", "idle, MB", "peak, MB", "request", "limit"];
    let header: Vec<&str> = header
        .into_iter()
        .chain(limits.iter().map(String::as_str))
        .collect();
    let mebibytes =
        |mib: Option<f64>| mib.map_or_else(|| figure(None), |mib| format!("{mib:.0}Mi"));
    let row = |objects: usize| {
        let own = first.and_then(|first| worst(first, objects));
        let sized = |(idle, peak)| request_and_limit(idle, peak);
        let begin = [
            grouped(objects),
            mb(own.map(|(idle, _)| idle)),
            mb(own.map(|(_, peak)| peak)),
            mebibytes(own.map(|own| sized(own).0)),
            mebibytes(own.map(|own| sized(own).1)),
        ];
        let limits = others
            .iter()
            .map(|other| mebibytes(worst(other, objects).map(|other| sized(other).1)));
        begin.into_iter().chain(limits).collect()
    };
    let sizes = sizes_of(summary, &[Kind::Memory]).into_iter();
    let rows = sizes.filter(|objects| *objects > 0).map(row);
    Table::new(
        first.map(Subject::id).unwrap_or_default(),
        &header,
        rows.collect(),
    )
}

/// What to write into a manifest, and the measurement behind it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// `name/variant`.
    pub subject: String,
    /// Of the runs behind it.
    pub objects: usize,
    /// Valid memory runs.
    pub runs: usize,
    /// Of these, the runs that did not settle.
    pub did_not_settle: usize,
    /// The largest idle RSS, settled or after a restart.
    pub idle_bytes: f64,
    pub peak_bytes: f64,
    /// CPU of the idle subject, thousandths of a core; the most of all runs.
    pub idle_millicores: Option<f64>,
    /// CPU from the first object until the last one has converged, s; the most of all valid drains.
    pub converge_cpu_s: Option<f64>,
    pub request_memory_mib: f64,
    pub limit_memory_mib: f64,
    pub request_cpu_millicores: f64,
}

/// The advice for so many objects, or for the largest size that was measured.
///
/// # Errors
/// Why there is none, with the way out.
pub fn advice(subject: &Subject, objects: Option<usize>) -> Result<Advice, String> {
    let id = subject.id();
    let valid = subject.runs.iter().filter(|run| run.valid);
    let of_memory = valid.filter(|run| run.cell == Kind::Memory && run.objects > 0);
    let mut measured: Vec<usize> = of_memory.map(|run| run.objects).collect();
    measured.sort_unstable();
    let Some(largest) = measured.last().copied() else {
        return Err(format!(
            "{id}: no valid memory run with objects; measure it with loadgen bench --objects N"
        ));
    };
    let asked = objects.unwrap_or(largest);
    let Some(size) = measured.into_iter().find(|measured| *measured >= asked) else {
        return Err(format!(
            "{id}: {} objects is the largest size that was measured, and nothing is extrapolated; measure it with loadgen bench --objects {asked}",
            grouped(largest)
        ));
    };
    let Some((idle_bytes, peak_bytes)) = worst(subject, size) else {
        return Err(format!(
            "{id}: its memory cannot be read on the machine of this bench; measure it on Linux"
        ));
    };
    let idle_millicores = subject
        .largest(Kind::Memory, size, &["cpu.idle_ms_per_minute"])
        .map(|ms| ms / 60.0);
    let valid = || subject.valid_runs(Kind::Memory, size);
    let unsettled = |run: &&Run| metric::did_not_settle(run, IDLE[0]);
    let (request_memory_mib, limit_memory_mib) = request_and_limit(idle_bytes, peak_bytes);
    let idle = (1.25 * idle_millicores.unwrap_or(0.0)).ceil();
    Ok(Advice {
        subject: id,
        objects: size,
        runs: valid().count(),
        did_not_settle: valid().filter(unsettled).count(),
        idle_bytes,
        peak_bytes,
        idle_millicores,
        converge_cpu_s: subject.largest(Kind::Drain, size, &["cpu.converge_s"]),
        request_memory_mib,
        limit_memory_mib,
        request_cpu_millicores: idle.max(LEAST_REQUEST_MILLICORES),
    })
}

/// The advice as YAML for the container of a Deployment, each line of the measurement a comment.
pub fn yaml(advice: &Advice, summary: &Summary) -> String {
    let Advice {
        subject,
        objects,
        runs,
        ..
    } = advice;
    let objects = grouped(*objects);
    let environment = &summary.environment;
    let unsettled = match advice.did_not_settle {
        0 => String::new(),
        runs => format!(
            "# {runs} of them did not settle: measure with --profile standard before you rely on it\n"
        ),
    };
    format!(
        "# {subject} with {objects} {} objects of {} bytes on {}, {}, measured {}\n\
         # memory, worst of {runs} valid runs: idle {} MB, peak {} MB\n\
         {unsettled}\
         # CPU: idle {} thousandths of a core; {} s for all objects at once, which a CPU limit would stretch\n\
         # {}\n\
         resources:\n  requests:\n    cpu: {:.0}m\n    memory: {:.0}Mi\n  limits:\n    memory: {:.0}Mi\n",
        summary.scenario.name,
        grouped(summary.scenario.object_bytes),
        title::control_plane(&environment.control_plane),
        environment.host_label,
        environment.started_at.get(..10).unwrap_or_default(),
        mb(Some(advice.idle_bytes)),
        mb(Some(advice.peak_bytes)),
        figure(advice.idle_millicores),
        figure(advice.converge_cpu_s),
        rule(),
        advice.request_cpu_millicores,
        advice.request_memory_mib,
        advice.limit_memory_mib
    )
}

/// The rule by which request and limit follow from the measurement, for a reader.
pub fn rule() -> String {
    format!(
        "Request: 1.25 times the largest idle RSS of all runs; limit: twice the largest peak (burst, \
         update, restart); at least {LEAST_REQUEST_MIB} and {LEAST_LIMIT_MIB} MiB, which a container needs to start."
    )
}

/// The largest idle bytes and the largest peak, of all valid memory runs of a size.
fn worst(subject: &Subject, objects: usize) -> Option<(f64, f64)> {
    let largest = |figures: &[&str]| subject.largest(Kind::Memory, objects, figures);
    Some((largest(&IDLE)?, largest(&PEAKS)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory run whose peak is twice its idle memory.
    fn run(objects: usize, rss_bytes: u64, valid: bool) -> Run {
        let because = (!valid).then(|| "disturbed".to_owned());
        let run = Run::without_figures(Kind::Memory, objects, 1, because.into_iter().collect());
        let mut run = run
            .with(IDLE[0], rss_bytes as f64)
            .with("memory.settled.peak_bytes", 2.0 * rss_bytes as f64)
            .with("cpu.idle_ms_per_minute", 1_200.0);
        if rss_bytes >= 30_000_000 {
            run.unsettled.push("settled".to_owned());
        }
        run
    }

    #[test]
    fn advice_is_from_the_smallest_size_that_is_large_enough_and_its_worst_run() {
        let runs = vec![
            run(500, 10_000_000, true),
            run(500, 20_000_000, true),
            run(500, 90_000_000, false),
            run(5_000, 40_000_000, true),
        ];
        let summary = crate::record::summary::sample(runs);
        let subject = &summary.subjects[0];
        for (asked, objects, idle_bytes) in [
            (Some(100), 500, 20e6),
            (Some(500), 500, 20e6),
            (Some(501), 5_000, 40e6),
            (None, 5_000, 40e6),
        ] {
            let got = advice(subject, asked).expect("measured");
            assert_eq!(
                (got.objects, got.idle_bytes),
                (objects, idle_bytes),
                "{asked:?}"
            );
        }
        let error = advice(subject, Some(6_000)).expect_err("not measured");
        assert!(
            error.contains("5,000 objects is the largest size") && error.contains("--objects 6000")
        );
        let text = yaml(&advice(subject, Some(500)).expect("measured"), &summary);
        for want in [
            "# tare/none with 500 widgets objects of 2,048 bytes on kube-apiserver with etcd",
            "# memory, worst of 2 valid runs: idle 20.0 MB, peak 40.0 MB",
            "resources:\n  requests:\n    cpu: 25m\n    memory: 24Mi\n  limits:\n    memory: 80Mi\n",
        ] {
            assert!(text.contains(want), "{want} not in {text}");
        }
        let unsettled = yaml(&advice(subject, None).expect("measured"), &summary);
        assert!(
            unsettled.contains("# 1 of them did not settle"),
            "{unsettled}"
        );
        let none = crate::record::summary::sample(vec![run(500, 1, false)]);
        let error = advice(&none.subjects[0], None).expect_err("nothing valid");
        assert!(error.contains("no valid memory run"), "{error}");
    }

    #[test]
    fn a_limit_has_room_for_twice_the_peak_and_for_the_start_of_a_container() {
        let cases = [
            ((3.8e6, 5.4e6), (8.0, 16.0)),
            ((8.0 * MIB, 8.0 * MIB), (10.0, 16.0)),
            ((8.0 * MIB, 8.0 * MIB + 1.0), (10.0, 20.0)),
            ((147e6, 160e6), (176.0, 308.0)),
        ];
        for ((idle, peak), want) in cases {
            assert_eq!(request_and_limit(idle, peak), want, "{idle} {peak}");
        }
    }
}
