//! The arithmetic of the report: medians, lines, intervals and ratios.
//!
//! Guarantees: pure; where a figure cannot be told (too few points, no spread to divide by) the
//! answer is `None`, never 0. Leaves to others: which figures to compare.

use crate::rng::SplitMix64;

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// A line through points, by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub slope: f64,
    pub intercept: f64,
    /// 95 % interval of the slope (Student's t, n - 2 degrees of freedom); needs three points.
    pub slope_ci95: Option<[f64; 2]>,
}

/// Least squares through `(x, y)`; `None` with fewer than two different x.
pub fn line_fit(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let sxx: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    if points.len() < 2 || sxx <= 0.0 {
        return None;
    }
    let sxy: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let slope = sxy / sxx;
    let intercept = mean_y - slope * mean_x;
    let freedom = points.len() - 2;
    let slope_ci95 = (freedom > 0).then(|| {
        let residual: f64 = points
            .iter()
            .map(|p| (p.1 - intercept - slope * p.0).powi(2))
            .sum();
        let half = student_t_975(freedom) * (residual / freedom as f64 / sxx).sqrt();
        [slope - half, slope + half]
    });
    Some(Line {
        slope,
        intercept,
        slope_ci95,
    })
}

/// A ratio of measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Of geometric means.
    pub ratio: f64,
    /// `None` below two pairs, or with fewer than two values on a side.
    pub ci95: Option<[f64; 2]>,
}

/// The ratio of paired measurements, and how many pairs it is of. Student's t on the log ratios below ten pairs, a bootstrap
/// of their mean (2,000 draws) from ten on. Pairs with a value that is not above zero have no ratio and are left out.
pub fn ratio_of_pairs(pairs: &[(f64, f64)], seed: u64) -> Option<(Ratio, usize)> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(a, b)| *a > 0.0 && *b > 0.0)
        .map(|(a, b)| (a / b).ln())
        .collect();
    let Mean { mean, error } = Mean::of(&logs)?;
    let ci95 = match logs.len() {
        10.. => Some(bootstrap_mean(&logs, seed).map(f64::exp)),
        _ => error.map(|error| around(mean, student_t_975(error.freedom) * error.squared.sqrt())),
    };
    let ratio = mean.exp();
    Some((Ratio { ratio, ci95 }, logs.len()))
}

/// `after` divided by `before`, with Welch's interval on the logarithms (Welch 1947): the two series
/// may have different spreads and different lengths. The degrees of freedom are rounded down, which
/// makes the interval wider. `None` where a series is empty or has a value that is not above zero.
pub fn ratio_of_series(before: &[f64], after: &[f64]) -> Option<Ratio> {
    let log = |value: &f64| (*value > 0.0).then(|| value.ln());
    let logs = |values: &[f64]| values.iter().map(log).collect::<Option<Vec<f64>>>();
    let (before, after) = (Mean::of(&logs(before)?)?, Mean::of(&logs(after)?)?);
    let difference = after.mean - before.mean;
    let ci95 = before.error.zip(after.error).map(|(before, after)| {
        let sum = before.squared + after.squared;
        let terms = before.squared.powi(2) / before.freedom as f64
            + after.squared.powi(2) / after.freedom as f64;
        // Without any spread every number of degrees gives the same interval.
        let freedom = if terms > 0.0 {
            sum.powi(2) / terms
        } else {
            1.0
        };
        // Rounding must not turn a whole number into the one below it.
        let half = student_t_975(((freedom + 1e-9) as usize).max(1)) * sum.sqrt();
        around(difference, half)
    });
    Some(Ratio {
        ratio: difference.exp(),
        ci95,
    })
}

fn around(log: f64, half: f64) -> [f64; 2] {
    [(log - half).exp(), (log + half).exp()]
}

struct Mean {
    mean: f64,
    /// Needs two values.
    error: Option<SquaredError>,
}

/// The standard error of a mean, squared, and its degrees of freedom.
struct SquaredError {
    squared: f64,
    freedom: usize,
}

impl Mean {
    /// `None` of nothing.
    fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (n > 1).then(|| SquaredError {
            squared: squares / (n - 1) as f64 / n as f64,
            freedom: n - 1,
        });
        Some(Self { mean, error })
    }
}

fn bootstrap_mean(values: &[f64], seed: u64) -> [f64; 2] {
    const DRAWS: usize = 2_000;
    let mut rng = SplitMix64::new(seed);
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let sum: f64 = values.iter().map(|_| values[rng.below(values.len())]).sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    [means[DRAWS * 25 / 1000], means[DRAWS * 975 / 1000 - 1]]
}

