//! Starts on the objects that exist: each figure is one of every restart, of a run their median.
//!
//! Leaves to others: memory (`of_memory`), the table of repeated restarts with its ranges (`report::restarts`).

use crate::metric::Metric;
use crate::metric::Shown::{RestartServer, Work};
use crate::plan::cell::Kind;
use crate::record::{Restart, ServerUse};

const QUIET: &[Kind] = &[Kind::Memory];
const TIMED: &[Kind] = &[Kind::Drain];
const NOT_RESTARTED: &str = "measured at the largest size, or in every drain with --restarts";

pub(super) fn metrics() -> Vec<Metric> {
    figures! { Restart
        "restart.ready_s", "ready after, s", "s", QUIET, NOT_RESTARTED, [compared] => |r| Some(r.ready_s);
        "restart.working_s", "first new object observed after, s", "s", QUIET, NOT_RESTARTED, [compared] => |r| r.working_s;
        "cpu.restart_s", "CPU of a restart, s", "s", TIMED, NOT_RESTARTED, [shown(Work), compared] => |r| r.cpu_s;
        "restart.server.cpu_s", "API server CPU, s", "s", TIMED, NOT_RESTARTED, [shown(RestartServer), compared] => |r| server(r)?.cpu_s;
        "restart.server.rss_increase_bytes", "API server RSS increase, MB", "bytes", TIMED, NOT_RESTARTED, [shown(RestartServer), divided(1e6)] => |r| Some(server(r)?.rss_peak_bytes? as f64 - server(r)?.rss_before_bytes? as f64);
        "restart.server.reads", "reads", "count", TIMED, NOT_RESTARTED, [shown(RestartServer), compared] => |r| Some(server(r)?.reads? as f64);
        "restart.server.writes", "writes", "count", TIMED, NOT_RESTARTED, [shown(RestartServer), compared] => |r| Some(server(r)?.writes? as f64);
        "restart.server.response_bytes", "answers, MB", "bytes", TIMED, NOT_RESTARTED, [shown(RestartServer), compared, divided(1e6)] => |r| Some(server(r)?.response_bytes? as f64);
        "restart.server.datastore_reads", "datastore reads", "count", TIMED, NOT_RESTARTED, [shown(RestartServer)] => |r| Some(server(r)?.datastore_reads? as f64);
        "restart.server.datastore_objects", "objects fetched", "count", TIMED, NOT_RESTARTED, [shown(RestartServer)] => |r| Some(server(r)?.datastore_objects? as f64);
    }
}

/// What it cost the API server.
fn server(restart: &Restart) -> Option<&ServerUse> {
    restart.server.as_ref()
}
