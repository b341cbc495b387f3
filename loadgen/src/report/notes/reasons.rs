//! Why a figure is null: a sentence for each that can be.
//!
//! Guarantees: no row hides a later one, which a test of `notes` checks. Leaves to others: which figures
//! are null.

/// Why a figure is null, by how its path ends; the first that fits.
pub const REASONS: &[(&str, &str)] = &[
    ("small_node", "there are no memory runs"),
    ("noise_floors[].ci95", "an interval needs two pairs"),
    ("runs[].per_s", "only runs of the rate sweep have a rate"),
    (
        "runs[].machine_use",
        "only timed runs are judged by what else the machine did",
    ),
    (
        "machine_use.outside_cpu_s",
        "the kernel does not tell who spent the CPU",
    ),
    ("machine_use.steal_s", "the kernel does not tell it"),
    (
        "machine_use.cpu_pressure_share",
        "the kernel has no /proc/pressure",
    ),
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
        "memory.empty.peak_bytes",
        "the peak counts from the first object",
    ),
    (
        ".peak_bytes",
        "the kernel does not tell it, or the phase comes before the first object",
    ),
    (
        ".cgroup",
        "no cgroup could be made for the subject; loadgen doctor says why",
    ),
    ("cgroup.kernel_bytes", "the kernel does not count it"),
    ("cgroup.socket_bytes", "the kernel does not count it"),
    (
        ".did_settle",
        "the phase does not wait for the subject to settle",
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
        "requests.wire_bytes_per_object",
        "an audit log does not contain sizes; only the simulated API server counts bytes",
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
        "write_span",
        "read from the audit log of a real control plane, which is on only in `request-count` runs",
    ),
    (
        "runs[].requests",
        "counted by the simulated API server, or in `request-count` runs; none with 0 objects",
    ),
    (
        "deletion.api_server_cpu_s",
        "loadgen did not start the API server",
    ),
    (
        "controllers_cpu_s",
        "measured where loadgen started kube-controller-manager; nothing to measure with 0 objects",
    ),
    ("deletion", "measured in drains with --deletions"),
    (
        "runs[].api_server_cpu_s",
        "nothing to measure with 0 objects, or loadgen did not start the API server",
    ),
    (
        "datastore",
        "the simulated server keeps its objects in memory, and that of an existing cluster cannot be read",
    ),
    (
        "gc_pause.p99_ms",
        "no collection happened, or the bucket has no upper bound",
    ),
    (
        "gc_pause.max_ms",
        "no collection happened, or the bucket has no upper bound",
    ),
    (
        "gc_pause",
        "the subject has no garbage collector, or the run has 0 objects",
    ),
    (
        "memory.burst",
        "measured only where objects are offered as a burst",
    ),
    (
        "memory.churn",
        "measured in memory runs at the largest size: all with --profile full, the first repeat with standard, none with quick",
    ),
    (
        "memory.after_soak",
        "only with --soak-events, in the first run at the largest size",
    ),
    (
        "memory.deleted",
        "measured in memory runs at the largest size: all with --profile full, the first repeat with standard, those up to 1,000 objects with quick",
    ),
    (
        "memory.restart",
        "measured in memory runs at the largest size",
    ),
    ("cpu.restart_s", "measured in drains at the largest size"),
    (
        "memory.settled",
        "a timed run does not wait for memory to settle",
    ),
    (
        "cpu.idle_ms_per_minute",
        "measured only after the subject settled",
    ),
    (
        "cpu.idle_context_switches_per_s",
        "measured only after the subject settled, if none of its threads ended meanwhile",
    ),
    (
        "requests.idle_writes_per_minute",
        "measured only after the subject settled",
    ),
    (
        "requests.idle_reads_per_minute",
        "measured only after the subject settled",
    ),
    (
        "reconcile.max_ms",
        "the highest bucket of its histogram has no upper bound",
    ),
    ("reconcile.errors", "the subject exports no error counter"),
    (
        "binary_bytes",
        "the program was found by name in PATH, and its subject names no [run] artifacts",
    ),
    (
        "claims[].meanings[].from",
        "this bench did not measure that size or figure",
    ),
    (
        "claims[].meanings[].to",
        "this bench did not measure that size or figure, or it lies in the last bucket of a histogram",
    ),
];
