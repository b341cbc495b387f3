//! An envelope as tables and as a picture.
//!
//! Guarantees: pure; a try that did not hold stands in the table with its reason. Leaves to others: the tries.

use crate::record::envelope::{Envelope, Try};
use crate::report::chart::{Axis, Chart, Line};
use crate::report::table::{Table, figure, grouped};

const MB: f64 = 1e6;

/// One for bursts, one for rates and one for updates, where there are any.
pub fn tables(envelope: &Envelope) -> Vec<Table> {
    let all = [
        ("all objects at once", "objects", &envelope.objects),
        ("objects at a rate", "per second", &envelope.rates),
        ("updates at a rate", "per second", &envelope.updates),
    ];
    let there = all.into_iter().filter(|(_, _, tries)| !tries.is_empty());
    let tables = there.map(|(what, unit, tries)| {
        Table::of(
            format!("{}, {what}, within {}", envelope.subject, envelope.bounds),
            &ascending(tries),
            &[
                (unit, &|tried| grouped(tried.size)),
                ("ready P99, ms", &|tried| figure(tried.p99_ms)),
                ("drain, s", &|tried| figure(tried.drain_s)),
                ("peak, MB", &|tried| figure(peak_mb(tried))),
                ("holds", &|tried| match &tried.why_not {
                    None => "yes".to_owned(),
                    Some(why) => format!("no: {why}"),
                }),
            ],
        )
    });
    tables.collect()
}

fn ascending(tries: &[Try]) -> Vec<&Try> {
    let mut all: Vec<&Try> = tries.iter().collect();
    all.sort_by_key(|tried| tried.size);
    all
}

fn peak_mb(tried: &Try) -> Option<f64> {
    tried.peak_bytes.map(|bytes| bytes as f64 / MB)
}

/// Memory by the size of the tries where it is limited, else the time until objects are ready, beside the limit; `None`
/// where fewer than two tries tell it.
///
/// # Errors
/// As [`Chart::file`].
pub fn svg(envelope: &Envelope) -> anyhow::Result<Option<String>> {
    let memory = envelope.bounds.memory_bytes.map(|bytes| bytes as f64 / MB);
    let (at_once, peak) = (&envelope.objects, "peak of the cgroup, MB");
    let (ready, p99_ms) = ("ready P99, ms", envelope.p99_ms);
    let of_time: fn(&Try) -> Option<f64> = |tried| tried.p99_ms;
    let plots = [
        (
            "P99 until ready by rate of updates",
            "updates per second",
            &envelope.updates,
        ),
        (
            "P99 until ready by rate of new objects",
            "objects per second",
            &envelope.rates,
        ),
        (
            "P99 until ready by number of objects",
            "objects at once",
            at_once,
        ),
    ];
    let plots = plots.map(|(title, x, tries)| (title, x, ready, points(tries, of_time), p99_ms));
    let of_memory = memory.map(|limit| {
        let title = "Peak of memory by number of objects, within the limit";
        (
            title,
            "objects at once",
            peak,
            points(at_once, peak_mb),
            Some(limit),
        )
    });
    let mut plots = of_memory.into_iter().chain(plots);
    let Some((title, x, y, points, limit)) = plots.find(|plot| plot.3.len() > 1) else {
        return Ok(None);
    };
    let (first, last) = (points[0], points[points.len() - 1]);
    let within = match limit {
        Some(limit) => format!("the limit is {}", figure(Some(limit))),
        None => "without a limit".to_owned(),
    };
    let of_subject = Line {
        name: envelope.subject.clone(),
        points,
        has_dots: true,
        ..Line::default()
    };
    let limit = limit.map(|limit| Line {
        name: "limit".into(),
        slot: 1,
        points: vec![(first.0, limit), (last.0, limit)],
        is_dashed: true,
        ..Line::default()
    });
    let chart = Chart {
        id: "envelope".into(),
        title: title.into(),
        description: format!(
            "At {} ({x}): {} ({y}); {within}.",
            figure(Some(last.0)),
            figure(Some(last.1))
        ),
        x: Axis::linear(x),
        y: Axis::linear(y),
        lines: std::iter::once(of_subject).chain(limit).collect(),
        is_listed: true,
        ..Chart::default()
    };
    chart.file().map(Some)
}

fn points(tries: &[Try], of: fn(&Try) -> Option<f64>) -> Vec<(f64, f64)> {
    let tries = ascending(tries).into_iter();
    tries
        .filter_map(|tried| Some((tried.size as f64, of(tried)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::bounds::Bounds;

    fn tried(size: usize, peak_mb: u64, why_not: Option<&str>) -> Try {
        Try {
            size,
            objects: size,
            why_not: why_not.map(str::to_owned),
            p99_ms: Some(120.0),
            drain_s: why_not.is_none().then_some(2.0),
            peak_bytes: Some(peak_mb * 1_000_000),
            invalid_because: Vec::new(),
        }
    }

    fn envelope() -> Envelope {
        Envelope {
            subject: "mock/works".into(),
            workload: "gadget".into(),
            control_plane: "kubesim".into(),
            kubernetes_version: None,
            loadgen_commit: "abc".into(),
            bounds: Bounds {
                memory_bytes: Some(16_000_000),
                cpu_cores: None,
            },
            p99_ms: None,
            objects: vec![
                tried(200, 16, Some("killed for memory")),
                tried(100, 9, None),
            ],
            rates: Vec::new(),
            updates: Vec::new(),
        }
    }

    #[test]
    fn tries_stand_by_size_with_their_reasons() {
        let tables = tables(&envelope());
        assert_eq!(tables.len(), 1);
        assert_eq!(
            tables[0].title,
            "mock/works, all objects at once, within 16.0 MB"
        );
        let both = Bounds {
            memory_bytes: Some(64_000_000),
            cpu_cores: Some(0.5),
        };
        assert_eq!(both.to_string(), "64.0 MB and 0.5 cores");
        assert_eq!(
            tables[0].rows,
            [
                ["100", "120", "2.00", "9.00", "yes"],
                ["200", "120", "–", "16.0", "no: killed for memory"],
            ]
        );
    }

    #[test]
    fn the_picture_has_the_limit() {
        let svg = svg(&envelope()).expect("drawn").expect("two tries");
        assert!(svg.starts_with("<svg") && svg.contains("limit"), "{svg}");
        assert!(svg.contains("peak of the cgroup, MB"), "{svg}");
        let mut one = envelope();
        one.objects.pop();
        assert!(super::svg(&one).expect("drawn").is_none());
    }

    #[test]
    fn without_a_memory_limit_the_picture_has_the_time_until_ready() {
        let mut of_rates = envelope();
        of_rates.bounds = Bounds {
            memory_bytes: None,
            cpu_cores: Some(0.5),
        };
        let svg = super::svg(&of_rates).expect("drawn").expect("two sizes");
        assert!(
            svg.contains("P99 until ready by number of objects"),
            "{svg}"
        );
        assert!(!svg.contains(">limit<"), "there is none: {svg}");
        of_rates.p99_ms = Some(500.0);
        of_rates.updates = vec![tried(10, 9, None), tried(20, 9, Some("slow"))];
        let svg = super::svg(&of_rates).expect("drawn").expect("two rates");
        assert!(svg.contains("P99 until ready by rate of updates"), "{svg}");
        assert!(svg.contains(">limit<"), "{svg}");
    }
}
