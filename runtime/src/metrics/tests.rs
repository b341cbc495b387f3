//! The page as Prometheus reads it, and why the operator is not ready.

use crate::metrics::*;

const BUILD: Build<'static> = Build {
    prefix: "notes",
    version: "1.2.3",
    allocator: "system",
};

#[test]
fn every_line_is_prometheus_text() {
    let metrics = Metrics::default();
    metrics.request(Verb::Patch);
    metrics.error("Collision");
    metrics.watch_restart("Expired");
    let text = metrics.render(&BUILD);
    for expected in [
        "notes_api_requests_total{verb=\"patch\"} 1",
        "notes_reconcile_errors_total{reason=\"Collision\"} 1",
        "notes_watch_restarts_total{reason=\"Expired\"} 1",
        "notes_relists_requested_total 0",
    ] {
        assert!(
            text.lines().any(|line| line == expected),
            "{expected} is missing in\n{text}"
        );
    }
    assert!(
        text.contains("notes_build_info{version=\"1.2.3\","),
        "{text}"
    );
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line
            .rsplit(' ')
            .next()
            .and_then(|value| value.parse::<f64>().ok());
        assert!(value.is_some(), "{line}");
        let ours = line.starts_with("notes_") || line.starts_with("process_");
        assert!(ours, "{line} has another prefix");
    }
}

static SENT: Metric = Metric::counter("mails_sent_total", "Mails sent.");
static OLDEST: Metric = Metric::gauge("oldest_mail_seconds", "Age of the oldest mail that waits.");
static SENT_TOO: Metric = Metric::counter("mails_sent_total", "Mails of another kind.");

#[test]
fn an_authors_metrics_stand_under_the_prefix_and_each_name_once() {
    let metrics = Metrics::default();
    metrics.show(&[&SENT, &OLDEST, &SENT_TOO]);
    metrics.show(&[&SENT]);
    SENT.add(2);
    OLDEST.set(9);
    let text = metrics.render(&BUILD);
    let ours: Vec<_> = text.lines().filter(|line| line.contains("mail")).collect();
    assert_eq!(
        ours,
        [
            "# HELP notes_mails_sent_total Mails sent.",
            "# TYPE notes_mails_sent_total counter",
            "notes_mails_sent_total 2",
            "# HELP notes_oldest_mail_seconds Age of the oldest mail that waits.",
            "# TYPE notes_oldest_mail_seconds gauge",
            "notes_oldest_mail_seconds 9",
        ]
    );
}

/// An author's metric may have none of them.
#[test]
fn the_names_of_the_runtime_are_those_that_are_listed() {
    let text = Metrics::default().render(&BUILD);
    let names = text.lines().filter_map(|line| {
        let family = line.strip_prefix("# TYPE notes_")?;
        family.split(' ').next()
    });
    let names: Vec<_> = names.collect();
    assert_eq!(names, crate::api::OWN);
}

#[test]
fn readiness_names_its_reason() {
    let metrics = Metrics::default();
    assert_eq!(
        metrics.readiness(),
        Err("initial list in progress".to_owned())
    );
    metrics.set_ready();
    assert_eq!(metrics.readiness(), Ok(()));
    metrics.set_not_ready("the Note CRD is not installed");
    assert_eq!(
        metrics.readiness(),
        Err("the Note CRD is not installed".to_owned())
    );
}
