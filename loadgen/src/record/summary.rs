//! `summary.json`: the figures of all runs and what follows from them.
//!
//! These types are the format: they are written, read back, checked, and `loadgen schema` prints
//! their JSON Schema. Guarantees: a figure of a run that was not measured is not among its values, any other is `null`;
//! none is 0. Leaves to others: what the figures are (`metric`), computing them (`report::summary`).

pub mod rate_sweep;
#[cfg(any(test, feature = "test-data"))]
mod sample;
pub mod small_node;

pub use crate::record::summary::rate_sweep::{Knee, LimitedBy, RateOutcome, RatePoint, RateSweep};
#[cfg(any(test, feature = "test-data"))]
pub use crate::record::summary::sample::sample;
pub use crate::record::summary::small_node::{OnSmallNode, SmallNode};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::plan::cell::Kind;
use crate::plan::profile::Profile;
use crate::record::Environment;
use crate::spec::subject::Language;

/// A campaign: every subject, its runs, and their comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Version of this format ([`crate::record::SCHEMA`]).
    pub schema: u32,
    pub environment: Environment,
    pub scenario: Scenario,
    /// What the runs do not share: processors, kernels, versions. Empty in a folder of one machine.
    pub mixed: Vec<String>,
    /// For each figure that was measured twice (A/A).
    pub noise_floors: Vec<NoiseFloor>,
    /// `null` without memory runs.
    pub small_node: Option<SmallNode>,
    pub subjects: Vec<Subject>,
    pub comparisons: Vec<Comparison>,
    /// What a reader must know; every `null` is named here with its reason.
    pub notes: Vec<String>,
}

/// What was created, and how the runs were timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// Size of one object as it is sent.
    pub object_bytes: usize,
    /// `headless` or `cluster-ip`.
    pub service: String,
    /// Decides the order of runs and the content of objects.
    pub seed: u64,
    /// From a Deployment's creation until it is reported ready.
    pub ready_delay_ms: u64,
    pub profile: Profile,
}

/// An operator under test with its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    pub name: String,
    pub variant: String,
    /// Where the subjects of a bench have different workloads: they do different work and are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    pub language: Language,
    /// Target triple.
    pub target: String,
    /// Build profile.
    pub profile: Option<String>,
    pub allocator: Option<String>,
    /// The commit that the program names.
    pub commit: Option<String>,
    pub binary_sha256: Option<String>,
    pub binary_bytes: Option<u64>,
    /// Packed with zstd -19.
    pub image_bytes_compressed: Option<u64>,
    pub image_bytes_unpacked: Option<u64>,
    pub runs: Vec<Run>,
    /// `null` with fewer than two sizes of 500 objects or more.
    pub bytes_per_object: Option<BytesPerObject>,
    /// `null` without runs at a rate.
    pub rate_sweep: Option<RateSweep>,
}

/// The slope of settled anonymous memory over the number of objects (least squares), from sizes of 500
/// and more: the step from 0 to the first objects is not a cost of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BytesPerObject {
    /// Bytes per object.
    pub slope: f64,
    /// Needs three points.
    pub ci95: Option<[f64; 2]>,
    /// Memory at 0 objects on that line.
    pub intercept_bytes: i64,
    /// Numbers of objects that it rests on.
    pub sizes: Vec<usize>,
    /// Valid runs that it rests on.
    pub runs: usize,
}

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub objects: usize,
    /// Counts from 1.
    pub repeat: u32,
    pub cell: Kind,
    /// Objects offered per second, in runs at a rate.
    pub per_s: Option<u32>,
    /// Counts from 1; earlier attempts were invalid.
    pub attempt: u32,
    /// Whether its figures may be compared.
    pub valid: bool,
    /// Why not; empty for a valid run.
    pub invalid_because: Vec<String>,
    /// What disturbed a run that is valid all the same, as those of the quick profile are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_by: Vec<String>,
    /// Every figure that was measured, by its name: `loadgen metrics` lists them.
    #[serde(serialize_with = "plain")]
    pub values: BTreeMap<String, f64>,
    /// Phases whose memory was sampled before the subject had settled.
    pub unsettled: Vec<String>,
}

/// Whole numbers without a fraction.
fn plain<S: Serializer>(values: &BTreeMap<String, f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let plain = values.iter().map(|(name, value)| match is_whole(*value) {
        true => (name, serde_json::Value::from(*value as i64)),
        false => (name, serde_json::Value::from(*value)),
    });
    serializer.collect_map(plain)
}

/// Whether a number is one without a fraction that a float has exactly.
fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 2f64.powi(53)
}

/// The ratio between two measurements of the same subject (A/A).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseFloor {
    /// Path of the figure within a run.
    pub metric: String,
    /// The runs that it holds for.
    pub cell: Kind,
    pub ratio: f64,
    pub ci95: Option<[f64; 2]>,
    pub pairs: usize,
}

/// The ratio of a figure between two subjects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Path of the figure within a run.
    pub metric: String,
    pub cell: Kind,
    pub objects: usize,
    /// `name/variant`.
    pub subject: String,
    pub against: String,
    /// `subject` divided by `against`, geometric mean of the pairs.
    pub ratio: f64,
    /// Needs two pairs.
    pub ci95: Option<[f64; 2]>,
    pub pairs: usize,
    /// Larger than noise explains; `null` without a noise floor for the metric.
    pub significant: Option<bool>,
}

impl Summary {
    /// Whether its subjects do different work.
    pub fn is_of_several_workloads(&self) -> bool {
        self.subjects
            .iter()
            .any(|subject| subject.workload.is_some())
    }
}

impl Subject {
    /// `name/variant`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.name, self.variant)
    }

    /// The runs of one kind and size.
    pub fn runs_of(&self, cell: Kind, objects: usize) -> impl Iterator<Item = &Run> {
        self.runs
            .iter()
            .filter(move |run| run.cell == cell && run.objects == objects)
    }

    /// Those of them whose figures may be compared.
    pub fn valid_runs(&self, cell: Kind, objects: usize) -> impl Iterator<Item = &Run> {
        self.runs_of(cell, objects).filter(|run| run.valid)
    }

    /// A figure of each of these.
    pub fn values(&self, cell: Kind, objects: usize, metric: &str) -> impl Iterator<Item = f64> {
        let runs = self.valid_runs(cell, objects);
        runs.filter_map(move |run| run.value(metric))
    }

    /// The largest of some figures in any of them.
    pub fn largest(&self, cell: Kind, objects: usize, metrics: &[&str]) -> Option<f64> {
        let runs = self.valid_runs(cell, objects);
        let values = runs.flat_map(|run| metrics.iter().filter_map(|metric| run.value(metric)));
        values.reduce(f64::max)
    }
}

impl Run {
    /// A run without figures: valid, unless reasons say otherwise.
    pub fn without_figures(
        cell: Kind,
        objects: usize,
        repeat: u32,
        invalid_because: Vec<String>,
    ) -> Self {
        Self {
            objects,
            repeat,
            cell,
            per_s: None,
            attempt: 1,
            valid: invalid_because.is_empty(),
            invalid_because,
            disturbed_by: Vec::new(),
            values: BTreeMap::new(),
            unsettled: Vec::new(),
        }
    }

    /// The figure of this name; `None` where it was not measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.values.get(metric).copied()
    }
}
