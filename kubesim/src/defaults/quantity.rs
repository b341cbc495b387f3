//! Quantities in the form in which the real server stores them: `0.5` is `500m`, `1024Mi` is `1Gi`, `1000m` is `1`.
//!
//! Follows `resource.Quantity` of apimachinery v0.36.4: a text that is short and has no factor to remove is kept
//! as it is (`1.500k`); else the form (decimal, exponent or binary) is kept and the largest suffix that leaves no
//! fraction is used. Limits: amounts beyond 10^29 are refused.

/// Suffixes and their powers of ten.
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
/// Suffixes and their powers of two.
const BINARY: [(&str, u32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];
/// Billionths of one.
const NANO: u128 = 1_000_000_000;
/// Billionths of a thousandth.
const MILLI: u128 = 1_000_000;
/// Beyond these digits the server computes with another type, and forgets the text.
const SHORT_DIGITS: usize = 18;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Suffix,
    Exponent,
    Binary,
}

struct Quantity {
    negative: bool,
    nano: u128,
    form: Form,
    /// The text is stored as it is.
    kept: bool,
}

/// `None` if the text is no quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    written(text, parse(text)?)
}

/// The same for what a container asks for: in thousandths, fractions of one rounded up
/// (`SetDefaults_ResourceList`).
pub(crate) fn in_thousandths(text: &str) -> Option<String> {
    let mut quantity = parse(text)?;
    let rounded = quantity.nano.div_ceil(MILLI).checked_mul(MILLI)?;
    quantity.kept &= rounded == quantity.nano;
    quantity.nano = rounded;
    written(text, quantity)
}

fn written(text: &str, quantity: Quantity) -> Option<String> {
    if quantity.kept {
        return Some(text.to_owned());
    }
    let body = match quantity {
        Quantity { nano: 0, .. } => return Some("0".to_owned()),
        Quantity {
            form: Form::Binary,
            nano,
            ..
        } if nano >= 1024 * NANO && nano.is_multiple_of(NANO) => binary(nano / NANO),
        Quantity { nano, form, .. } => decimal(nano, form == Form::Exponent)?,
    };
    Some(match quantity.negative {
        true => format!("-{body}"),
        false => body,
    })
}

/// Billionths, to compare quantities by; `None` if the text is none or too large.
pub(crate) fn nano(text: &str) -> Option<i128> {
    let quantity = parse(text)?;
    let nano = i128::try_from(quantity.nano).ok()?;
    Some(if quantity.negative { -nano } else { nano })
}

fn parse(text: &str) -> Option<Quantity> {
    if text.is_empty() {
        return None;
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = unsigned.split_at(digits(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let shifted = format!("{whole}{fraction}");
    let value: u128 = shifted.parse().ok()?;
    if let Some((_, bits)) = BINARY.iter().find(|(known, _)| *known == suffix) {
        let scaled = value.checked_mul(1 << bits)?.checked_mul(NANO)?;
        let unit = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let room = 15 - i64::try_from(whole.len()).ok()? - i64::from(bits * 3 / 10) - 1;
        return Some(Quantity {
            negative,
            nano: scaled.div_ceil(unit),
            form: Form::Binary,
            kept: fraction.is_empty() && room >= 0 && value & 7 != 0,
        });
    }
    let (exponent, form) = match DECIMAL.iter().find(|(known, _)| *known == suffix) {
        Some((_, exponent)) => (*exponent, Form::Suffix),
        None => {
            let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (exponent, Form::Exponent)
        }
    };
    let scale = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let is_short = shifted.len() <= SHORT_DIGITS && scale >= -9;
    let has_no_factor = scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0');
    Some(Quantity {
        negative,
        nano: nanos(value, scale.checked_add(9)?)?,
        form,
        kept: text == "0" || (is_short && has_no_factor),
    })
}

/// Fractions of a billionth round up.
fn nanos(value: u128, shift: i32) -> Option<u128> {
    let power = 10_u128.checked_pow(shift.unsigned_abs());
    match (shift >= 0, power) {
        _ if value == 0 => Some(0),
        (true, power) => value.checked_mul(power?),
        (false, None) => Some(1),
        (false, Some(power)) => Some(value.div_ceil(power)),
    }
}

fn binary(bytes: u128) -> String {
    let fits = BINARY
        .iter()
        .rev()
        .find(|(_, bits)| bytes.is_multiple_of(1_u128 << bits));
    match fits {
        Some((suffix, bits)) => format!("{}{suffix}", bytes >> bits),
        None => bytes.to_string(),
    }
}

/// With an exponent that is a multiple of three, or the suffix for it.
fn decimal(nano: u128, as_exponent: bool) -> Option<String> {
    let (mut amount, mut exponent) = (nano, -9);
    while amount.is_multiple_of(1_000) {
        amount /= 1_000;
        exponent += 3;
    }
    if as_exponent {
        return Some(match exponent {
            0 => amount.to_string(),
            exponent => format!("{amount}e{exponent}"),
        });
    }
    let (suffix, _) = DECIMAL.iter().find(|(_, power)| *power == exponent)?;
    Some(format!("{amount}{suffix}"))
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
            ("1.500k", Some("1.500k")),
            ("2", Some("2")),
            ("1000", Some("1k")),
            ("1024Mi", Some("1Gi")),
            ("128Mi", Some("128Mi")),
            ("0.5Gi", Some("512Mi")),
            ("0.5Ki", Some("512")),
            ("1.5Gi", Some("1536Mi")),
            ("0.3Ki", Some("307200m")),
            ("1e3", Some("1e3")),
            ("1e4", Some("10e3")),
            ("12E-1", Some("1200e-3")),
            ("0.1n", Some("1n")),
            ("1e-2147483648", Some("1e-9")),
            ("1.5e-2147483648", None),
            ("0", Some("0")),
            ("00", Some("0")),
            (".", Some("0")),
            ("-1", Some("-1")),
            ("+-1", None),
            ("1.2.3", None),
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
