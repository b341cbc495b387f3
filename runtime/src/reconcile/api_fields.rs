//! What the comparison knows of fields of the Kubernetes API, by their names.
//!
//! Guarantees: pure. A name that is not known here is compared as it stands; where the server stores another
//! form, its answer to a patch says so (`normalized`).
//! Leaves to others: the comparison (`drift`), the patch (`merge_patch`).

use serde_json::Value;

/// Maps that have one writer: the API calls them atomic (`x-kubernetes-map-type`), and a key that somebody adds
/// changes what the plan means.
const ATOMIC_MAPS: [&str; 9] = [
    "selector",
    "matchLabels",
    "nodeSelector",
    "labelSelector",
    "podSelector",
    "namespaceSelector",
    "objectSelector",
    "configMapKeyRef",
    "secretKeyRef",
];

/// Maps from a free key to a text: the server keeps a value that is empty.
const TEXT_MAPS: [&str; 9] = [
    "labels",
    "annotations",
    "data",
    "binaryData",
    "stringData",
    "selector",
    "matchLabels",
    "nodeSelector",
    "parameters",
];

/// Fields that are pointers in the types of the API, so that the server keeps a zero value, and where nothing
/// means something else than zero. (Those with a default are never absent.)
const MEANT_ZEROS: [&str; 16] = [
    "allowPrivilegeEscalation",
    "automountServiceAccountToken",
    "enableServiceLinks",
    "fsGroup",
    "hostUsers",
    "namespaceSelector",
    "podSelector",
    "priority",
    "replicas",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "storageClassName",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "ttlSecondsAfterFinished",
];

/// Fields that hold a quantity, or a map of them.
const QUANTITIES: [&str; 9] = [
    "requests",
    "limits",
    "hard",
    "overhead",
    "capacity",
    "allocatable",
    "sizeLimit",
    "divisor",
    "averageValue",
];

/// The fields by which the items of a list are told apart (`x-kubernetes-list-map-keys`): the first of these whose
/// first field all items have.
const ITEM_KEYS: [&[&str]; 9] = [
    &["containerPort", "protocol"],
    // Before `name`, which only some ports of a Service have.
    &["port", "protocol"],
    &["name"],
    &["mountPath"],
    &["devicePath"],
    &["topologyKey", "whenUnsatisfiable"],
    &["ip"],
    &["key"],
    &["type"],
];

pub(crate) fn is_atomic_map(field: &str) -> bool {
    ATOMIC_MAPS.contains(&field)
}

pub(crate) fn is_text_map(field: &str) -> bool {
    TEXT_MAPS.contains(&field)
}

/// Whether a zero value of `field` counts as absent.
pub(crate) fn zero_is_absent(field: &str) -> bool {
    !MEANT_ZEROS.contains(&field)
}

pub(crate) fn holds_quantities(field: &str) -> bool {
    QUANTITIES.contains(&field)
}

/// `null`, an empty map or an empty list.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// What Go's `omitempty` leaves out: the zero value of a text, a number or a truth value, and what is empty.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => is_empty(value),
    }
}

/// The fields that tell the items of a list apart; `None` where only their place does.
pub(crate) fn item_keys(items: &[Value]) -> Option<&'static [&'static str]> {
    let all_have = |key: &str| items.iter().all(|item| item.get(key).is_some());
    let mut keys = ITEM_KEYS.into_iter();
    keys.find(|keys| keys.first().is_some_and(|first| all_have(first)))
}

/// Whether two items of a list have the same keys.
pub(crate) fn same_item(one: &Value, other: &Value, keys: &[&str]) -> bool {
    keys.iter()
        .all(|key| key_of(one, key) == key_of(other, key))
}

/// The default of a key stands for one that is missing: only `protocol` has one.
fn key_of<'a>(item: &'a Value, key: &str) -> Option<&'a Value> {
    let value = item.get(key).filter(|value| !is_zero(value));
    match key {
        "protocol" => value.filter(|value| *value != "TCP"),
        _ => value,
    }
}
