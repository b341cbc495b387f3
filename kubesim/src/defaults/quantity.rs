//! Quantities in canonical form: `0.5` is `500m`, `1024Mi` is `1Gi`, `1000m` is `1`.
//!
//! Follows `resource.Quantity` of apimachinery v0.36.4: the form (decimal or binary) is kept, the
//! largest suffix that leaves no fraction is used.

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, u32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

/// An amount with the form in which it was written.
enum Amount {
    Bytes(u128),
    /// Billionths.
    Nano(u128),
}

/// `None` if the text is no quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (negative, amount) = parse(text)?;
    let body = match amount {
        Amount::Bytes(bytes) => binary(bytes),
        Amount::Nano(nano) => decimal(nano),
    };
    Some(if negative && body != "0" {
        format!("-{body}")
    } else {
        body
    })
}

/// Billionths, to compare quantities by; `None` if the text is none or too large.
pub(crate) fn nano(text: &str) -> Option<i128> {
    let (negative, amount) = parse(text)?;
    let nano = match amount {
        Amount::Bytes(bytes) => bytes.checked_mul(1_000_000_000)?,
        Amount::Nano(nano) => nano,
    };
    let nano = i128::try_from(nano).ok()?;
    Some(if negative { -nano } else { nano })
}

fn parse(text: &str) -> Option<(bool, Amount)> {
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['-', '+']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let fraction_digits = u32::try_from(fraction.len()).ok()?;
    if let Some((_, bits)) = BINARY.iter().find(|(s, _)| *s == suffix) {
        let scale = 10_u128.checked_pow(fraction_digits)?;
        let scaled = digits.checked_mul(1_u128 << bits)?;
        // Fractions of a byte round up.
        return Some((negative, Amount::Bytes(scaled.div_ceil(scale))));
    }
    let exponent = match DECIMAL.iter().find(|(s, _)| *s == suffix) {
        Some((_, exponent)) => *exponent,
        None => suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
    };
    let shift = exponent - i32::try_from(fraction_digits).ok()? + 9;
    let power = 10_u128.checked_pow(shift.unsigned_abs())?;
    let nano = if shift >= 0 {
        digits.checked_mul(power)?
    } else {
        digits.div_ceil(power)
    };
    Some((negative, Amount::Nano(nano)))
}

fn binary(bytes: u128) -> String {
    let fits = BINARY
        .iter()
        .rev()
        .find(|(_, bits)| bytes > 0 && bytes.is_multiple_of(1_u128 << bits));
    match fits {
        Some((suffix, bits)) => format!("{}{suffix}", bytes >> bits),
        None => bytes.to_string(),
    }
}

fn decimal(nano: u128) -> String {
    if nano == 0 {
        return "0".to_owned();
    }
    DECIMAL
        .iter()
        .rev()
        .find_map(|(suffix, exponent)| {
            let unit = 10_u128.pow(u32::try_from(exponent + 9).ok()?);
            nano.is_multiple_of(unit)
                .then(|| format!("{}{suffix}", nano / unit))
        })
        .unwrap_or_else(|| format!("{nano}n"))
}

#[cfg(test)]
mod tests {
    use super::{canonical, nano};

    #[test]
    fn quantities_by_table() {
        for (given, want) in [
            ("0.5", Some("500m")),
            ("500m", Some("500m")),
            ("1000m", Some("1")),
            ("1500m", Some("1500m")),
            ("2", Some("2")),
            ("1000", Some("1k")),
            ("1024Mi", Some("1Gi")),
            ("128Mi", Some("128Mi")),
            ("0.5Gi", Some("512Mi")),
            ("1.5Gi", Some("1536Mi")),
            ("1e3", Some("1k")),
            ("0", Some("0")),
            ("-1", Some("-1")),
            ("", None),
            ("abc", None),
            ("1Xi", None),
        ] {
            assert_eq!(canonical(given).as_deref(), want, "{given}");
        }
    }

    #[test]
    fn quantities_compare_across_forms() {
        for (less, more) in [
            ("64Mi", "128Mi"),
            ("1G", "1Gi"),
            ("500m", "0.6"),
            ("-1", "0"),
        ] {
            assert!(nano(less) < nano(more), "{less} < {more}");
        }
        assert_eq!(nano("1024Ki"), nano("1Mi"));
        assert_eq!(nano("lots"), None);
    }
}
