//! Memory and CPU over the time of one run of each subject, with its steps.
//!
//! Guarantees: memory is that of the first valid memory run at the largest size, CPU that of the first
//! valid drain, which was alone on the machine. A run without a series has no panel.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{Page, Section, panels, slot};
use crate::model::cell::{Cell, Kind};
use crate::model::evidence::Evidence;
use crate::model::record::{Record, Run};
use crate::model::series::{Series, SeriesRow};
use crate::report::chart::Caption;
use crate::report::chart::scale::Spacing;
use crate::report::chart::steps::{Panel, Span};
use crate::report::table::grouped;

/// CPU is averaged over this long, seconds: shorter is noise of the clock.
const CPU_WINDOW_S: f64 = 1.0;

/// Seconds since the run began, and a figure.
type Points = Vec<(f64, f64)>;

/// The series of the runs that are drawn.
#[derive(Debug, Clone, Default)]
pub struct OverTime {
    series: BTreeMap<Cell, Series>,
}

/// The series of the runs that are drawn; runs without one are left out.
///
/// # Errors
/// A file cannot be read, or is not what loadgen wrote.
pub fn read_series(evidence: &Evidence, record: &Record) -> anyhow::Result<OverTime> {
    let mut series = BTreeMap::new();
    for run in [Kind::Memory, Kind::Drain]
        .iter()
        .flat_map(|kind| drawn(record, *kind))
    {
        let name = format!("series/{}.tsv.gz", run.cell.file_stem());
        if !evidence.path(&name).is_file() {
            continue;
        }
        let text = evidence.read_gzip(&name)?;
        let read = Series::parse(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        series.insert(run.cell.clone(), read);
    }
    Ok(OverTime { series })
}

/// The first valid run of each subject at the largest size of a kind.
fn drawn(record: &Record, kind: Kind) -> Vec<&Run> {
    let of_kind = || {
        record
            .runs
            .values()
            .filter(move |run| run.cell.kind == kind)
    };
    let largest = of_kind().map(|run| run.cell.objects).max();
    let valid = |run: &&Run| run.failure.is_none() && run.invalid_because.is_empty();
    let subjects = record
        .experiment
        .origin
        .subjects
        .iter()
        .map(|s| s.subject.id());
    subjects
        .filter_map(|id| {
            let mut own = of_kind().filter(|run| run.cell.subject == id);
            own.find(|run| Some(run.cell.objects) == largest && valid(run))
        })
        .collect()
}

pub fn section(page: &Page) -> Option<Section> {
    let memory = charts(
        page,
        Kind::Memory,
        Spacing::Log,
        "memory-over-time",
        "RSS; dashed: anonymous, MB",
        |series| {
            [
                megabytes(series, |row| row.rss_bytes),
                megabytes(series, |row| row.anon_bytes),
            ]
        },
    );
    let cpu = charts(
        page,
        Kind::Drain,
        Spacing::Linear,
        "cpu-over-time",
        "CPU, % of one core",
        |series| [cpu_percent(series), Vec::new()],
    );
    if memory.is_empty() && cpu.is_empty() {
        return None;
    }
    let body = html! {
        @if !memory.is_empty() {
            (panels(&memory, "Memory over time", &format!("{} The scale is the same in all, and logarithmic, so that small and large subjects show their shape. Bands are the steps of the run. Memory is sampled four times a second, so a shorter peak is in the tables only.", which(page, Kind::Memory, "memory run"))))
        }
        @if !cpu.is_empty() {
            (panels(&cpu, "CPU over time", &format!("{} Nothing else was at work on the machine; averaged over a second.", which(page, Kind::Drain, "drain"))))
        }
    };
    Some(Section::new("over-time", "Memory and CPU over time", body))
}

/// Which runs are drawn, in a sentence.
fn which(page: &Page, kind: Kind, name: &str) -> String {
    let drawn = drawn(page.record, kind);
    let objects = drawn.first().map_or(0, |run| run.cell.objects);
    format!(
        "The first valid {name} of each subject with {} objects.",
        grouped(objects)
    )
}

fn charts(
    page: &Page,
    kind: Kind,
    spacing: Spacing,
    id: &str,
    unit: &str,
    lines: fn(&Series) -> [Points; 2],
) -> Vec<Markup> {
    let runs = drawn(page.record, kind).into_iter();
    let with_lines: Vec<(&Run, [Points; 2])> = runs
        .filter_map(|run| Some((run, lines(page.over_time.series.get(&run.cell)?))))
        .filter(|(_, [first, _])| !first.is_empty())
        .collect();
    let values = || {
        let points = with_lines.iter().flat_map(|(_, lines)| lines).flatten();
        points.map(|(_, value)| *value).filter(|value| *value > 0.0)
    };
    let extent = [
        values().fold(f64::INFINITY, f64::min),
        values().fold(0.0, f64::max),
    ];
    let panel = |(run, [points, second]): (&Run, [Points; 2])| {
        let subject = run.cell.subject.clone();
        let slot = slot(page.summary, &subject);
        let peak = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        Panel {
            caption: Caption {
                id: format!("{id}-{slot}"),
                title: format!("{unit} of {subject} over the time of one run"),
                description: format!("Highest: {peak:.1}. Steps: {}.", steps_in_words(run)),
            },
            name: subject,
            slot,
            unit: unit.to_owned(),
            points,
            second,
            steps: steps(run),
            extent,
            spacing,
        }
        .draw()
    };
    with_lines.into_iter().map(panel).collect()
}

fn steps(run: &Run) -> Vec<Span> {
    let span = |step: &crate::model::record::StepSpan| Span {
        name: step.step.clone(),
        from_s: step.from_ms as f64 / 1e3,
        to_s: step.to_ms as f64 / 1e3,
    };
    run.steps.iter().map(span).collect()
}

fn steps_in_words(run: &Run) -> String {
    let span = |step: Span| {
        format!(
            "{} from {:.0} to {:.0} s",
            step.name, step.from_s, step.to_s
        )
    };
    steps(run)
        .into_iter()
        .map(span)
        .collect::<Vec<_>>()
        .join(", ")
}

fn at_s(row: &SeriesRow) -> f64 {
    row.at_ms as f64 / 1e3
}

fn megabytes(series: &Series, bytes: fn(&SeriesRow) -> Option<u64>) -> Vec<(f64, f64)> {
    let point = |row: &SeriesRow| Some((at_s(row), bytes(row)? as f64 / 1e6));
    series.rows.iter().filter_map(point).collect()
}

/// CPU per time, in percent of one core, over windows of a second or more. A process that was started
/// again counts from zero.
fn cpu_percent(series: &Series) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut before: Option<(f64, u64)> = None;
    for row in &series.rows {
        let Some(cpu_ms) = row.cpu_ms else {
            before = None;
            continue;
        };
        let now = at_s(row);
        match before {
            Some((_, spent)) if spent > cpu_ms => before = Some((now, cpu_ms)),
            Some((then, spent)) if now - then >= CPU_WINDOW_S => {
                let percent = (cpu_ms - spent) as f64 / 10.0 / (now - then);
                points.push((now, percent));
                before = Some((now, cpu_ms));
            }
            Some(_) => {}
            None => before = Some((now, cpu_ms)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_started_again_has_no_negative_cpu() {
        let row = |(at_ms, cpu_ms): (u64, Option<u64>)| SeriesRow {
            at_ms,
            cpu_ms,
            ..SeriesRow::default()
        };
        let rows = [
            (0, Some(0)),
            (500, Some(400)),
            (1_000, Some(500)),
            (1_500, Some(10)),
            (2_500, Some(110)),
            (3_000, None),
            (4_000, Some(500)),
        ];
        let series = Series {
            every_ms: 250,
            rows: rows.into_iter().map(row).collect(),
        };
        assert_eq!(cpu_percent(&series), [(1.0, 50.0), (2.5, 10.0)]);
    }
}
