//! Ages are what kubectl's `HumanDuration` makes of them.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::example::age::{human, since};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The boundaries of apimachinery v0.36.4, `pkg/util/duration/duration.go`, from both sides.
#[test]
fn ages_by_table() {
    let cases_ms = [
        (-2 * SECOND, "<invalid>"),
        (-2 * SECOND + 1, "0s"),
        (-SECOND, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (SECOND - 1, "0s"),
        (SECOND, "1s"),
        (70 * SECOND, "70s"),
        (2 * MINUTE - 1, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + SECOND, "2m1s"),
        (190 * SECOND, "3m10s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 59 * SECOND, "10m"),
        (70 * MINUTE, "70m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (8 * DAY + 23 * HOUR, "8d"),
        (367 * DAY, "367d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY - 1, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (3 * YEAR, "3y"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
        (8 * YEAR + 364 * DAY, "8y"),
    ];
    for (ms, want) in cases_ms {
        assert_eq!(human(SignedDuration::from_millis(ms)), want, "{ms} ms");
    }
}

#[test]
fn an_object_without_a_time_has_an_unknown_age() {
    let now = Timestamp::UNIX_EPOCH;
    assert_eq!(since(None, now), "<unknown>");
    assert_eq!(since(Some(now), now), "0s");
}
