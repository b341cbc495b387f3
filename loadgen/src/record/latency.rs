//! Latency histograms: three significant digits, in microseconds.
//!
//! Guarantees: merged and never averaged; what is written to the evidence gives back the same
//! quantiles. Leaves to others: what is measured, and what was never measured (censored).

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// One day, which is the longest `--deadline-s`: what takes longer is recorded as this.
const HIGHEST_US: u64 = 86_400_000_000;

/// A distribution of latencies; serialised as text, ascending: `"1500 8x3 16"` is one of 1,500 us,
/// three that are 8 us above it, one that is another 16 us above. A list of pairs on lines of its
/// own would make a folder of results five times as large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Latencies(Histogram<u64>);

/// Quantiles of one distribution, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantiles {
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Default for Latencies {
    fn default() -> Self {
        // The bounds are constants that the crate accepts: 1 <= low, 2 * low <= high, digits <= 5.
        Self(Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("constant bounds are valid"))
    }
}

impl Latencies {
    pub fn record_ns(&mut self, latency_ns: u64) {
        self.0.saturating_record(latency_ns / 1_000);
    }

    pub fn merge(&mut self, other: &Latencies) {
        for (value_us, count) in other.recorded() {
            self.0.saturating_record_n(value_us, count);
        }
    }

    /// Values in us and how often each, ascending.
    fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        let recorded = self.0.iter_recorded();
        recorded.map(|v| (v.value_iterated_to(), v.count_at_value()))
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency that this share of all does not exceed, ms; `None` for an empty distribution.
    pub fn at_ms(&self, quantile: f64) -> Option<f64> {
        let value_us = || self.0.value_at_quantile(quantile) as f64;
        (!self.0.is_empty()).then(|| value_us() / 1_000.0)
    }

    /// `None` for an empty distribution.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let at_ms = |q| self.0.value_at_quantile(q) as f64 / 1_000.0;
        (!self.0.is_empty()).then(|| Quantiles {
            p50_ms: at_ms(0.50),
            p90_ms: at_ms(0.90),
            p99_ms: at_ms(0.99),
            max_ms: self.0.max() as f64 / 1_000.0,
        })
    }
}

impl FromIterator<u64> for Latencies {
    fn from_iter<I: IntoIterator<Item = u64>>(latencies_ns: I) -> Self {
        let mut all = Self::default();
        latencies_ns.into_iter().for_each(|ns| all.record_ns(ns));
        all
    }
}

impl From<Latencies> for String {
    fn from(latencies: Latencies) -> Self {
        let mut text = String::new();
        let mut before_us = 0;
        for (value_us, count) in latencies.recorded() {
            let gap = if text.is_empty() { "" } else { " " };
            let step_us = value_us - before_us;
            text.push_str(&match count {
                1 => format!("{gap}{step_us}"),
                _ => format!("{gap}{step_us}x{count}"),
            });
            before_us = value_us;
        }
        text
    }
}

/// A text that is no distribution.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no latency: expected microseconds, or microseconds x count")]
pub struct NotLatencies(String);

impl TryFrom<String> for Latencies {
    type Error = NotLatencies;

    fn try_from(text: String) -> Result<Self, NotLatencies> {
        let mut all = Self::default();
        let mut value_us = 0_u64;
        for word in text.split_whitespace() {
            let (step_us, count) = word.split_once('x').unwrap_or((word, "1"));
            let number = |text: &str| text.parse().map_err(|_| NotLatencies(word.to_owned()));
            value_us = value_us.saturating_add(number(step_us)?);
            all.0.saturating_record_n(value_us, number(count)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_distribution_has_no_quantiles() {
        assert_eq!(Latencies::default().quantiles(), None);
    }

    #[test]
    fn the_text_of_a_distribution_is_short() {
        let latencies: Latencies = [1_500_000, 1_508_000, 1_508_000, 1_524_000]
            .into_iter()
            .collect();
        let text = String::from(latencies);
        assert_eq!(text, "1500 8x2 16");
        assert!(Latencies::try_from("1500 x2".to_owned()).is_err());
    }

    proptest! {
        #[test]
        fn evidence_gives_back_the_same_quantiles(ns in prop::collection::vec(0u64..100_000_000_000, 1..300)) {
            let latencies: Latencies = ns.iter().copied().collect();
            let text = serde_json::to_string(&latencies).expect("plain data");
            let back: Latencies = serde_json::from_str(&text).expect("what was written");
            prop_assert_eq!(back.quantiles(), latencies.quantiles());
        }

        #[test]
        fn merging_two_is_recording_all(a in prop::collection::vec(0u64..10_000_000_000, 0..200),
                                        b in prop::collection::vec(0u64..10_000_000_000, 1..200)) {
            let mut merged: Latencies = a.iter().copied().collect();
            merged.merge(&b.iter().copied().collect());
            let all: Latencies = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged.count(), all.count());
            // Merging moves a value within its bucket (three digits), never out of it.
            let (merged, all) = (merged.quantiles().expect("not empty"), all.quantiles().expect("not empty"));
            prop_assert!((merged.p50_ms - all.p50_ms).abs() <= all.p50_ms * 0.001 + 0.001);
            prop_assert!((merged.max_ms - all.max_ms).abs() <= all.max_ms * 0.001 + 0.001);
        }
    }
}
