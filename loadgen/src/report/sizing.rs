//! The sizing table: how much memory to ask for and to allow, by the number of objects.
//!
//! Guarantees: pure; from the worst valid run of each size, not the typical one, by one rule for all
//! subjects: request = 1.25 times the largest idle RSS (settled or restarted), limit = 2 times the
//! largest peak (burst, churn or restart), rounded up, never below what a container needs to start.
//! Leaves to others: where the table goes (`readme`).

use crate::model::cell::Kind;
use crate::model::metric;
use crate::model::summary::{Subject, Summary};
use crate::report::table::{Table, figure, grouped};
use crate::report::tables::sizes_of;

const MIB: f64 = 1_048_576.0;
/// The runtime's own first process lives in the pod's cgroup before the program runs; 16 MiB was
/// enough for runc 1.1 (`tests/release`).
const LEAST_LIMIT_MIB: f64 = 16.0;
const LEAST_REQUEST_MIB: f64 = 8.0;
const AT_REST: [&str; 2] = ["memory.settled.rss_bytes", "memory.restart.rss_bytes"];
const PEAKS: [&str; 4] = [
    "memory.burst.peak_bytes",
    "memory.settled.peak_bytes",
    "memory.churn.peak_bytes",
    "memory.restart.peak_bytes",
];

/// Request and limit, MiB, from the largest idle bytes and the largest peak.
fn size(rest_bytes: f64, peak_bytes: f64) -> (f64, f64) {
    let request = (1.25 * rest_bytes / MIB).ceil();
    let limit = (2.0 * peak_bytes / MIB / 4.0).ceil() * 4.0;
    (request.max(LEAST_REQUEST_MIB), limit.max(LEAST_LIMIT_MIB))
}

/// The first subject in full, the limits of all others beside it; without bursts no rows.
pub fn table(summary: &Summary) -> Table {
    let (first, others) = match summary.subjects.split_first() {
        Some((first, others)) => (Some(first), others),
        None => (None, &[][..]),
    };
    let mut header: Vec<String> = ["objects", "idle, MB", "peak, MB", "request", "limit"]
        .map(str::to_owned)
        .into();
    header.extend(
        others
            .iter()
            .map(|other| format!("limit of {}", other.id())),
    );
    let sizes = sizes_of(summary, Kind::Memory)
        .into_iter()
        .filter(|objects| *objects > 0);
    let rows = sizes.map(|objects| {
        let mut row = vec![grouped(objects)];
        let own = first.and_then(|first| worst(first, objects));
        row.push(figure(own.map(|(rest, _)| rest / 1e6)));
        row.push(figure(own.map(|(_, peak)| peak / 1e6)));
        let sized = own.map(|(rest, peak)| size(rest, peak));
        row.push(mebibytes(sized.map(|(request, _)| request)));
        row.push(mebibytes(sized.map(|(_, limit)| limit)));
        row.extend(others.iter().map(|other| {
            let sized = worst(other, objects).map(|(rest, peak)| size(rest, peak));
            mebibytes(sized.map(|(_, limit)| limit))
        }));
        row
    });
    Table {
        title: first.map(Subject::id).unwrap_or_default(),
        rows: rows.collect(),
        header,
    }
}

/// What the table stands on, in words.
pub fn rule() -> String {
    format!(
        "Request: 1.25 times the largest idle RSS of all runs; limit: twice the largest peak (burst, \
         churn, restart); at least {LEAST_REQUEST_MIB} and {LEAST_LIMIT_MIB} MiB, which a container needs to start."
    )
}

/// The largest idle bytes and the largest peak, of all valid bursts of a size.
fn worst(subject: &Subject, objects: usize) -> Option<(f64, f64)> {
    let runs = subject
        .runs
        .iter()
        .filter(|run| run.valid && run.objects == objects && run.cell == Kind::Memory);
    let runs: Vec<_> = runs.collect();
    let largest = |paths: &[&str]| {
        let all = runs
            .iter()
            .flat_map(|run| paths.iter().filter_map(|path| metric::of_run(run, path)));
        all.reduce(f64::max)
    };
    Some((largest(&AT_REST)?, largest(&PEAKS)?))
}

fn mebibytes(known: Option<f64>) -> String {
    known.map_or_else(|| figure(None), |mib| format!("{mib:.0}Mi"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_room_for_twice_the_peak_and_for_the_start_of_a_container() {
        let cases = [
            ((3.8e6, 5.4e6), (8.0, 16.0)),
            ((8.0 * MIB, 8.0 * MIB), (10.0, 16.0)),
            ((8.0 * MIB, 8.0 * MIB + 1.0), (10.0, 20.0)),
            ((147e6, 160e6), (176.0, 308.0)),
        ];
        for ((rest, peak), want) in cases {
            assert_eq!(size(rest, peak), want, "{rest} {peak}");
        }
    }
}
