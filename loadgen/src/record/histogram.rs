//! A histogram as Prometheus has it: counts by bucket.
//!
//! Guarantees: quantiles are upper bounds of buckets, because that is all such a histogram knows;
//! an empty histogram has none. Leaves reading one from a metrics page to `watch::metrics_text`.

use serde::{Deserialize, Serialize};

/// Counts per bucket (not cumulative), by upper bound in seconds; the last bound may be infinite
/// and is then written as `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Buckets(pub Vec<(Option<f64>, u64)>);

impl Buckets {
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Upper bound, in ms, of the highest bucket that holds anything; `None` when there is nothing
    /// or that bucket has no upper bound.
    pub fn max_ms(&self) -> Option<f64> {
        self.quantile_ms(1.0)
    }

    /// What came after `earlier`; a bucket that fell (the process restarted) counts as it is.
    pub fn since(&self, earlier: &Buckets) -> Buckets {
        let before = |bound: Option<f64>| {
            earlier
                .0
                .iter()
                .find(|(b, _)| *b == bound)
                .map_or(0, |(_, count)| *count)
        };
        Buckets(
            self.0
                .iter()
                .map(|(bound, count)| (*bound, count.checked_sub(before(*bound)).unwrap_or(*count)))
                .collect(),
        )
    }

    /// Upper bound, in ms, of the bucket that holds the quantile; `None` when there is nothing
    /// or the bucket has no upper bound.
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        let (_, upper) = self.bounds_ms(quantile)?;
        upper
    }

    /// Both bounds, in ms, of the bucket that holds the quantile: the value is above the first, and
    /// not above the second. `None` when there is nothing; no second where the bucket has none.
    pub fn bounds_ms(&self, quantile: f64) -> Option<(f64, Option<f64>)> {
        let rank = (quantile * self.count() as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        let mut lower_ms = 0.0;
        for (bound, count) in &self.0 {
            passed += count;
            let upper_ms = bound.map(|seconds| seconds * 1_000.0);
            if passed >= rank && *count > 0 {
                return Some((lower_ms, upper_ms));
            }
            lower_ms = upper_ms.unwrap_or(lower_ms);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_survives_a_restart() {
        let earlier = Buckets(vec![(Some(1.0), 5), (None, 2)]);
        let later = Buckets(vec![(Some(1.0), 9), (None, 1)]);
        assert_eq!(
            later.since(&earlier),
            Buckets(vec![(Some(1.0), 4), (None, 1)])
        );
    }

    #[test]
    fn a_quantile_lies_between_the_bounds_of_its_bucket() {
        let buckets = Buckets(vec![
            (Some(0.001), 8),
            (Some(0.01), 0),
            (Some(0.1), 1),
            (None, 1),
        ]);
        for (quantile, want) in [
            (0.5, Some((0.0, Some(1.0)))),
            (0.9, Some((10.0, Some(100.0)))),
            (1.0, Some((100.0, None))),
        ] {
            assert_eq!(buckets.bounds_ms(quantile), want, "{quantile}");
        }
        assert_eq!(Buckets::default().bounds_ms(0.5), None);
    }
}
