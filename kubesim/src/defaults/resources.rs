//! What containers ask for: quantities in the form that is stored, and the rules for names and amounts.
//!
//! Follows `validateResourceRequirements` of Kubernetes v1.36.4 (`pkg/apis/core/validation/validation.go`).

use serde_json::{Map, Value, json};

use crate::defaults::quantity;
use crate::model::names;
use crate::schema::field_error::FieldError;

const PARTS: [&str; 2] = ["limits", "requests"];
const HUGE_PAGES: &str = "hugepages-";
const NANO: i128 = 1_000_000_000;

/// A text that is no quantity is no field of the object: it cannot be decoded.
pub(crate) fn undecodable(resources: &Map<String, Value>) -> bool {
    let quantities = PARTS
        .iter()
        .filter_map(|part| resources.get(*part)?.as_object());
    let mut values = quantities.flat_map(Map::values);
    values.any(|value| quantity::canonical(&text(value)).is_none())
}

pub(crate) fn shape(resources: &mut Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    for part in PARTS {
        let quantities = resources.get_mut(part).and_then(Value::as_object_mut);
        for (name, value) in quantities.into_iter().flatten() {
            if let Some(canonical) = quantity::in_thousandths(&text(value)) {
                *value = json!(canonical);
            }
            check(name, value, &format!("{at}.{part}[{name}]"), errors);
        }
    }
    let part = |part: &str| resources.get(part).and_then(Value::as_object).cloned();
    let (limits, requests) = (part("limits"), part("requests"));
    let (limits, requests) = (limits.unwrap_or_default(), requests.unwrap_or_default());
    check_limits(&limits, &requests, at, errors);
    let all = || limits.keys().chain(requests.keys());
    let is_usual = |name: &String| matches!(name.as_str(), "cpu" | "memory");
    if all().any(|name| name.starts_with(HUGE_PAGES)) && !all().any(is_usual) {
        errors.push(FieldError::forbidden(at, "HugePages require cpu or memory"));
    }
}

/// One name and its amount.
fn check(name: &str, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let shown = json!(name);
    if let Some(why) = names::refuse_qualified(name) {
        errors.push(FieldError::invalid(at, &shown, &why));
    }
    if !name.contains('/') {
        let is_standard = matches!(name, "cpu" | "memory" | "ephemeral-storage");
        if !is_standard && !name.starts_with(HUGE_PAGES) {
            let detail = "must be a standard resource for containers";
            errors.push(FieldError::invalid(at, &shown, detail));
        }
    } else if !is_native(name) && !is_extended(name) {
        let detail = "doesn't follow extended resource name standard";
        errors.push(FieldError::invalid(at, &shown, detail));
    }
    let Some(nano) = value.as_str().and_then(quantity::nano) else {
        return;
    };
    if nano < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(at, value, detail));
    }
    // Counted in thousandths, fractions of one rounded up.
    let milli = nano.div_euclid(NANO / 1_000) + i128::from(nano.rem_euclid(NANO / 1_000) > 0);
    if is_extended(name) && milli % 1_000 != 0 {
        errors.push(FieldError::invalid(at, value, "must be an integer"));
    }
    if let Some(size) = name.strip_prefix(HUGE_PAGES) {
        let page = quantity::nano(size).filter(|page| *page > 0 && page % NANO == 0);
        // A fraction of a byte counts as one.
        let bytes = nano.div_euclid(NANO) + i128::from(nano.rem_euclid(NANO) > 0);
        if page.is_none_or(|page| bytes % (page / NANO) != 0) {
            let shown = value.as_str().unwrap_or_default();
            let detail = format!("{shown} is not positive integer multiple of {name}");
            errors.push(FieldError::invalid(at, value, &detail));
        }
    }
}

/// No request is above its limit; of what cannot be overcommitted they are the same.
fn check_limits(
    limits: &Map<String, Value>,
    requests: &Map<String, Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let nano = |value: &Value| quantity::nano(value.as_str()?);
    for (name, request) in requests {
        let overcommits = is_native(name) && !name.starts_with(HUGE_PAGES);
        let Some(limit) = limits.get(name) else {
            if !overcommits {
                let detail = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(format!("{at}.limits"), detail));
            }
            continue;
        };
        let (Some(requested), Some(most)) = (nano(request), nano(limit)) else {
            continue;
        };
        let must = match overcommits {
            false if requested != most => "must be equal to",
            true if requested > most => "must be less than or equal to",
            _ => continue,
        };
        let limit = limit.as_str().unwrap_or_default();
        errors.push(FieldError::invalid(
            format!("{at}.requests"),
            request,
            &format!("{must} {name} limit of {limit}"),
        ));
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Of Kubernetes itself.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    let in_a_quota = format!("requests.{name}");
    !is_native(name)
        && !name.starts_with("requests.")
        && names::refuse_qualified(&in_a_quota).is_none()
}
