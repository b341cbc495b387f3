//! What an author counts or measures himself, on the page with the metrics of the runtime.
//!
//! Guarantees: a name that Prometheus refuses, that does not fit what it is for, or that the runtime has itself does not
//! compile in a `static`. Eight bytes for each value; counting never blocks.
//! Leaves to others: the page (`metrics`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The names of the runtime's own metrics, without their prefix.
pub(crate) const OWN: &[&str] = &[
    "reconcile_duration_seconds",
    "api_requests_total",
    "reconcile_errors_total",
    "watch_restarts_total",
    "owner_reads_for_children_total",
    "undecodable_total",
    "dropped_events_total",
    "relists_requested_total",
    "relists_completed_total",
    "drift_total",
    "noop_patches_total",
    "events_suppressed_total",
    "queue_depth",
    "in_flight",
    "entries",
    "spec_bytes",
    "cached_owners",
    "ready",
    "leader",
    "crd_revision",
    "build_info",
];

/// A number of an author's own: a `static`, listed in [`Operator::metrics`](crate::api::Operator::metrics).
///
/// ```
/// use tare_runtime::api::Metric;
///
/// static ISSUED: Metric = Metric::counter("certificates_issued_total", "Certificates issued.");
/// static WAITING: Metric = Metric::gauge("queue_age_seconds", "Age of the oldest request that waits.");
///
/// ISSUED.add(1);
/// WAITING.set(40);
/// assert_eq!((ISSUED.get(), WAITING.get()), (1, 40));
/// ```
///
/// The page has it under the prefix of the operator, as `notes_certificates_issued_total`. As Prometheus has it, a name says
/// what is counted, ends with the unit where there is one (`_seconds`, `_bytes`: base units), and with `_total` after
/// that where it is a counter. It consists of `a-z`, `0-9` and `_`, and begins with a letter. Another one does not compile:
///
/// ```compile_fail
/// # use tare_runtime::api::Metric;
/// static ISSUED: Metric = Metric::counter("Certificates-issued", "Certificates issued.");
/// ```
///
/// It has no labels, and belongs to the process: a second operator that lists it shows the same number.
#[derive(Debug)]
pub struct Metric {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) is_counter: bool,
    value: AtomicU64,
}

impl Metric {
    /// What only grows until the process ends. `name` ends with `_total`; `help` is a sentence on one line.
    ///
    /// # Panics
    /// The name or the help is none: in a `static` that is an error of the compiler.
    #[must_use]
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        assert!(
            ends_with(name, "_total"),
            "the name of a counter ends with _total"
        );
        Self::new(name, help, true)
    }

    /// What goes up and down. `name` does not end with `_total`; `help` is a sentence on one line.
    ///
    /// # Panics
    /// As those of [`counter`](Self::counter).
    #[must_use]
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        assert!(
            !ends_with(name, "_total"),
            "only the name of a counter ends with _total"
        );
        Self::new(name, help, false)
    }

    /// Counts `by` more.
    pub fn add(&self, by: u64) {
        self.value.fetch_add(by, Relaxed);
    }

    /// It is `value` now.
    pub fn set(&self, value: u64) {
        self.value.store(value, Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.value.load(Relaxed)
    }

    const fn new(name: &'static str, help: &'static str, is_counter: bool) -> Self {
        assert!(
            is_name(name),
            "the name of a metric has only a-z, 0-9 and _, and begins with a letter"
        );
        assert!(
            is_line(help),
            "the help of a metric is one line without a backslash"
        );
        let mut own = 0;
        while own < OWN.len() {
            assert!(
                !is_same(name, OWN[own]),
                "the runtime has a metric of this name"
            );
            own += 1;
        }
        Self {
            name,
            help,
            is_counter,
            value: AtomicU64::new(0),
        }
    }
}

const fn is_name(name: &str) -> bool {
    let name = name.as_bytes();
    let mut at = 0;
    while at < name.len() {
        let begins = name[at].is_ascii_lowercase();
        let goes_on = at > 0 && (name[at].is_ascii_digit() || name[at] == b'_');
        if !begins && !goes_on {
            return false;
        }
        at += 1;
    }
    at > 0
}

const fn is_line(help: &str) -> bool {
    let help = help.as_bytes();
    let mut at = 0;
    while at < help.len() {
        if matches!(help[at], b'\n' | b'\r' | b'\\') {
            return false;
        }
        at += 1;
    }
    at > 0
}

const fn ends_with(name: &str, end: &str) -> bool {
    let (name, end) = (name.as_bytes(), end.as_bytes());
    if name.len() < end.len() {
        return false;
    }
    let from = name.len() - end.len();
    let mut at = 0;
    while at < end.len() {
        if name[from + at] != end[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && ends_with(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(make: impl FnOnce() -> Metric + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(make).is_err()
    }

    #[test]
    fn a_name_that_prometheus_or_the_runtime_would_not_have_is_refused() {
        for name in [
            "",
            "_total",
            "9_total",
            "a-b_total",
            "Ab_total",
            "é_total",
            "sent",
        ] {
            assert!(is_refused(|| Metric::counter(name, "Sent.")), "{name}");
        }
        for name in ["sent_total", "ready", "spec_bytes", "a b"] {
            assert!(is_refused(|| Metric::gauge(name, "Sent.")), "{name}");
        }
        for own in OWN.iter().filter(|name| name.ends_with("_total")) {
            assert!(is_refused(|| Metric::counter(own, "Sent.")), "{own}");
        }
        for help in ["", "two\nlines", "a \\ b"] {
            assert!(is_refused(|| Metric::counter("sent_total", help)), "{help}");
        }
        assert!(!is_refused(|| Metric::counter(
            "sent2_bytes_total",
            "Sent."
        )));
        assert!(!is_refused(|| Metric::gauge("is_ready", "Sent.")));
    }
}
