//! How a subject does at rising rates.
//!
//! Guarantees: a quantile of a point is the median of its runs' quantiles, never one of pooled
//! latencies. Leaves to others: where the knee is (`metric::knee`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Objects offered at rising rates, with nothing else at work on the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSweep {
    /// By ascending rate.
    pub points: Vec<RatePoint>,
    pub knee: Knee,
}

/// One rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatePoint {
    /// Objects offered per second.
    pub per_s: u32,
    pub objects: usize,
    /// Valid runs, also those that broke off.
    pub runs: u32,
    /// Objects that became ready per second, from the first to the last of them; median of the runs.
    /// `null` without a valid run.
    pub achieved_per_s: Option<f64>,
    /// From the intended send until observed; median of the runs' P50.
    pub p50_ms: Option<f64>,
    /// Median of the runs' P99.
    pub p99_ms: Option<f64>,
    /// The longest of all runs.
    pub max_ms: Option<f64>,
    /// Objects that were not ready at the deadline, of all runs.
    pub censored: u64,
    pub outcome: RateOutcome,
    /// Why a run broke off or is not valid: the reason of the first.
    pub because: Option<String>,
    /// Of the machine's CPU, while objects became ready: API server, datastore and generator; median.
    /// The delay until the first is ready is left out: in such a time at the end nobody has work.
    pub server_cpu_share: Option<f64>,
    /// Likewise: the subject.
    pub subject_cpu_share: Option<f64>,
}

/// Whether a subject kept up at a rate (`metric::at_rate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateOutcome {
    /// In more than half of the valid runs.
    KeptUp,
    NotKeptUp,
    /// Half of the valid runs, or more of them, broke off: the subject or the server ended.
    BrokeOff,
    /// No run is valid.
    NotMeasured,
}

impl RateOutcome {
    pub fn words(self) -> &'static str {
        match self {
            RateOutcome::KeptUp => "yes",
            RateOutcome::NotKeptUp => "no",
            RateOutcome::BrokeOff => "broke off",
            RateOutcome::NotMeasured => "no valid run",
        }
    }
}

/// The highest rate at which a subject kept up, and what kept it from more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// `null` where the lowest rate was already too high, or nothing was measured.
    pub per_s: Option<u32>,
    pub limited_by: LimitedBy,
    /// One sentence.
    pub because: String,
}

/// What limited a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    Subject,
    /// The API server, its datastore and the generator used up the machine; the subject did not.
    Server,
    /// Runs at the next rate broke off.
    BrokeOff,
    /// The subject kept up at every rate that was offered.
    NotReached,
    NotMeasured,
}

impl LimitedBy {
    pub fn words(self) -> &'static str {
        match self {
            LimitedBy::Subject => "limited by the subject",
            LimitedBy::Server => "limited by the server",
            LimitedBy::BrokeOff => "runs broke off",
            LimitedBy::NotReached => "not reached",
            LimitedBy::NotMeasured => "not measured",
        }
    }
}
