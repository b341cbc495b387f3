//! The served versions of one custom resource, without conversion (`strategy: None`).
//!
//! Guarantees: an object is stored in the storage version and shown in the one that is asked for: only its apiVersion
//! changes, fields that the version does not know are pruned, and defaults are those of the version it is stored in.
//! Leaves to others: which versions there are ([`crate::api::definition`]).

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::model::kind::{Kind, Rules};
use crate::schema::{default, prune};

/// The object as clients of this version see it.
pub(crate) fn shown(kind: &Kind, object: Value) -> Value {
    in_version(kind, object, false)
}

/// The object as it is stored; `storage` is the storage version.
pub(crate) fn stored(storage: &Kind, object: Value) -> Value {
    in_version(storage, object, true)
}

fn in_version(kind: &Kind, mut object: Value, fills: bool) -> Value {
    let Rules::Custom(schema) = &kind.rules else {
        return object;
    };
    let version = kind.api_version();
    if object.get("apiVersion").and_then(Value::as_str) == Some(version.as_str()) {
        return object;
    }
    let mut own = Vec::new();
    if let Value::Object(map) = &mut object {
        own.extend(["kind", "metadata"].map(|field| map.remove_entry(field)));
        map.remove("apiVersion");
    }
    prune::prune(schema, &mut object, "");
    if fills {
        default::default(schema, &mut object);
    }
    if let Value::Object(map) = &mut object {
        map.extend(own.into_iter().flatten());
    }
    object["apiVersion"] = json!(version);
    object
}

/// The preferred version first: `v2`, `v1`, `v2beta1`, `v1alpha1`, then any other name
/// (`CompareKubeAwareVersionStrings` of apimachinery).
pub(crate) fn by_priority(one: &str, other: &str) -> Ordering {
    rank(other).cmp(&rank(one)).then_with(|| one.cmp(other))
}

/// Stability, major and minor number; `None` for a name that is no such version.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (major, rest) = rest.split_at(digits(rest));
    let major = major.parse().ok()?;
    let (stability, minor) = match rest {
        "" => return Some((2, major, 0)),
        rest => match rest.strip_prefix("beta") {
            Some(minor) => (1, minor),
            None => (0, rest.strip_prefix("alpha")?),
        },
    };
    Some((stability, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::by_priority;

    #[test]
    fn versions_are_ordered_by_stability_and_number() {
        let mut versions = [
            "v1alpha1", "foo", "v2beta1", "v1", "v10", "v2", "v1beta2", "bar", "v2beta10",
        ];
        versions.sort_by(|one, other| by_priority(one, other));
        let want = [
            "v10", "v2", "v1", "v2beta10", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo",
        ];
        assert_eq!(versions, want);
    }
}
