//! Wall time that follows tokio's clock.
//!
//! Guarantees: under paused time two readings differ by what the tokio clock advanced, so
//! timestamps in a simulation are as repeatable as its schedule: seconds begin where the clock began.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Seconds since 1970 at start, advanced by the tokio clock.
#[derive(Clone, Debug)]
pub struct Clock {
    start: Instant,
    start_wall: Duration,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

impl Clock {
    /// Starts at the wall time of this machine, at a whole second: whether two writes of a simulation have the same
    /// timestamp does not depend on when it runs.
    pub fn new() -> Clock {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Clock::starting_at(wall.as_secs())
    }

    /// Starts at these seconds since 1970.
    pub fn starting_at(start_s: u64) -> Clock {
        Clock {
            start: Instant::now(),
            start_wall: Duration::from_secs(start_s),
        }
    }

    /// RFC 3339 in seconds, as `metav1.Time` is written.
    pub fn now(&self) -> String {
        rfc3339((self.start_wall + self.start.elapsed()).as_secs())
    }
}

/// Civil date from days, after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn rfc3339(unix_s: u64) -> String {
    let days = unix_s / 86_400;
    let second_of_day = unix_s % 86_400;
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second_of_day / 3_600,
        second_of_day / 60 % 60,
        second_of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn known_instants() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_237_143), "2026-11-21T04:59:03Z");
    }
}
