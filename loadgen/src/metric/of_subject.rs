//! Figures that are the same in every run of a subject: its program, its image, its slope, its knee.
//!
//! Guarantees: a name is the path of the figure within the subject in `summary.json`.

use crate::metric::Metric;
use crate::metric::Shown::Memory;

/// The knee of the rate sweep: one for each folder, so that it has no interval.
pub const KNEE: &str = "rate_sweep.knee.per_s";

pub(super) fn metrics() -> Vec<Metric> {
    // `null` in the summary, where a note says why.
    const NULL: &str = "a note says why";
    figures! { Subject
        "binary_bytes", "binary, MB", "bytes", &[], NULL, [shown(Memory), compared, divided(1e6)] => |s| Some(s.binary_bytes? as f64);
        "image_bytes_compressed", "image, packed, MB", "bytes", &[], NULL, [shown(Memory), compared, divided(1e6)] => |s| Some(s.image_bytes_compressed? as f64);
        "image_bytes_unpacked", "image, unpacked, MB", "bytes", &[], NULL, [shown(Memory), compared, divided(1e6)] => |s| Some(s.image_bytes_unpacked? as f64);
        "bytes_per_object.slope", "growth with each object, anonymous bytes", "bytes/object", &[], NULL, [] => |s| Some(s.bytes_per_object.as_ref()?.slope);
        "bytes_per_object.intercept_bytes", "anonymous memory at 0 objects on that line, MB", "bytes", &[], NULL, [divided(1e6)] => |s| Some(s.bytes_per_object.as_ref()?.intercept_bytes as f64);
        "bytes_per_object.runs", "runs of that line", "count", &[], NULL, [] => |s| Some(s.bytes_per_object.as_ref()?.runs as f64);
        KNEE, "highest rate kept up, objects/s", "1/s", &[], NULL, [compared, higher] => |s| Some(f64::from(s.rate_sweep.as_ref()?.knee.per_s?));
    }
}
