//! An envelope as tables and as a picture.
//!
//! Guarantees: pure; a try that did not hold stands in the table with its reason. Leaves to others: the tries.

use crate::model::envelope::{Bounds, Envelope, Try};
use crate::report::chart::line::{Axis, Line, LineChart, Names, Stroke};
use crate::report::chart::{Caption, Size, theme};
use crate::report::table::{Table, figure, grouped};

const MB: f64 = 1e6;

/// One for bursts, one for rates and one for updates, where there are any.
pub fn tables(envelope: &Envelope) -> Vec<Table> {
    let all = [
        ("all objects at once", "objects", &envelope.objects),
        ("objects at a rate", "per second", &envelope.rates),
        ("updates at a rate", "per second", &envelope.churn),
    ];
    let there = all.into_iter().filter(|(_, _, tries)| !tries.is_empty());
    let tables = there.map(|(what, unit, tries)| Table {
        title: format!(
            "{}, {what}, within {}",
            envelope.subject,
            words(&envelope.bounds)
        ),
        header: [unit, "ready P99, ms", "drain, s", "peak, MB", "holds"]
            .map(str::to_owned)
            .to_vec(),
        rows: ascending(tries).into_iter().map(row).collect(),
    });
    tables.collect()
}

fn words(bounds: &Bounds) -> String {
    let memory = bounds.memory_bytes.map(|bytes| bytes as f64 / MB);
    let memory = memory.map(|mb| format!("{} MB", figure(Some(mb))));
    let cpu = bounds.cpu_cores.map(|cores| format!("{cores} cores"));
    let both: Vec<String> = memory.into_iter().chain(cpu).collect();
    both.join(" and ")
}

fn ascending(tries: &[Try]) -> Vec<&Try> {
    let mut all: Vec<&Try> = tries.iter().collect();
    all.sort_by_key(|tried| tried.size);
    all
}

fn row(tried: &Try) -> Vec<String> {
    let holds = match &tried.why_not {
        None => "yes".to_owned(),
        Some(why) => format!("no: {why}"),
    };
    vec![
        grouped(tried.size),
        figure(tried.p99_ms),
        figure(tried.drain_s),
        figure(peak_mb(tried)),
        holds,
    ]
}

fn peak_mb(tried: &Try) -> Option<f64> {
    tried.peak_bytes.map(|bytes| bytes as f64 / MB)
}

/// Memory at its peak by number of objects, beside the limit; `None` without a limit, or where fewer than two tries
/// tell it.
pub fn svg(envelope: &Envelope) -> Option<String> {
    let tries = ascending(&envelope.objects);
    let point = |tried: &&Try| Some((tried.size as f64, peak_mb(tried)?));
    let points: Vec<(f64, f64)> = tries.iter().filter_map(point).collect();
    let (first, last) = (points.first()?.0, points.last()?.0);
    if points.len() < 2 {
        return None;
    }
    let limit_mb = envelope.bounds.memory_bytes? as f64 / MB;
    let line = |name: String, slot, points, stroke, dots| Line {
        name,
        slot,
        points,
        stroke,
        dots,
        ranges: Vec::new(),
        mark: None,
    };
    let chart = LineChart {
        caption: Caption {
            id: "envelope".into(),
            title: "Peak of memory by number of objects, within the limit".into(),
            description: format!(
                "{} objects need {} MB at most; the limit is {} MB.",
                last,
                figure(points.last().map(|point| point.1)),
                figure(Some(limit_mb))
            ),
        },
        names: Names::Above,
        x: Axis::linear("objects at once"),
        y: Axis::linear("peak of the cgroup, MB"),
        lines: vec![
            line(envelope.subject.clone(), 0, points, Stroke::Solid, true),
            line(
                "limit".into(),
                1,
                vec![(first, limit_mb), (last, limit_mb)],
                Stroke::Dashed,
                false,
            ),
        ],
    };
    let drawing = chart.draw(Size::WIDE).into_string();
    let style = format!(
        "<style>{}svg{{background:var(--ground)}}</style>",
        theme::css("svg")
    );
    let (head, body) = drawing.split_once('>')?;
    Some(format!("{head}>{style}{body}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            churn: Vec::new(),
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
        assert_eq!(words(&both), "64.0 MB and 0.5 cores");
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
        let svg = svg(&envelope()).expect("two tries");
        assert!(svg.starts_with("<svg") && svg.contains("limit"), "{svg}");
        let mut one = envelope();
        one.objects.pop();
        assert!(super::svg(&one).is_none());
    }
}
