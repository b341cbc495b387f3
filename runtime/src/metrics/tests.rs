//! The page as Prometheus reads it, and why the operator is not ready.

use crate::metrics::*;

#[test]
fn every_line_is_prometheus_text() {
    let metrics = Metrics::default();
    metrics.request(Verb::Patch);
    metrics.error("Collision");
    metrics.watch_restart("Expired");
    let text = metrics.render();
    for expected in [
        "tare_api_requests_total{verb=\"patch\"} 1",
        "tare_reconcile_errors_total{reason=\"Collision\"} 1",
        "tare_watch_restarts_total{reason=\"Expired\"} 1",
    ] {
        assert!(
            text.lines().any(|line| line == expected),
            "{expected} is missing in\n{text}"
        );
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line
            .rsplit(' ')
            .next()
            .and_then(|value| value.parse::<f64>().ok());
        assert!(value.is_some(), "{line}");
    }
}

#[test]
fn readiness_names_its_reason() {
    let metrics = Metrics::default();
    assert_eq!(
        metrics.readiness(),
        Err("the first join is not done yet".to_owned())
    );
    metrics.set_ready();
    assert_eq!(metrics.readiness(), Ok(()));
    metrics.set_not_ready("the EdgeApp CRD is not installed");
    assert_eq!(
        metrics.readiness(),
        Err("the EdgeApp CRD is not installed".to_owned())
    );
}
