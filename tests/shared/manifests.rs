//! Manifests as values, and where two sets of them differ.
//!
//! Guarantees: objects are told apart by kind, namespace and name; each difference is one line with the object, the path
//! and both values. 64 and 64.0 are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use serde_json::Value;

/// A file of this repository.
pub fn read(file: &str) -> Result<String, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

pub fn documents(file: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    parse(&read(file)?).map_err(|error| format!("{file}: {error}").into())
}

pub fn parse(text: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    Ok(serde_saphyr::from_multiple(text)?)
}

/// `Deployment tare-system/tare`.
pub fn name(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("-")
            .to_owned()
    };
    format!(
        "{} {}/{}",
        text("/kind"),
        text("/metadata/namespace"),
        text("/metadata/name")
    )
}

pub fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let named = objects.into_iter().map(|object| (name(&object), object));
    named.collect()
}

/// Every difference, as `Deployment tare-system/tare /spec/replicas: 1 and 2`.
pub fn differences(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for name in names {
        match (one.get(name), other.get(name)) {
            (Some(a), Some(b)) => add(&mut found, &format!("{name} "), a, b),
            (Some(_), None) => found.push(format!("{name}: in the first only")),
            _ => found.push(format!("{name}: in the second only")),
        }
    }
    found
}

fn add(found: &mut Vec<String>, path: &str, a: &Value, b: &Value) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or(Value::Null)
                };
                add(found, &format!("{path}/{key}"), &of(a), &of(b));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                add(found, &format!("{path}/{at}"), a, b);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if a == b => {}
        _ => found.push(format!("{path}: {a} and {b}")),
    }
}
