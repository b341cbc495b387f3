//! Durations as Go writes them.
//!
//! Guarantees: pure; the rules are those of `time.ParseDuration` and `Duration.String`. What is no duration stays as it is.

/// The form in which Go writes `text`: `5m0s` for `300s`.
pub fn normal(text: &str) -> String {
    nanoseconds(text).map_or_else(|| text.to_owned(), written)
}

fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit() || c == '.');
        let unit = &rest[..letters.unwrap_or(rest.len())];
        rest = &rest[unit.len()..];
        sum += number
            * match unit {
                "ns" => 1.0,
                "us" | "µs" | "μs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3_600e9,
                _ => return None,
            };
    }
    // Less than a nanosecond is cut off.
    #[allow(clippy::cast_possible_truncation)]
    (!text.is_empty()).then_some(sign * sum as i128)
}

fn written(nanoseconds: i128) -> String {
    let (sign, rest) = (
        if nanoseconds < 0 { "-" } else { "" },
        nanoseconds.unsigned_abs(),
    );
    let decimals = |value: u128, unit: u128, name: &str| {
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", value % unit);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{point}{fraction}{name}", value / unit)
    };
    let text = match rest {
        0 => "0s".to_owned(),
        1..1_000 => format!("{rest}ns"),
        1_000..1_000_000 => decimals(rest, 1_000, "µs"),
        1_000_000..1_000_000_000 => decimals(rest, 1_000_000, "ms"),
        _ => {
            let minute = 60_000_000_000;
            let seconds = decimals(rest % minute, 1_000_000_000, "s");
            match (rest / minute / 60, rest / minute % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_written_as_go_writes_them() {
        for (given, want) in [
            ("300s", "5m0s"),
            ("5m", "5m0s"),
            ("1h", "1h0m0s"),
            ("90m30s", "1h30m30s"),
            ("1.5s", "1.5s"),
            ("1500ms", "1.5s"),
            ("250ms", "250ms"),
            ("2us", "2µs"),
            ("0", "0s"),
            ("-1m", "-1m0s"),
            ("soon", "soon"),
            ("", ""),
        ] {
            assert_eq!(normal(given), want, "{given}");
        }
    }
}
