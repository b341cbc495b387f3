//! Tables of a document that show a whole folder of results: the short report, and the sizing table.
//!
//! Leaves to others: where they stand (`marks`, `tables`), the figures (`loadgen`).

use std::path::Path;

use crate::marks::Marks;
use loadgen::plan::cell::Kind;
use loadgen::record::evidence;
use loadgen::record::evidence::Evidence;
use loadgen::record::summary::Summary;
use loadgen::report::rows::{
    CPU, DRAIN, PEAK, RESTARTED, Row, SERVER_CPU, SETTLED, WRITES, header, largest_of, sizes,
};
use loadgen::report::table::{Table, grouped};
use loadgen::report::{rows, sizing};

pub const REPORT: Marks = Marks("report");
pub const SIZING: Marks = Marks("sizing");
/// The blocks that a document may have.
pub const BLOCKS: [Marks; 2] = [REPORT, SIZING];

/// The figures that most readers ask for.
const FIGURES: [&str; 12] = [
    "binary_bytes",
    "image_bytes_compressed",
    "memory.empty.rss_bytes",
    SETTLED,
    PEAK,
    RESTARTED,
    CPU,
    DRAIN,
    SERVER_CPU,
    WRITES,
    "gc_pause.max_ms",
    "bytes_per_object.slope",
];

/// Replaces a document.
///
/// # Errors
/// It cannot be written.
pub fn write(file: &Path, text: &str) -> Result<(), evidence::Error> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Evidence::open(folder).write(&name, text.as_bytes())
}

/// A block of one of [`BLOCKS`].
pub fn block_of(marks: Marks, summary: &Summary, results: &Path) -> String {
    match marks == SIZING {
        true => sizing_block(summary, results),
        false => block(summary, results),
    }
}

fn block(summary: &Summary, results: &Path) -> String {
    let environment = &summary.environment;
    let largest = sizes(summary).last().copied().unwrap_or(0);
    let version = environment.kubernetes_version.as_deref();
    let cores = environment
        .machine
        .cores
        .map_or("?".into(), |n| n.to_string());
    let counted = |row: Row| match row.name() {
        WRITES => row.from(Kind::RequestCount),
        _ => row,
    };
    let mut rows = Vec::new();
    for row in rows::named(&FIGURES).map(counted) {
        let objects = match row.kind {
            Some(Kind::RequestCount) => largest_of(summary, Kind::RequestCount).unwrap_or(largest),
            _ => largest,
        };
        rows.extend(
            row.is_known(summary, objects)
                .then(|| row.line(summary, objects)),
        );
    }
    let table = Table {
        title: format!("{} objects", grouped(largest)),
        header: header(summary),
        rows,
    };
    let missing = summary
        .notes
        .iter()
        .any(|note| note.starts_with("not run: "));
    let so_far = match missing {
        true => " The bench was interrupted; the report names the missing runs.",
        false => "",
    };
    format!(
        "{}\nMedians of {}; {} control plane, Kubernetes {}, {cores} cores ({}); MB are 1,000,000 bytes. The whole report with its conditions and raw data: [{}]({}).{so_far}\n",
        table.markdown(),
        environment.started_at.get(..10).unwrap_or_default(),
        environment.control_plane,
        version.unwrap_or("of unknown version"),
        environment.host_label,
        results.display(),
        results.join("report.md").display(),
    )
}

fn sizing_block(summary: &Summary, results: &Path) -> String {
    let environment = &summary.environment;
    format!(
        "{}\n{} Measured {} on a {} control plane ({}); MB are 1,000,000 bytes; data: {}.\n",
        sizing::table(summary).markdown(),
        sizing::rule(),
        environment.started_at.get(..10).unwrap_or_default(),
        environment.control_plane,
        environment.host_label,
        results.display(),
    )
}
