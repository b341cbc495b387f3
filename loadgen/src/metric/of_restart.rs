//! Starts on the objects that exist: each figure is one of every restart, of a run their median.
//!
//! Leaves to others: memory (`of_memory`), the table of repeated restarts with its ranges (`report::restarts`).

use crate::metric::{Metric, Shown, Source};
use crate::model::cell::Kind;
use crate::model::record::{Restart, ServerUse};

const SETTLED: &[Kind] = &[Kind::Memory];
const TIMED: &[Kind] = &[Kind::Drain];

fn restart(
    id: &str,
    label: &str,
    unit: &'static str,
    kinds: &'static [Kind],
    read: fn(&Restart) -> Option<f64>,
) -> Metric {
    Metric::new(id, label, unit, kinds, Source::Restart(read))
        .missing("measured at the largest size, or in every drain with --restarts")
}

pub(super) fn metrics() -> Vec<Metric> {
    work().into_iter().chain(server()).collect()
}

fn work() -> Vec<Metric> {
    vec![
        restart("restart.ready_s", "ready after, s", "s", SETTLED, |r| {
            Some(r.ready_s)
        })
        .compared(),
        restart("cpu.restart_s", "CPU of a restart, s", "s", TIMED, |r| {
            r.cpu_s
        })
        .shown(Shown::Work)
        .compared(),
    ]
}

/// What a restart costs the API server.
fn server() -> Vec<Metric> {
    let of = |id: &str, label: &str, unit: &'static str, read: fn(&Restart) -> Option<f64>| {
        restart(id, label, unit, TIMED, read).shown(Shown::RestartServer)
    };
    vec![
        of("restart.server.cpu_s", "CPU, s", "s", |r| {
            server_of(r)?.cpu_s
        })
        .compared(),
        of(
            "restart.server.rss_increase_bytes",
            "RSS increase, MB",
            "bytes",
            |r| {
                let server = server_of(r)?;
                Some(server.rss_peak_bytes? as f64 - server.rss_before_bytes? as f64)
            },
        )
        .divided(1e6),
        of("restart.server.reads", "reads", "count", |r| {
            Some(server_of(r)?.reads? as f64)
        })
        .compared(),
        of("restart.server.writes", "writes", "count", |r| {
            Some(server_of(r)?.writes? as f64)
        })
        .compared(),
        of(
            "restart.server.response_bytes",
            "answers, MB",
            "bytes",
            |r| Some(server_of(r)?.response_bytes? as f64),
        )
        .divided(1e6)
        .compared(),
        of(
            "restart.server.datastore_reads",
            "datastore reads",
            "count",
            |r| Some(server_of(r)?.datastore_reads? as f64),
        ),
        of(
            "restart.server.datastore_objects",
            "objects fetched",
            "count",
            |r| Some(server_of(r)?.datastore_objects? as f64),
        ),
    ]
}

fn server_of(restart: &Restart) -> Option<&ServerUse> {
    restart.server.as_ref()
}
