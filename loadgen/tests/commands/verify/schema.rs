//! Whether `loadgen schema` describes the files of a folder: the part of JSON Schema that schemars writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{loadgen, text};
use crate::verify::bench_folder::BenchFolder;

/// Every JSON file of a fresh folder has the fields, and no others, that its schema demands.
pub fn every_file_is_described(bed: &BenchFolder) {
    let out = bed.path("out");
    let runs = json_files(&out.join("runs"));
    assert!(runs.len() > 8, "{runs:?}");
    for (kind, files) in [
        ("summary", vec![out.join("summary.json")]),
        ("experiment", vec![out.join("experiment.json")]),
        ("run", runs),
        ("conformance", json_files(&out.join("conformance"))),
    ] {
        let printed = loadgen(&["schema", kind]);
        assert!(printed.status.success(), "{}", text(&printed.stderr));
        let schema: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
        for file in files {
            let value = serde_json::from_slice(&fs::read(&file).expect("there")).expect("JSON");
            let wrong = differs(&schema, &schema, &value, "");
            assert_eq!(wrong, None, "{}", file.display());
            let Value::Object(mut without) = value else {
                panic!("{} is an object", file.display())
            };
            without.remove("schema");
            let wrong = differs(&schema, &schema, &Value::Object(without), "");
            assert_eq!(wrong.as_deref(), Some(".schema: missing"));
        }
    }
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("readable");
    let files = entries.map(|entry| entry.expect("readable").path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}

/// The first place where a value is not as a schema says.
fn differs(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        let schema = root.pointer(pointer).expect("a definition");
        return differs(root, schema, value, path);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            let wrong = choices.iter().map(|one| differs(root, one, value, path));
            let wrong: Vec<Option<String>> = wrong.collect();
            if wrong.iter().all(Option::is_some) {
                return wrong.into_iter().flatten().next();
            }
        }
    }
    if let Some(known) = schema["enum"].as_array()
        && !known.contains(value)
    {
        return Some(format!("{path}: {value} is not one of {known:?}"));
    }
    if schema.get("const").is_some_and(|known| known != value) {
        return Some(format!("{path}: {value} is not {}", schema["const"]));
    }
    let types = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    if !types.is_empty() && !types.iter().any(|one| is_of(value, one)) {
        return Some(format!("{path}: {value} is not {types:?}"));
    }
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let mut required = required.filter_map(Value::as_str);
            if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
                return Some(format!("{path}.{missing}: missing"));
            }
            fields.iter().find_map(|(name, value)| {
                let path = format!("{path}.{name}");
                let others = &schema["additionalProperties"];
                match schema["properties"].get(name) {
                    Some(schema) => differs(root, schema, value, &path),
                    None if others.is_object() => differs(root, others, value, &path),
                    // A type with known fields has no others, whether it says so or not.
                    None if schema["properties"].is_object() => Some(format!("{path}: unknown")),
                    None => None,
                }
            })
        }
        Value::Array(entries) => (0..).zip(entries).find_map(|(n, entry)| {
            let first = schema["prefixItems"].get(n);
            let schema = first.or_else(|| schema.get("items"))?;
            differs(root, schema, entry, &format!("{path}[{n}]"))
        }),
        _ => None,
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}
