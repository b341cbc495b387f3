//! Timestamps of the Kubernetes API: RFC 3339, in whole seconds; and durations in milliseconds.
//!
//! Guarantees: pure but for [`now_s`]; any text is a timestamp or `None`. Limits: from 1970 to 2106, which is what four
//! bytes hold; a clock that was never set says a day of 2026. Why not a library: a calendar and its error messages were 1 % of the binary.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_S: i64 = 86_400;

/// 2026-11-21: a clock that says an earlier time was never set, as on a board without a battery until it is told the
/// time. (systemd moves such a clock to the day of its own build.)
const EARLIEST_S: u32 = 1_795_219_200;

/// Seconds since 1970 by the clock of the system, and not before [`EARLIEST_S`].
pub(crate) fn now_s() -> u32 {
    at(SystemTime::now())
}

/// Whole milliseconds; the most that fit where it is longer.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn at(time: SystemTime) -> u32 {
    let elapsed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since_s = u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX);
    since_s.max(EARLIEST_S)
}

/// Seconds since 1970: of `2026-11-21T05:07:12Z`, also with a fraction, which is cut off, or an offset.
pub(crate) fn seconds(text: &str) -> Option<u32> {
    let text = text.as_bytes();
    let (date_time, rest) = text.split_at_checked(19)?;
    let shape = |(i, b): (usize, &u8)| match i {
        4 | 7 => *b == b'-',
        10 => matches!(b, b'T' | b't' | b' '),
        13 | 16 => *b == b':',
        _ => b.is_ascii_digit(),
    };
    if !date_time.iter().enumerate().all(shape) {
        return None;
    }
    let number = |from: usize, to: usize| digits(&date_time[from..to]);
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    // 60 is a leap second.
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    if day < 1 || day > days_before(year, month + 1) - days_before(year, month) {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    let at = days * DAY_S + hour * 3600 + minute * 60 + second.min(59);
    u32::try_from(at - offset(rest)?).ok()
}

/// `2026-11-21T05:07:12Z`.
pub(crate) fn rfc3339(since_s: u32) -> String {
    let (days, second) = (i64::from(since_s) / DAY_S, i64::from(since_s) % DAY_S);
    // 1970 or later and at most 2106: one guess and a step or two.
    let mut year = 1970 + days / 366;
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days_before(year, month + 1) <= days {
        month += 1;
    }
    let day = days - days_before(year, month) + 1;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days from 1970 to the first of a month; month 13 is January of the next year.
fn days_before(year: i64, month: i64) -> i64 {
    const UNTIL_MONTH: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
    let leap_years = |until: i64| until / 4 - until / 100 + until / 400;
    let leaps = leap_years(year - 1) - leap_years(1969);
    let leap = leap_years(year) - leap_years(year - 1);
    let in_year = usize::try_from(month - 1).map_or(0, |month| UNTIL_MONTH[month.min(12)]);
    (year - 1970) * 365 + leaps + in_year + if month > 2 { leap } else { 0 }
}

/// Seconds by which a local time is ahead of UTC, after the fraction.
fn offset(rest: &[u8]) -> Option<i64> {
    let rest = match rest.split_first() {
        Some((b'.', fraction)) => {
            let end = fraction.iter().position(|b| !b.is_ascii_digit())?;
            fraction.get(end..).filter(|_| end > 0)?
        }
        _ => rest,
    };
    match rest {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let all = [*h1, *h2, *m1, *m2];
            let (hours, minutes) = (digits(&all[..2]), digits(&all[2..]));
            if !all.iter().all(u8::is_ascii_digit) || hours > 23 || minutes > 59 {
                return None;
            }
            let ahead = hours * 3600 + minutes * 60;
            Some(if *sign == b'+' { ahead } else { -ahead })
        }
        _ => None,
    }
}

/// The number that these decimal digits write.
fn digits(text: &[u8]) -> i64 {
    let digit = |byte: &u8| i64::from(byte.wrapping_sub(b'0'));
    text.iter()
        .fold(0, |number, byte| number * 10 + digit(byte))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts() {
        let cases = [
            ("1970-01-01T00:00:05Z", Some(5)),
            ("2026-11-21T05:07:12Z", Some(1_795_237_632)),
            ("2026-11-21T05:07:12.987654Z", Some(1_795_237_632)),
            ("2026-11-21T07:07:12+02:00", Some(1_795_237_632)),
            ("2026-11-21T00:37:12.5-04:30", Some(1_795_237_632)),
            ("2024-02-29T00:00:00Z", Some(1_709_164_800)),
            ("2016-12-31T23:59:60Z", Some(1_483_228_799)),
            ("2023-02-29T00:00:00Z", None),
            ("2100-02-29T00:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("2106-02-07T06:28:16Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-00-01T00:00:00Z", None),
            ("2026-01-00T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T00:00:00.Z", None),
            ("2026-01-01T00:00:00+0200", None),
            ("2026-01-01", None),
            ("soon", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(seconds(text), want, "{text}");
        }
    }

    #[test]
    fn a_clock_that_was_never_set_does_not_say_1970() {
        let hour = std::time::Duration::from_secs(3_600);
        for unset in [UNIX_EPOCH, UNIX_EPOCH + hour, UNIX_EPOCH - hour] {
            assert_eq!(rfc3339(at(unset)), "2026-11-21T00:00:00Z");
        }
        assert!(at(SystemTime::now()) > EARLIEST_S);
    }

    proptest! {
        #[test]
        fn every_second_is_written_as_the_library_does(since_s: u32) {
            let library = Timestamp::from_second(i64::from(since_s)).map(|t| t.to_string());
            prop_assert_eq!(Ok(rfc3339(since_s)), library.map_err(|e| e.to_string()));
            prop_assert_eq!(seconds(&rfc3339(since_s)), Some(since_s));
        }

        #[test]
        fn what_is_read_is_what_the_library_reads(
            text in "(19[67]|20[0-9]|21[01])[0-9]-[0-1][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][01][0-9]:[0-5][0-9])"
        ) {
            let library = text.parse::<Timestamp>().ok().and_then(|t| {
                // jiff rounds towards zero, and a second is cut off here as well.
                u32::try_from(t.as_second()).ok().filter(|_| t.as_nanosecond() >= 0)
            });
            prop_assert_eq!(seconds(&text), library);
        }

        #[test]
        fn any_text_is_a_timestamp_or_none(text: String, digits in "[0-9TtZz:. +-]{0,40}") {
            for text in [text, digits] {
                prop_assert!(seconds(&text).is_none_or(|read| rfc3339(read).len() == 20), "{text}");
            }
        }

        #[test]
        fn a_damaged_text_is_refused_or_read_as_the_library_does(at in 0usize..25, other in any::<char>()) {
            let mut text: Vec<char> = "2026-11-21T05:07:12+02:00".chars().collect();
            text[at] = other;
            let text: String = text.into_iter().collect();
            if let Some(read) = seconds(&text) {
                let library = text.parse::<Timestamp>().map(|t| t.as_second());
                prop_assert_eq!(library.map_err(|e| e.to_string()), Ok(i64::from(read)));
            }
        }
    }
}
