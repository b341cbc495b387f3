//! Summaries that no bench has measured: for tests, also those of `xtask`.

use crate::plan::profile::Profile;
use crate::record::summary::{Run, Scenario, Subject, Summary};
use crate::record::{Environment, SCHEMA};
use crate::spec::subject::Language;

impl Run {
    /// The same run with a figure.
    pub fn with(mut self, metric: &str, value: f64) -> Self {
        self.values.insert(metric.to_owned(), value);
        self
    }
}

/// A summary of the subject `tare/none` with these runs.
pub fn sample(runs: Vec<Run>) -> Summary {
    let text = || "…".to_owned();
    Summary {
        schema: SCHEMA,
        environment: Environment {
            started_at: "2026-11-21T08:00:00Z".into(),
            command_line: text(),
            host_label: text(),
            loadgen_commit: text(),
            control_plane: "kube".into(),
            control_plane_flags: text(),
            kubernetes_version: None,
            filesystem: None,
            machine: tare_procstat::machine(),
        },
        scenario: Scenario {
            name: "widgets".into(),
            object_bytes: 2_048,
            service: "headless".into(),
            seed: 1,
            ready_delay_ms: 0,
            profile: Profile::Quick,
        },
        mixed: vec![],
        noise_floors: vec![],
        small_node: None,
        subjects: vec![Subject {
            name: "tare".into(),
            variant: "none".into(),
            workload: None,
            language: Language::Rust,
            target: text(),
            profile: None,
            allocator: None,
            commit: None,
            binary_sha256: None,
            binary_bytes: None,
            image_bytes_compressed: None,
            image_bytes_unpacked: None,
            runs,
            bytes_per_object: None,
            rate_sweep: None,
        }],
        comparisons: vec![],
        notes: vec![],
    }
}
