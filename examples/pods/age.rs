//! How long ago, as kubectl says it: two or three figures, no more.
//!
//! Source: `HumanDuration` in apimachinery v0.36.4, `pkg/util/duration/duration.go`.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// From `then` to `now`; `<unknown>` without a time.
pub fn since(then: Option<Timestamp>, now: Timestamp) -> String {
    match then {
        Some(then) => human(now.duration_since(then)),
        None => "<unknown>".to_owned(),
    }
}

/// `47h`, `2d1h`, `8d`. Clocks that differ by less than two seconds are forgiven.
pub fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

/// The smaller unit only where it is not zero.
fn two(large: i64, unit: &str, small: i64, smaller: &str) -> String {
    match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{smaller}"),
    }
}
