//! Numbers for people: three digits and a unit.

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes; a megabyte is 1,000,000 of them.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Milliseconds.
    Milliseconds,
    /// Requests to the API server.
    Requests,
}

impl Unit {
    /// `4.92 MB`, `812 ns`, `5.00 requests`.
    pub fn show(self, value: f64) -> String {
        let (value, unit) = match self {
            Self::Bytes => scaled(value, 1_000.0, &["B", "KB", "MB"]),
            Self::Nanoseconds => scaled(value, 1_000.0, &["ns", "µs", "ms", "s"]),
            Self::Milliseconds => (value, "ms"),
            Self::Requests => (value, "requests"),
        };
        format!("{} {unit}", digits(value))
    }
}

/// `value` in the largest unit in which it is 1 or more.
fn scaled(mut value: f64, step: f64, units: &[&'static str]) -> (f64, &'static str) {
    let mut unit = "";
    for (place, name) in units.iter().enumerate() {
        unit = name;
        // 999.6 has three digits as 1.00 of the next unit.
        if value.abs() * 1.0005 < step || place + 1 == units.len() {
            break;
        }
        value /= step;
    }
    (value, unit)
}

/// Three digits where there are decimals.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}
