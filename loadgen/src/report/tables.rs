//! The tables of a report: which figures, in which order.
//!
//! Guarantees: the terminal, `report.md` and `report.html` have the same tables. Leaves to others: what a
//! figure is (`rows`), the layout (`table`).

use crate::metric::Shown;
use crate::model::cell::Kind;
use crate::model::record::{Record, Sampled};
use crate::model::summary::{Subject, Summary};
pub use crate::report::rows::typical;
use crate::report::rows::{DRAIN, SETTLED, header, ratio};
use crate::report::table::{Table, figure, grouped};
use crate::report::{
    bystanders, default_flags, rate_sweep, ratios, request_counts, restarts, rows, small_node,
    unhealthy,
};

const MB: f64 = 1e6;

/// All tables of a report.
pub fn tables(summary: &Summary, record: &Record) -> Vec<Table> {
    let mut tables: Vec<Table> = small_node::table(summary).into_iter().collect();
    if let Some(&largest) = sizes_of(summary, Kind::Memory).last() {
        tables.push(memory(summary, record, largest));
    }
    if let Some(&largest) = sizes_of(summary, Kind::Drain).last() {
        tables.push(work(summary, largest));
    }
    tables.extend(slopes(summary));
    tables.extend(by_size(summary));
    tables.extend(rate_sweep::knees(summary));
    tables.extend(rate_sweep::table(summary));
    tables.extend(restarts::tables(record));
    tables.extend(unhealthy::tables(summary, record));
    tables.extend(bystanders::table(summary, record));
    tables.extend(request_counts::table(summary));
    tables.extend(default_flags::table(summary));
    tables.extend(ratios::table(summary));
    tables.extend(ratios::floors(summary));
    tables
}

