//! Figures that are the same in every run of a subject: its program, its image, its slope, its knee.
//!
//! Guarantees: a name is the path of the figure within the subject in `summary.json`.

use crate::metric::{Metric, Source};
use crate::model::summary::Subject;

/// The knee of the rate sweep: one for each folder, so that it has no interval.
pub const KNEE: &str = "rate_sweep.knee.per_s";

fn subject(id: &str, label: &str, unit: &'static str, read: fn(&Subject) -> Option<f64>) -> Metric {
    Metric::new(id, label, unit, &[], Source::Subject(read))
}

pub(super) fn metrics() -> Vec<Metric> {
    let bytes =
        |id: &str, label: &str, read| subject(id, label, "bytes", read).divided(1e6).compared();
    vec![
        bytes("binary_bytes", "binary, MB", |s| {
            Some(s.binary_bytes? as f64)
        }),
        bytes("image_bytes_compressed", "image, packed, MB", |s| {
            Some(s.image_bytes_compressed? as f64)
        }),
        bytes("image_bytes_unpacked", "image, unpacked, MB", |s| {
            Some(s.image_bytes_unpacked? as f64)
        }),
        subject(
            "bytes_per_object.slope",
            "growth with each object, anonymous bytes",
            "bytes/object",
            |s| Some(s.bytes_per_object.as_ref()?.slope),
        ),
        subject(
            "bytes_per_object.intercept_bytes",
            "anonymous memory at 0 objects on that line, MB",
            "bytes",
            |s| Some(s.bytes_per_object.as_ref()?.intercept_bytes as f64),
        )
        .divided(1e6),
        subject("bytes_per_object.runs", "runs of that line", "count", |s| {
            Some(s.bytes_per_object.as_ref()?.runs as f64)
        }),
        subject(KNEE, "highest rate kept up, objects/s", "1/s", |s| {
            Some(f64::from(s.rate_sweep.as_ref()?.knee.per_s?))
        })
        .compared()
        .better_when_higher(),
    ]
}
