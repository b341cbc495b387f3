//! Memory and CPU over the time of one run of each subject, with its steps.
//!
//! Guarantees: memory is that of the first valid memory run at the largest size, CPU that of the first
//! valid drain, which was alone on the machine. A run without a series has no panel.

use std::collections::BTreeMap;

use crate::plan::cell::{Cell, Kind};
use crate::record::evidence::Evidence;
use crate::record::series::{Series, SeriesRow};
use crate::record::summary::Summary;
use crate::record::{Record, Run, StepSpan};
use crate::report::chart::{Axis, Band, Chart, Line};
use crate::report::rows::slot;
use crate::report::table::grouped;
use crate::report::{Block, Drawings, Figure, Section};

/// CPU is averaged over this long, seconds: shorter is noise of the clock.
const CPU_WINDOW_S: f64 = 1.0;

/// Seconds since the run began, and a figure.
type Points = Vec<(f64, f64)>;

/// The series of the runs that are drawn.
pub type OverTime = BTreeMap<Cell, Series>;

/// The series of the runs that are drawn; runs without one are left out.
///
/// # Errors
/// A file cannot be read, or is not what loadgen wrote.
pub fn read(evidence: &Evidence, record: &Record) -> anyhow::Result<OverTime> {
    let mut series = OverTime::new();
    for run in [Kind::Memory, Kind::Drain]
        .iter()
        .flat_map(|kind| drawn(record, *kind))
    {
        let name = format!("series/{}.tsv.gz", run.cell.file_stem());
        if evidence.path(&name).is_file() {
            let text = evidence.read_gzip(&name)?;
            let read = Series::parse(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
            series.insert(run.cell.clone(), read);
        }
    }
    Ok(series)
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
    let is_drawn = |run: &&Run| {
        Some(run.cell.objects) == largest && run.failure.is_none() && run.invalid_because.is_empty()
    };
    let subjects = record.experiment.origin.subjects.iter();
    let first = subjects.filter_map(|subject| {
        let id = subject.subject.id();
        of_kind()
            .filter(is_drawn)
            .find(|run| run.cell.subject == id)
    });
    first.collect()
}

pub fn section(summary: &Summary, record: &Record, over_time: &OverTime) -> Option<Section> {
    let memory = Panels {
        kind: Kind::Memory,
        id: "memory-over-time",
        title: "Memory over time",
        words: "memory run; dashed: anonymous memory. The scale is the same in all, and logarithmic, so that small and large subjects show their shape. Bands are the steps of the run. Memory is sampled four times a second, so a shorter peak is in the tables only.",
        axis: Axis::log("RSS, MB"),
        lines: |series| {
            vec![
                megabytes(series, |row| row.rss_bytes),
                megabytes(series, |row| row.anon_bytes),
            ]
        },
    };
    let cpu = Panels {
        kind: Kind::Drain,
        id: "cpu-over-time",
        title: "CPU over time",
        words: "drain. Nothing else was at work on the machine; averaged over a second.",
        axis: Axis::linear("CPU, % of one core"),
        lines: |series| vec![cpu_percent(series)],
    };
    let figures = [memory, cpu]
        .into_iter()
        .filter_map(|panels| panels.figure(summary, record, over_time));
    let blocks = figures.map(Block::Figure).collect();
    Section::of("over-time", "Memory and CPU over time", blocks)
}

/// A chart for each subject, with the same scale.
struct Panels {
    kind: Kind,
    id: &'static str,
    title: &'static str,
    /// After the first valid.
    words: &'static str,
    axis: Axis,
    /// Of a run; all but the first are dashed.
    lines: fn(&Series) -> Vec<Points>,
}

impl Panels {
    fn figure(&self, summary: &Summary, record: &Record, over_time: &OverTime) -> Option<Figure> {
        let runs = drawn(record, self.kind).into_iter();
        let runs = runs.filter_map(|run| Some((run, (self.lines)(over_time.get(&run.cell)?))));
        let runs: Vec<(&Run, Vec<Points>)> =
            runs.filter(|(_, lines)| !lines[0].is_empty()).collect();
        let objects = runs.first()?.0.cell.objects;
        let values = runs.iter().flat_map(|(_, lines)| lines).flatten();
        let y = Axis {
            also: values.map(|(_, value)| *value).collect(),
            ..self.axis.clone()
        };
        let charts = runs
            .into_iter()
            .map(|(run, lines)| self.chart(summary, run, lines, y.clone()));
        Some(Figure {
            title: self.title,
            words: format!(
                "Of each subject with {} objects, the first valid {}",
                grouped(objects),
                self.words
            ),
            drawings: Drawings::Panels(charts.collect()),
        })
    }

    fn chart(&self, summary: &Summary, run: &Run, lines: Vec<Points>, y: Axis) -> Chart {
        let subject = &run.cell.subject;
        let slot = slot(summary, subject);
        let peak = lines[0].iter().map(|(_, value)| *value).fold(0.0, f64::max);
        let band = |span: &StepSpan| Band {
            name: span.step.clone(),
            from: span.from_ms as f64 / 1e3,
            to: span.to_ms as f64 / 1e3,
        };
        let bands: Vec<Band> = run.steps.iter().map(band).collect();
        let steps = bands
            .iter()
            .map(|Band { name, from, to }| format!("{name} from {from:.0} to {to:.0} s"));
        let steps = steps.collect::<Vec<_>>().join(", ");
        let line = |(n, points)| Line {
            name: if n == 0 {
                subject.clone()
            } else {
                String::new()
            },
            slot,
            points,
            is_dashed: n > 0,
            ..Line::default()
        };
        Chart {
            id: format!("{}-{slot}", self.id),
            title: format!("{} of {subject} over the time of one run", y.title),
            description: format!("Highest: {peak:.1}. Steps: {steps}."),
            x: Axis::linear("seconds since the run began"),
            y,
            lines: (0..).zip(lines).map(line).collect(),
            bands,
            is_listed: true,
        }
    }
}

fn at_s(row: &SeriesRow) -> f64 {
    row.at_ms as f64 / 1e3
}

fn megabytes(series: &Series, bytes: fn(&SeriesRow) -> Option<u64>) -> Points {
    let point = |row: &SeriesRow| Some((at_s(row), bytes(row)? as f64 / 1e6));
    series.rows.iter().filter_map(point).collect()
}

/// CPU per time, in percent of one core, over windows of a second or more. A process that was started
/// again counts from zero.
fn cpu_percent(series: &Series) -> Points {
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
