//! Why something in a summary is null: a sentence for each that can be. Why a figure of a run is missing stands with the
//! figure (`metric`).
//!
//! Guarantees: no row hides a later one, which a test of `notes` checks. Leaves to others: which figures
//! are null.

/// Why a figure is null, by how its path ends; the first that fits.
pub const REASONS: &[(&str, &str)] = &[
    ("small_node", "there are no memory runs"),
    ("noise_floors[].ci95", "an interval needs two pairs"),
    ("runs[].per_s", "only runs of the rate sweep have a rate"),
    ("subjects[].commit", "the program does not name its commit"),
    (
        "binary_sha256",
        "the program was found by name in PATH, and its subject names no [run] artifacts",
    ),
    (
        "rate_sweep.knee.per_s",
        "the lowest rate was not kept up, or no run at it is valid",
    ),
    (
        "cpu_share",
        "no run at the rate converged, or the CPU of the server or the subject is not known",
    ),
    ("points[].p50_ms", "no object was observed"),
    ("points[].p99_ms", "no object was observed"),
    ("points[].max_ms", "no object was observed"),
    ("points[].because", "no run broke off, and a run is valid"),
    ("rate_sweep", "there are no runs at a rate"),
    (
        "operators[].settled_bytes",
        "the subject has no valid memory run at that size",
    ),
    (
        "operators[].peak_bytes",
        "the subject has no valid memory run at that size",
    ),
    (
        "operators[].peak_share",
        "the subject has no valid memory run at that size",
    ),
    (
        "significant",
        "the A/A runs do not have this figure, or there are no A/A runs",
    ),
    (
        "comparisons[].ci95",
        "an interval needs two pairs: use --repeats 2 or more; requests on a real control plane are counted in one run only",
    ),
    (
        "bytes_per_object.ci95",
        "an interval needs three sizes or repeats",
    ),
    (
        "bytes_per_object",
        "a slope needs settled memory at two sizes of 500 objects or more",
    ),
    (
        "image_bytes_compressed",
        "not measured; scripts/image-sizes.sh FOLDER measures images of static programs",
    ),
    ("image_bytes_unpacked", "as image_bytes_compressed"),
    (
        "binary_bytes",
        "the program was found by name in PATH, and its subject names no [run] artifacts",
    ),
];