/// Sizes that have memory runs or drains, ascending.
pub fn sizes(summary: &Summary) -> Vec<usize> {
    let mut sizes = sizes_of(summary, Kind::Memory);
    sizes.extend(sizes_of(summary, Kind::Drain));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Sizes that have runs of a kind, ascending.
pub fn sizes_of(summary: &Summary, kind: Kind) -> Vec<usize> {
    let runs = summary.subjects.iter().flat_map(|s| &s.runs);
    let mut sizes: Vec<usize> = runs
        .filter(|run| run.cell == kind)
        .map(|run| run.objects)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Memory in every phase, at one size.
pub fn memory(summary: &Summary, record: &Record, objects: usize) -> Table {
    let lines = rows::shown(Shown::Memory).filter_map(|row| row.line(summary, objects));
    let mut rows: Vec<Vec<String>> = lines.collect();
    rows.extend(soaked(summary, record));
    let megabytes = |bytes: fn(&Subject) -> Option<u64>| {
        let bytes = summary.subjects.iter().map(bytes);
        let bytes: Vec<Option<f64>> = bytes.map(|b| b.map(|b| b as f64 / MB)).collect();
        bytes.iter().any(Option::is_some).then_some(bytes)
    };
    rows.extend(megabytes(|s| s.binary_bytes).map(|values| line("binary, MB", values)));
    let packed = megabytes(|s| s.image_bytes_compressed);
    rows.extend(packed.map(|values| line("image, packed, MB", values)));
    let unpacked = megabytes(|s| s.image_bytes_unpacked);
    rows.extend(unpacked.map(|values| line("image, unpacked, MB", values)));
    Table {
        title: format!("Memory at {} objects", grouped(objects)),
        header: header(summary, true),
        rows,
    }
}

/// Settled memory before and after the soak, of the run that has one.
fn soaked(summary: &Summary, record: &Record) -> Vec<Vec<String>> {
    let soaked = |subject: &Subject| {
        let id = subject.id();
        let mut own = record.runs.values().filter(|run| run.cell.subject == id);
        own.find_map(|run| {
            let (before, after) = (run.memory.settled?, run.memory.after_soak?);
            Some((before, after, run.soak?))
        })
    };
    let soaked: Vec<_> = summary.subjects.iter().map(soaked).collect();
    let Some(events) = soaked
        .iter()
        .flatten()
        .map(|(_, _, soak)| soak.events)
        .min()
    else {
        return Vec::new();
    };
    let of = |figure: fn(&Sampled, &Sampled) -> Option<f64>| {
        let known = soaked.iter().map(|known| {
            let (before, after, _) = known.as_ref()?;
            figure(before, after).map(|bytes| bytes / MB)
        });
        known.collect::<Vec<Option<f64>>>()
    };
    let before = of(|before, _| Some(before.memory.rss_bytes as f64));
    let after = of(|_, after| Some(after.memory.rss_bytes as f64));
    let peak = of(|_, after| Some(after.peak_bytes? as f64));
    let events = grouped(events as usize);
    vec![
        line("RSS settled before the soak, MB", before),
        line(
            &format!("RSS settled after a soak of {events} events, MB"),
            after,
        ),
        line("RSS peak until the end of the soak, MB", peak),
    ]
}

/// Times, CPU and requests, at one size.
pub fn work(summary: &Summary, objects: usize) -> Table {
    let rows = rows::shown(Shown::Work).filter_map(|row| row.line(summary, objects));
    Table {
        title: format!("Work at {} objects", grouped(objects)),
        header: header(summary, true),
        rows: rows.collect(),
    }
}

/// What an object adds to settled memory, and what that rests on; `None` where no memory was measured.
pub fn slopes(summary: &Summary) -> Option<Table> {
    sizes_of(summary, Kind::Memory).last()?;
    let row = |subject: &Subject| {
        let Some(line) = &subject.bytes_per_object else {
            let missing = [figure(None), figure(None), figure(None)];
            let why =
                "not measured: a slope needs valid memory runs at two sizes of 500 objects or more"
                    .to_owned();
            return [subject.id()]
                .into_iter()
                .chain(missing)
                .chain([why])
                .collect();
        };
        let [low, high] = line
            .ci95
            .map_or([None, None], |interval| interval.map(Some));
        let sizes: Vec<String> = line.sizes.iter().map(|size| grouped(*size)).collect();
        vec![
            subject.id(),
            format!("{:.0}", line.slope),
            low.map_or_else(|| figure(None), |low| format!("{low:.0}")),
            high.map_or_else(|| figure(None), |high| format!("{high:.0}")),
            format!("from {} runs at {}", line.runs, sizes.join(" / ")),
        ]
    };
    let header = ["", "bytes per object", "95 %, from", "95 %, to", "rests on"];
    Some(Table {
        title: "Slope: anonymous memory that each further object adds, settled".into(),
        header: header.map(str::to_owned).to_vec(),
        rows: summary.subjects.iter().map(row).collect(),
    })
}

/// The most important figures by size, a table each; none where one size was measured.
pub fn by_size(summary: &Summary) -> Vec<Table> {
    let figures = [
        SETTLED,
        "memory.settled.anon_bytes",
        "memory.settled.peak_bytes",
        "memory.settled.cgroup.peak_bytes",
        DRAIN,
    ];
    let tables = rows::named(&figures).map(|row| {
        let sizes = sizes_of(summary, row.kind);
        let subjects = summary.subjects.iter();
        let lines = subjects.map(|subject| {
            let cells = sizes.iter().map(|size| row.cell(subject, *size));
            std::iter::once(subject.id()).chain(cells).collect()
        });
        let header = sizes.iter().map(|size| grouped(*size));
        let table = Table {
            title: format!("{}, by number of objects", row.label()),
            header: std::iter::once(String::new()).chain(header).collect(),
            rows: lines.collect(),
        };
        let mut values = summary
            .subjects
            .iter()
            .flat_map(|s| sizes.iter().map(|size| row.value(s, *size)));
        let known = sizes.len() > 1 && values.any(|value| value.is_some());
        known.then_some(table)
    });
    tables.flatten().collect()
}

fn line(label: &str, values: Vec<Option<f64>>) -> Vec<String> {
    let ratio = ratio(&values);
    std::iter::once(label.to_owned())
        .chain(values.into_iter().map(figure))
        .chain(ratio)
        .collect()
}