/// The 97.5 % quantile of Student's t (NIST/SEMATECH e-Handbook, table 1.3.6.7.2); between rows
/// the smaller number of degrees is taken, which makes an interval wider, never narrower.
fn student_t_975(freedom: usize) -> f64 {
    const FEW: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => FEW[freedom - 1],
        31..=59 => 2.042,
        60..=119 => 2.000,
        _ => 1.980,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * (1.0 + b.abs())
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_line_without_two_sizes_is_unknown() {
        assert_eq!(line_fit(&[]), None);
        assert_eq!(line_fit(&[(5.0, 1.0)]), None);
        assert_eq!(line_fit(&[(5.0, 1.0), (5.0, 2.0)]), None);
    }

    #[test]
    fn two_points_give_a_line_without_an_interval() {
        let line = line_fit(&[(0.0, 10.0), (10.0, 30.0)]).expect("two points");
        assert!(near(line.slope, 2.0) && near(line.intercept, 10.0));
        assert_eq!(line.slope_ci95, None);
    }

    #[test]
    fn the_interval_of_a_slope_matches_a_worked_example() {
        // By hand: residuals 0.01, -0.13, 0.23, -0.11; s^2 = 0.082 / 2; 4.303 * sqrt(0.041 / 5) = 0.38965.
        let line =
            line_fit(&[(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8)]).expect("four points");
        let [low, high] = line.slope_ci95.expect("two degrees of freedom");
        assert!(near(line.slope, 1.94), "{line:?}");
        assert!(
            (low - 1.55035).abs() < 1e-5 && (high - 2.32965).abs() < 1e-5,
            "{line:?}"
        );
    }

    #[test]
    fn one_pair_has_a_ratio_and_no_interval() {
        let (ratio, pairs) = ratio_of_pairs(&[(1.0, 4.0)], 1).expect("one pair");
        assert!(near(ratio.ratio, 0.25));
        assert_eq!((ratio.ci95, pairs), (None, 1));
    }

    #[test]
    fn a_zero_has_no_ratio() {
        assert_eq!(ratio_of_pairs(&[(0.0, 4.0), (3.0, 0.0)], 1), None);
    }

    #[test]
    fn the_interval_of_two_series_matches_a_worked_example() {
        // Logarithms 0, 1, 2 and 1, 2, 3, 4. By hand: means 1 and 2.5; squared errors 1/3 and 5/12,
        // sum 0.75; degrees 0.5625 / (1/18 + 25/432) = 4.96, so 4; 2.776 * sqrt(0.75) = 2.40408.
        let before = [0.0, 1.0, 2.0].map(f64::exp);
        let after = [1.0, 2.0, 3.0, 4.0].map(f64::exp);
        let change = ratio_of_series(&before, &after).expect("two series");
        assert!(near(change.ratio.ln(), 1.5), "{change:?}");
        let [low, high] = change.ci95.expect("two values on each side").map(f64::ln);
        assert!(
            (low + 0.90408).abs() < 1e-5 && (high - 3.90408).abs() < 1e-5,
            "{change:?}"
        );
    }

    #[test]
    fn a_series_of_one_has_a_ratio_and_no_interval() {
        let change = ratio_of_series(&[2.0], &[1.0, 1.0]).expect("two series");
        assert_eq!((change.ratio, change.ci95), (0.5, None));
        let same = ratio_of_series(&[2.0, 2.0], &[2.0, 2.0]).expect("two series");
        assert_eq!(same.ci95, Some([1.0, 1.0]));
        assert_eq!(ratio_of_series(&[0.0, 1.0], &[1.0]), None);
        assert_eq!(ratio_of_series(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn a_line_through_exact_points_is_found(slope in -1e3f64..1e3, intercept in -1e6f64..1e6) {
            let points: Vec<_> = [0.0, 500.0, 2000.0, 5000.0].iter().map(|x| (*x, intercept + slope * x)).collect();
            let line = line_fit(&points).expect("four sizes");
            prop_assert!((line.slope - slope).abs() < 1e-6 * (1.0 + slope.abs() + intercept.abs() / 1e3));
        }

        #[test]
        fn an_interval_holds_its_ratio(pairs in prop::collection::vec((0.1f64..10.0, 0.1f64..10.0), 2..20), seed: u64) {
            let (ratio, _) = ratio_of_pairs(&pairs, seed).expect("positive pairs");
            let [low, high] = ratio.ci95.expect("two pairs or more");
            prop_assert!(low <= ratio.ratio * 1.000_001 && ratio.ratio <= high * 1.000_001, "{:?}", ratio);
        }
    }
}
