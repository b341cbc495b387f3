//! Quantities of the Kubernetes API, compared by value.
//!
//! Guarantees: pure; what is no quantity equals no other. Leaves to others: which fields hold quantities.

use serde_json::Value;

/// A thousandth, in billionths. The server rounds the quantities of a resource list up to it (`SetDefaults_ResourceList` in
/// `pkg/apis/core/v1/defaults.go` of Kubernetes).
const MILLI: i128 = 1_000_000;

/// Whether both are quantities of the same amount (`0.5` is `500m`), or the server stores the planned one so
/// (`0.1m` as `1m`).
pub(crate) fn same_quantity(planned: &Value, stored: &Value) -> bool {
    match (quantity_nanos(planned), quantity_nanos(stored)) {
        (Some(planned), Some(stored)) => planned == stored || rounded_up(planned) == stored,
        _ => false,
    }
}

/// To thousandths, away from zero.
fn rounded_up(nanos: i128) -> i128 {
    let rest = nanos % MILLI;
    match rest == 0 {
        true => nanos,
        false => (nanos - rest).saturating_add(MILLI * nanos.signum()),
    }
}

/// A quantity in billionths, the smallest unit the API knows
/// (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>).
fn quantity_nanos(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (scale, power): (u128, i32) = match suffix {
        "n" => (1, 0),
        "u" => (1_000, 0),
        "m" => (1_000_000, 0),
        "" => (1_000_000_000, 0),
        "k" => (1_000_000_000, 3),
        "M" => (1_000_000_000, 6),
        "G" => (1_000_000_000, 9),
        "T" => (1_000_000_000, 12),
        "P" => (1_000_000_000, 15),
        "E" => (1_000_000_000, 18),
        "Ki" => (1_000_000_000 << 10, 0),
        "Mi" => (1_000_000_000 << 20, 0),
        "Gi" => (1_000_000_000 << 30, 0),
        "Ti" => (1_000_000_000 << 40, 0),
        "Pi" => (1_000_000_000 << 50, 0),
        "Ei" => (1_000_000_000 << 60, 0),
        _ => (
            1_000_000_000,
            suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
        ),
    };
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let power = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scaled = mantissa.checked_mul(scale)?;
    let ten = 10u128.checked_pow(power.unsigned_abs())?;
    // What is smaller than a billionth rounds up, as on the server.
    let nanos = match power >= 0 {
        true => scaled.checked_mul(ten)?,
        false => scaled.div_ceil(ten),
    };
    let nanos = i128::try_from(nanos).ok()?;
    Some(if negative { -nanos } else { nanos })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_in_billionths() {
        for (text, want) in [
            ("1", 1_000_000_000),
            ("1.5", 1_500_000_000),
            ("100m", 100_000_000),
            ("1Mi", 1_048_576_000_000_000),
            ("2e3", 2_000_000_000_000),
            ("-1", -1_000_000_000),
        ] {
            assert_eq!(quantity_nanos(&json!(text)), Some(want), "{text}");
        }
        assert_eq!(quantity_nanos(&json!("much")), None);
    }

    #[test]
    fn what_the_server_rounds_up_is_the_same() {
        for (planned, stored, want) in [
            ("0.5", "500m", true),
            ("0.1m", "1m", true),
            ("1500u", "2m", true),
            ("1500u", "1m", false),
            ("2m", "1500u", false),
            ("-0.1m", "-1m", true),
        ] {
            let same = same_quantity(&json!(planned), &json!(stored));
            assert_eq!(same, want, "{planned} {stored}");
        }
    }
}
