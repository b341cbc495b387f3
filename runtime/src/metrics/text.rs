//! The metrics in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Display, Write};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use crate::metrics::{Metrics, VERBS, lock};

/// What the metrics say about the program itself.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// What the names of its metrics begin with, without the underscore after it.
    pub prefix: &'a str,
    /// Its version, with its commit.
    pub version: &'a str,
    /// Name of its allocator.
    pub allocator: &'a str,
}

/// All metrics of one program.
pub(crate) fn render(metrics: &Metrics, build: &Build<'_>) -> String {
    let mut page = Page::new(build.prefix);
    metrics.reconcile.render(
        &page.name("reconcile_duration_seconds"),
        "Duration of one reconcile.",
        &mut page.text,
    );
    page.family(
        "api_requests_total",
        "counter",
        "Requests to the API server by verb.",
    );
    for (verb, count) in VERBS.iter().zip(&metrics.requests) {
        page.labelled(
            "api_requests_total",
            format_args!("verb=\"{verb}\""),
            count.load(Relaxed),
        );
    }
    page.by_reason(
        "reconcile_errors_total",
        "Failed reconciles by reason.",
        &metrics.errors,
    );
    page.by_reason(
        "watch_restarts_total",
        "Watch streams reopened for another reason than their normal end.",
        &metrics.watch_restarts,
    );
    for (name, help, value) in [
        (
            "owner_reads_for_children_total",
            "Reads of an idle owner because one of its children changed.",
            &metrics.owner_reads_for_children,
        ),
        (
            "undecodable_total",
            "Objects in watch events and lists that could not be decoded.",
            &metrics.undecodable,
        ),
        (
            "dropped_events_total",
            "Watch events that the workqueue did not admit; each requests a relist.",
            &metrics.dropped_events,
        ),
        (
            "relists_requested_total",
            "Relists requested.",
            &metrics.relists_requested,
        ),
        (
            "relists_completed_total",
            "Relists completed.",
            &metrics.relists_completed,
        ),
        (
            "drift_total",
            "Children that differed from their plan.",
            &metrics.drift,
        ),
        (
            "noop_patches_total",
            "Patches of children that changed nothing: the server stores a field in another form than it is planned.",
            &metrics.noop_patches,
        ),
        (
            "events_suppressed_total",
            "Events not written, to bound their rate.",
            &metrics.events_suppressed,
        ),
    ] {
        page.value(name, "counter", help, value.load(Relaxed));
    }
    for (name, help, value) in [
        (
            "queue_depth",
            "Owners that wait for a worker.",
            &metrics.queue_depth,
        ),
        (
            "in_flight",
            "Owners that a worker reconciles.",
            &metrics.in_flight,
        ),
        (
            "entries",
            "Owners with an entry: queued, in flight, in back-off or awaiting confirmation.",
            &metrics.entries,
        ),
        (
            "spec_bytes",
            "Bytes of the specs in those entries.",
            &metrics.spec_bytes,
        ),
        (
            "cached_owners",
            "Owners of which the cache retains something.",
            &metrics.cached_owners,
        ),
    ] {
        page.value(name, "gauge", help, value.load(Relaxed));
    }
    page.value(
        "ready",
        "gauge",
        "1 while the initial list is complete and all watch streams are open, or a standby can take over; else 0.",
        u8::from(metrics.ready.load(Relaxed)),
    );
    page.value(
        "leader",
        "gauge",
        "1 in a replica that works, 0 in a standby. Always 1 without leader election.",
        u8::from(!metrics.is_standby()),
    );
    page.family(
        "crd_revision",
        "gauge",
        "Revision of the CRD in the binary and in the cluster (-1: unknown).",
    );
    for (place, revision) in [
        ("binary", &metrics.crd_revision_in_binary),
        ("cluster", &metrics.crd_revision),
    ] {
        let label = format_args!("where=\"{place}\"");
        page.labelled("crd_revision", label, revision.load(Relaxed));
    }
    page.family("build_info", "gauge", "1; the labels describe the binary.");
    let (version, arch) = (build.version, std::env::consts::ARCH);
    let allocator = build.allocator;
    page.labelled(
        "build_info",
        format_args!("version=\"{version}\",arch=\"{arch}\",allocator=\"{allocator}\""),
        1,
    );
    for metric in lock(&metrics.authors).iter() {
        let kind = match metric.is_counter {
            true => "counter",
            false => "gauge",
        };
        page.value(metric.name, kind, metric.help, metric.get());
    }
    page.text
}

/// A page of metrics whose names have one prefix.
pub(crate) struct Page<'a> {
    prefix: &'a str,
    pub text: String,
}

impl<'a> Page<'a> {
    /// An empty page.
    pub fn new(prefix: &'a str) -> Self {
        let text = String::with_capacity(6 << 10);
        Self { prefix, text }
    }

    /// Appends a metric without labels.
    pub fn value(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        let prefix = self.prefix;
        line(&mut self.text, format_args!("{prefix}_{name} {value}"));
    }

    /// Appends what precedes the values of a metric.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        let name = self.name(name);
        family(&mut self.text, &name, kind, help);
    }

    /// Appends one value with its labels.
    pub fn labelled(&mut self, name: &str, labels: Arguments<'_>, value: impl Display) {
        let prefix = self.prefix;
        line(
            &mut self.text,
            format_args!("{prefix}_{name}{{{labels}}} {value}"),
        );
    }

    fn by_reason(&mut self, name: &str, help: &str, counts: &Mutex<BTreeMap<&'static str, u64>>) {
        self.family(name, "counter", help);
        for (reason, count) in lock(counts).iter() {
            self.labelled(name, format_args!("reason=\"{reason}\""), count);
        }
    }

    fn name(&self, name: &str) -> String {
        format!("{}_{name}", self.prefix)
    }
}

/// Appends the two lines that precede the values of a metric.
pub(crate) fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    line(
        text,
        format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"),
    );
}

/// Appends one line. Writing to a `String` cannot fail.
pub(crate) fn line(text: &mut String, content: Arguments<'_>) {
    let _ = text.write_fmt(content);
    text.push('\n');
}
