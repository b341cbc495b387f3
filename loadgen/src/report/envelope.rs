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
        ("updates at a rate", "per second", &envelope.updates),
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

/// What a picture shows: a figure of the tries by their size, and its limit where it has one.
struct Plot {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    points: Vec<(f64, f64)>,
    limit: Option<f64>,
}

impl Plot {
    /// Memory where it is limited, else the time until objects are ready; `None` where fewer than two tries tell it.
    fn of(envelope: &Envelope) -> Option<Self> {
        let memory = envelope.bounds.memory_bytes.map(|bytes| Self {
            title: "Peak of memory by number of objects, within the limit",
            x: "objects at once",
            y: "peak of the cgroup, MB",
            points: points(&envelope.objects, peak_mb),
            limit: Some(bytes as f64 / MB),
        });
        let time = |title, x, tries: &[Try]| Self {
            title,
            x,
            y: "ready P99, ms",
            points: points(tries, |tried| tried.p99_ms),
            limit: envelope.p99_ms,
        };
        let times = [
            time(
                "P99 until ready by rate of updates",
                "updates per second",
                &envelope.updates,
            ),
            time(
                "P99 until ready by rate of new objects",
                "objects per second",
                &envelope.rates,
            ),
            time(
                "P99 until ready by number of objects",
                "objects at once",
                &envelope.objects,
            ),
        ];
        let mut all = memory.into_iter().chain(times);
        all.find(|plot| plot.points.len() > 1)
    }

    fn description(&self) -> String {
        let last = self.points.last();
        let limit = match self.limit {
            Some(limit) => format!("the limit is {}", figure(Some(limit))),
            None => "without a limit".to_owned(),
        };
        format!(
            "At {} ({}): {} ({}); {limit}.",
            figure(last.map(|point| point.0)),
            self.x,
            figure(last.map(|point| point.1)),
            self.y,
        )
    }
}

fn points(tries: &[Try], of: fn(&Try) -> Option<f64>) -> Vec<(f64, f64)> {
    let tries = ascending(tries).into_iter();
    let known = tries.filter_map(|tried| Some((tried.size as f64, of(tried)?)));
    known.collect()
}

/// A figure of the tries by their size, beside its limit; `None` where fewer than two tries tell one.
pub fn svg(envelope: &Envelope) -> Option<String> {
    let plot = Plot::of(envelope)?;
    let description = plot.description();
    let (first, last) = (plot.points.first()?.0, plot.points.last()?.0);
    let line = |name: String, slot, points, stroke, dots| Line {
        name,
        slot,
        points,
        stroke,
        dots,
        ranges: Vec::new(),
        mark: None,
    };
    let limit = plot.limit.map(|limit| {
        let points = vec![(first, limit), (last, limit)];
        line("limit".into(), 1, points, Stroke::Dashed, false)
    });
    let of_subject = line(
        envelope.subject.clone(),
        0,
        plot.points,
        Stroke::Solid,
        true,
    );
    let chart = LineChart {
        caption: Caption {
            id: "envelope".into(),
            title: plot.title.into(),
            description,
        },
        names: Names::Above,
        x: Axis::linear(plot.x),
        y: Axis::linear(plot.y),
        lines: std::iter::once(of_subject).chain(limit).collect(),
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
        assert!(svg.contains("peak of the cgroup, MB"), "{svg}");
        let mut one = envelope();
        one.objects.pop();
        assert!(super::svg(&one).is_none());
    }

    #[test]
    fn without_a_memory_limit_the_picture_has_the_time_until_ready() {
        let mut of_rates = envelope();
        of_rates.bounds = Bounds {
            memory_bytes: None,
            cpu_cores: Some(0.5),
        };
        let svg = super::svg(&of_rates).expect("two sizes");
        assert!(
            svg.contains("P99 until ready by number of objects"),
            "{svg}"
        );
        assert!(!svg.contains(">limit<"), "there is none: {svg}");
        of_rates.p99_ms = Some(500.0);
        of_rates.updates = vec![tried(10, 9, None), tried(20, 9, Some("slow"))];
        let svg = super::svg(&of_rates).expect("two rates");
        assert!(svg.contains("P99 until ready by rate of updates"), "{svg}");
        assert!(svg.contains(">limit<"), "{svg}");
    }
}
