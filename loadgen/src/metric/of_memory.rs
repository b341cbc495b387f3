//! Memory at the end of each phase of a run.
//!
//! Guarantees: every phase has every figure; after restarts it is the median over them.

use crate::metric::{Metric, Shown, Source};
use crate::plan::cell::Kind;
use crate::record::{Run, Sampled};

/// A phase of a run that ends with a sample of memory.
pub(super) struct Phase {
    /// In the name of a figure.
    pub name: &'static str,
    /// In a label.
    when: &'static str,
    until: &'static str,
    /// The samples at its end: one for each restart, else one at most.
    pub samples: fn(&Run) -> Vec<Sampled>,
    missing: &'static str,
}

pub(super) const PHASES: [Phase; 8] = [
    Phase {
        name: "empty",
        when: "at start",
        until: "at start",
        samples: |run| run.memory.empty.into_iter().collect(),
        missing: "the subject did not start",
    },
    Phase {
        name: "burst",
        when: "when all are ready",
        until: "until all are ready",
        samples: |run| run.memory.burst.into_iter().collect(),
        missing: "measured only where objects are offered as a burst",
    },
    Phase {
        name: "settled",
        when: "settled",
        until: "until settled",
        samples: |run| run.memory.settled.into_iter().collect(),
        missing: "a timed run does not wait for memory to settle",
    },
    Phase {
        name: "update",
        when: "after an update of all",
        until: "until the update ended",
        samples: |run| run.memory.update.into_iter().collect(),
        missing: "measured in memory runs at the largest size: all with --profile full, the first repeat with standard, none with quick",
    },
    Phase {
        name: "after_soak",
        when: "after the soak",
        until: "until the soak ended",
        samples: |run| run.memory.after_soak.into_iter().collect(),
        missing: "only with --soak-events, in the first run at the largest size",
    },
    Phase {
        name: "deleted",
        when: "after deletion",
        until: "until all were deleted",
        samples: |run| run.memory.deleted.into_iter().collect(),
        missing: "measured in memory runs at the largest size: all with --profile full, the first repeat with standard, those up to 1,000 objects with quick",
    },
    Phase {
        name: "restart",
        when: "after a restart",
        until: "of a restart",
        samples: |run| {
            run.restarts
                .iter()
                .filter_map(|restart| restart.memory)
                .collect()
        },
        missing: "measured in memory runs at the largest size",
    },
    Phase {
        name: "server_restart",
        when: "after a restart of the API server",
        until: "of a restart of the API server",
        samples: |run| run.memory.server_restart.into_iter().collect(),
        missing: "only with --server-restart, in memory runs at the largest size",
    },
];

/// What is known of a sample.
struct Bytes {
    /// In the name of a figure.
    name: &'static str,
    label: fn(&str, &str) -> String,
    read: fn(&Sampled) -> Option<u64>,
    /// Why a sample may not have it; without it the phase says why.
    missing: Option<&'static str>,
    /// The phases whose figure is in the table of memory.
    shown: &'static [&'static str],
    /// Those by whose figure subjects are compared.
    compared: &'static [&'static str],
    /// Those with a limit, and its least margin.
    limited: (&'static [&'static str], f64),
}

const NONE: (&[&str], f64) = (&[], 0.0);

const BYTES: [Bytes; 9] = [
    Bytes {
        name: "rss_bytes",
        label: |when, _| format!("RSS {when}, MB"),
        read: |sampled| Some(sampled.memory.rss_bytes),
        missing: None,
        shown: &[
            "empty",
            "burst",
            "settled",
            "update",
            "after_soak",
            "restart",
            "deleted",
            "server_restart",
        ],
        compared: &["empty", "settled", "after_soak", "restart", "deleted"],
        limited: (&["settled"], 1_048_576.0),
    },
    Bytes {
        name: "peak_bytes",
        label: |_, until| format!("RSS peak {until}, MB"),
        read: |sampled| sampled.peak_bytes,
        missing: Some("the kernel does not tell it, or the phase comes before the first object"),
        shown: &["settled", "after_soak", "restart", "server_restart"],
        compared: &["settled", "restart"],
        limited: (&["burst"], 1_048_576.0),
    },
    Bytes {
        name: "anon_bytes",
        label: |when, _| format!("anonymous {when}, MB"),
        read: |sampled| Some(sampled.memory.anon_bytes),
        missing: None,
        shown: &["empty", "settled", "restart", "deleted"],
        compared: &["settled"],
        limited: (&["settled", "update", "restart"], 262_144.0),
    },
    Bytes {
        name: "pss_bytes",
        label: |when, _| format!("PSS {when}, MB"),
        read: |sampled| Some(sampled.memory.pss_bytes),
        missing: None,
        shown: &["settled"],
        compared: &[],
        limited: NONE,
    },
    Bytes {
        name: "cgroup.working_set_bytes",
        label: |when, _| format!("working set {when} (cgroup), MB"),
        read: |sampled| Some(sampled.cgroup?.working_set_bytes),
        missing: Some(NO_CGROUP),
        shown: &["settled"],
        compared: &[],
        limited: NONE,
    },
    Bytes {
        name: "cgroup.peak_bytes",
        label: |_, until| format!("peak {until}, as the node counts it (cgroup), MB"),
        read: |sampled| sampled.cgroup?.peak_bytes,
        missing: Some(NO_CGROUP),
        shown: &["settled"],
        compared: &[],
        limited: NONE,
    },
    Bytes {
        name: "cgroup.kernel_bytes",
        label: |when, _| format!("kernel memory {when} (cgroup), MB"),
        read: |sampled| sampled.cgroup?.kernel_bytes,
        missing: Some("the kernel does not count it, or no cgroup could be made"),
        shown: &[],
        compared: &[],
        limited: NONE,
    },
    Bytes {
        name: "cgroup.socket_bytes",
        label: |when, _| format!("socket buffers {when} (cgroup), MB"),
        read: |sampled| sampled.cgroup?.socket_bytes,
        missing: Some("the kernel does not count it, or no cgroup could be made"),
        shown: &[],
        compared: &[],
        limited: NONE,
    },
    Bytes {
        name: "api_server_rss_bytes",
        label: |when, _| format!("RSS of the API server, {when}, MB"),
        read: |sampled| sampled.api_server_rss_bytes,
        missing: Some("loadgen did not start the API server"),
        shown: &["empty", "burst", "settled"],
        compared: &[],
        limited: NONE,
    },
];

const NO_CGROUP: &str = "no cgroup could be made for the subject; loadgen doctor says why";

/// Every figure of bytes in every phase.
pub(super) fn metrics() -> Vec<Metric> {
    let of_all = BYTES
        .iter()
        .flat_map(|bytes| PHASES.iter().map(move |phase| (bytes, phase)));
    of_all.map(|(bytes, phase)| metric(bytes, phase)).collect()
}

fn metric(bytes: &Bytes, phase: &Phase) -> Metric {
    let id = format!("memory.{}.{}", phase.name, bytes.name);
    let label = (bytes.label)(phase.when, phase.until);
    let source = Source::Memory(phase.samples, bytes.read);
    let mut metric = Metric::new(&id, &label, "bytes", &[Kind::Memory], source)
        .divided(1e6)
        .missing(bytes.missing.unwrap_or(phase.missing));
    let is_in = |phases: &[&str]| phases.contains(&phase.name);
    metric.shown = is_in(bytes.shown).then_some(Shown::Memory);
    metric.is_compared = is_in(bytes.compared);
    let (limited, least_margin) = bytes.limited;
    metric.least_margin = is_in(limited).then_some(least_margin);
    metric
}
