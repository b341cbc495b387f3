//! From a value to a place on an axis, and the values that are written beside it.
//!
//! Guarantees: pure; ticks are 1, 2 or 5 times a power of ten and lie within the domain. Leaves to
//! others: drawing (`axis`).

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    Linear,
    /// Equal ratios are equally far apart. All values are above zero.
    Log,
}

/// A domain of values on a stretch of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    spacing: Spacing,
    domain: [f64; 2],
    pixels: [f64; 2],
}

impl Scale {
    /// From 0 (or the smallest value, if that is below) to the first round number that holds all values.
    pub fn linear(values: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let (low, high) = extent(values).unwrap_or((0.0, 1.0));
        let high = if high > 0.0 { round_up(high) } else { 1.0 };
        Self {
            spacing: Spacing::Linear,
            domain: [low.min(0.0), high],
            pixels,
        }
    }

    /// Between the powers of ten, or their doubles and quintuples, that hold all values above zero.
    pub fn log(values: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let (low, high) = extent(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let (low, mut high) = (round_down(low), round_up(high));
        if high <= low {
            high = low * 10.0;
        }
        Self {
            spacing: Spacing::Log,
            domain: [low, high],
            pixels,
        }
    }

    /// Exactly this domain, linear.
    pub fn fixed(domain: [f64; 2], pixels: [f64; 2]) -> Self {
        Self {
            spacing: Spacing::Linear,
            domain,
            pixels,
        }
    }

    pub fn domain(&self) -> [f64; 2] {
        self.domain
    }

    pub fn pixels(&self) -> [f64; 2] {
        self.pixels
    }

    /// Where a value lies, in pixels; outside of the domain, at its nearer end.
    pub fn at(&self, value: f64) -> f64 {
        let [from, to] = self.domain;
        let value = value.clamp(from, to);
        let part = match self.spacing {
            Spacing::Linear => (value - from) / (to - from),
            Spacing::Log => (value / from).ln() / (to / from).ln(),
        };
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }

    /// Round values within the domain, about `count` of them.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let [from, to] = self.domain;
        match self.spacing {
            Spacing::Linear => linear_ticks(from, to, count),
            Spacing::Log => log_ticks(from, to, count),
        }
    }
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    finite.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

fn linear_ticks(from: f64, to: f64, count: usize) -> Vec<f64> {
    let step = round_up_to(&STEPS, (to - from) / count.max(1) as f64);
    let first = (from / step).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

fn log_ticks(from: f64, to: f64, count: usize) -> Vec<f64> {
    let decades = (to / from).log10();
    let steps: &[f64] = match decades * 3.0 <= count as f64 {
        true => &STEPS,
        false => &[1.0],
    };
    let exponents = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let ticks = exponents.flat_map(|e| steps.iter().map(move |s| s * 10_f64.powi(e)));
    ticks
        .filter(|tick| *tick >= from * 0.999 && *tick <= to * 1.001)
        .collect()
}

/// The smallest round number that is not below a value above zero.
fn round_up(value: f64) -> f64 {
    round_up_to(&[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0], value)
}

fn round_up_to(steps: &[f64], value: f64) -> f64 {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let fits = |step: &&f64| **step * power >= value * (1.0 - 1e-9);
    steps.iter().find(fits).map_or(10.0 * power, |s| s * power)
}

/// The largest of 1, 2 and 5 times a power of ten that is not above a value above zero.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let fits = |step: &&f64| **step * power <= value * (1.0 + 1e-9);
    let step = STEPS.iter().rev().find(fits);
    step.map_or(power, |step| step * power)
}

/// A tick in words: grouped thousands, and as many decimals as its step needs.
pub fn label(value: f64) -> String {
    let size = value.abs();
    if size >= 1_000.0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!(
            "{sign}{}",
            crate::report::table::grouped(size.round() as usize)
        );
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_scale_starts_at_zero_and_ends_at_a_round_number() {
        let scale = Scale::linear([3.4, 223.0].into_iter(), [300.0, 0.0]);
        assert_eq!(scale.domain(), [0.0, 250.0]);
        assert_eq!((scale.at(0.0), scale.at(125.0)), (300.0, 150.0));
        assert_eq!(scale.ticks(5), [0.0, 50.0, 100.0, 150.0, 200.0, 250.0]);
    }

    #[test]
    fn a_log_scale_has_equal_ratios_at_equal_distances() {
        let scale = Scale::log([12.0, 0.0, 900.0].into_iter(), [0.0, 200.0]);
        assert_eq!(scale.domain(), [10.0, 1_000.0]);
        assert!((scale.at(100.0) - 100.0).abs() < 1e-9);
        assert_eq!(
            scale.ticks(7),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0]
        );
        assert_eq!(scale.ticks(3), [10.0, 100.0, 1_000.0]);
    }

    #[test]
    fn nothing_and_one_value_have_a_scale_too() {
        for values in [vec![], vec![0.0], vec![f64::NAN], vec![7.0]] {
            for scale in [
                Scale::linear(values.iter().copied(), [0.0, 100.0]),
                Scale::log(values.iter().copied(), [0.0, 100.0]),
            ] {
                let [from, to] = scale.domain();
                assert!(from < to, "{values:?}: {from} to {to}");
                assert!(!scale.ticks(5).is_empty(), "{values:?}");
                assert!(scale.at(5.0).is_finite(), "{values:?}");
            }
        }
    }

    #[test]
    fn ticks_are_written_short() {
        for (value, want) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (2.5, "2.5"),
            (500.0, "500"),
            (20_000.0, "20,000"),
        ] {
            assert_eq!(label(value), want);
        }
    }
}
