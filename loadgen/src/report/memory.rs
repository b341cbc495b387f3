//! Memory against the number of objects: the picture, the slopes, the tables.

use crate::error::Usage;
use crate::metric::Shown;
use crate::plan::cell::Kind;
use crate::record::summary::{Subject, Summary};
use crate::report::chart::{Axis, Chart, Line};
use crate::report::rows::{DRAIN, PEAK, Row, SETTLED, largest_of, sizes_of, slot};
use crate::report::table::{Table, figure, grouped};
use crate::report::{Block, Drawings, Figure, Section, rows};

pub fn section(summary: &Summary) -> Option<Section> {
    let largest = largest_of(summary, Kind::Memory)?;
    let figure = chart(summary).map(|chart| Figure {
        title: "Settled memory against the number of objects",
        words: "Each point is the median of the valid runs of a size; the bar through it is their range. A straight line between points is not a measurement.".into(),
        drawings: Drawings::Chart(Box::new(chart)),
    });
    let title = format!("Memory at {} objects", grouped(largest));
    let phases = rows::table(title, summary, largest, rows::shown(Shown::Memory));
    let tables = [phases, slopes(summary)]
        .into_iter()
        .chain(by_size(summary));
    let blocks = figure.map(Block::Figure).into_iter();
    let blocks = blocks.chain(tables.map(Block::Table)).collect();
    Section::of("memory", "Memory by number of objects", blocks)
}

/// What an object adds to settled memory, and what that rests on.
fn slopes(summary: &Summary) -> Table {
    let whole =
        |bytes: Option<f64>| bytes.map_or_else(|| figure(None), |bytes| format!("{bytes:.0}"));
    let line = |subject: &Subject| subject.bytes_per_object.clone();
    let end =
        |subject: &Subject, n: usize| whole(line(subject).and_then(|line| Some(line.ci95?[n])));
    let rests_on = |subject: &Subject| match line(subject) {
        Some(line) => {
            let sizes: Vec<String> = line.sizes.iter().map(|size| grouped(*size)).collect();
            format!("from {} runs at {}", line.runs, sizes.join(" / "))
        }
        None => "not measured: a slope needs valid memory runs at two sizes of 500 objects or more"
            .to_owned(),
    };
    Table::of(
        "Slope: anonymous memory that each further object adds, settled",
        &summary.subjects,
        &[
            ("", &Subject::id),
            ("bytes per object", &|s| {
                whole(line(s).map(|line| line.slope))
            }),
            ("95 %, from", &|s| end(s, 0)),
            ("95 %, to", &|s| end(s, 1)),
            ("rests on", &rests_on),
        ],
    )
}

/// The most important figures by size, a table each; none where one size was measured.
fn by_size(summary: &Summary) -> Vec<Table> {
    let figures = [
        SETTLED,
        "memory.settled.anon_bytes",
        PEAK,
        "memory.settled.cgroup.peak_bytes",
        DRAIN,
    ];
    let tables = rows::named(&figures).filter_map(|row| {
        let sizes = sizes_of(summary, &[row.kind?]);
        let line = |subject: &Subject| {
            let cells = sizes.iter().map(|size| row.cell(subject, *size));
            std::iter::once(subject.id()).chain(cells).collect()
        };
        let header = sizes.iter().map(|size| grouped(*size));
        let table = Table {
            title: format!("{}, by number of objects", row.label()),
            header: std::iter::once(String::new()).chain(header).collect(),
            rows: summary.subjects.iter().map(line).collect(),
        };
        let is_known = sizes.iter().any(|size| row.is_known(summary, *size));
        (sizes.len() > 1 && is_known).then_some(table)
    });
    tables.collect()
}

/// Settled RSS against the number of objects; `None` where fewer than two sizes were measured.
fn chart(summary: &Summary) -> Option<Chart> {
    let row = Row::named(SETTLED)?;
    let sizes = sizes_of(summary, &[Kind::Memory]);
    let lines = summary
        .subjects
        .iter()
        .map(|subject| line(summary, subject, &sizes, row));
    let lines: Vec<Line> = lines.filter(|line| !line.points.is_empty()).collect();
    let ends = lines.iter().map(|line| {
        let (from, to) = (line.points[0], line.points[line.points.len() - 1]);
        let name = &line.name;
        format!(
            "{name} from {:.1} to {:.1} MB at {:.0} objects",
            from.1, to.1, to.0
        )
    });
    let ends = ends.collect::<Vec<_>>().join("; ");
    (sizes.len() > 1 && !lines.is_empty()).then(|| Chart {
        id: "memory-by-objects".into(),
        title: "Settled memory against the number of objects".into(),
        description: format!("Lines: {ends}."),
        x: Axis {
            ticks: sizes.iter().map(|size| *size as f64).collect(),
            ..Axis::linear("objects")
        },
        y: Axis::linear("RSS settled, MB"),
        lines,
        ..Chart::default()
    })
}

fn line(summary: &Summary, subject: &Subject, sizes: &[usize], settled: Row) -> Line {
    let id = subject.id();
    let range = |size: &usize| {
        let values = || settled.values(subject, *size).into_iter();
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        (low < high).then_some((*size as f64, [low, high]))
    };
    let point = |size: &usize| Some((*size as f64, settled.value(subject, *size)?));
    Line {
        slot: slot(summary, &id),
        name: id,
        points: sizes.iter().filter_map(point).collect(),
        has_dots: true,
        ranges: sizes.iter().filter_map(range).collect(),
        ..Line::default()
    }
}

/// The picture of a README: memory by number of objects, as an SVG file of its own.
///
/// # Errors
/// `Usage` where fewer than two sizes were measured.
pub fn picture(summary: &Summary) -> anyhow::Result<String> {
    let none = "a picture needs settled memory at two sizes; measure more with --objects";
    chart(summary).ok_or_else(|| Usage(none.to_owned()))?.file()
}
