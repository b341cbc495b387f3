//! The definitions of a workload against the kind of its objects.
//!
//! Guarantees: pure. Leaves to others: installing them.

use serde_json::Value;

use crate::model::workload::place::line_of_text;
use crate::model::workload::{Error, Manifest, Resource};

/// What does not fit.
#[derive(Debug)]
pub enum Wrong {
    /// A field of `workload.toml`, and what to do about it.
    Workload(&'static str, String),
    /// A file with definitions.
    File(Error),
}

/// One manifest for each definition of a file.
///
/// # Errors
/// The file holds something else.
pub fn split(manifest: &Manifest) -> Result<Vec<Manifest>, Wrong> {
    let wrong = |line: Option<usize>, message: String| {
        Wrong::File(Error {
            file: manifest.file.clone(),
            line,
            field: String::new(),
            message,
        })
    };
    let documents = serde_saphyr::from_multiple::<Value>(&manifest.text).map_err(|error| {
        let line = error
            .location()
            .and_then(|at| usize::try_from(at.line()).ok());
        let words = error.without_snippet().to_string();
        wrong(line, format!("is not YAML: {words}"))
    })?;
    let mut definitions = Vec::new();
    for document in documents.into_iter().filter(|document| !document.is_null()) {
        if document["kind"] != "CustomResourceDefinition" {
            let kind = document["kind"]
                .as_str()
                .unwrap_or("something without a kind");
            let message = format!("holds a {kind}; crds are for CustomResourceDefinitions only");
            let line = line_of_text(&manifest.text, &format!("kind: {kind}"));
            return Err(wrong(line.or(Some(1)), message));
        }
        definitions.push(Manifest {
            file: manifest.file.clone(),
            text: document.to_string(),
        });
    }
    Ok(definitions)
}

/// # Errors
/// None of the definitions is that of the objects, or it differs from what the workload says.
pub fn check(definitions: &[Manifest], resource: &Resource) -> Result<(), Wrong> {
    if definitions.is_empty() {
        return Ok(());
    }
    let parsed = definitions.iter().map(|manifest| {
        (
            manifest,
            serde_json::from_str::<Value>(&manifest.text).unwrap_or_default(),
        )
    });
    let parsed: Vec<(&Manifest, Value)> = parsed.collect();
    let name = resource.full_name();
    let named = |value: &Value| {
        let text = |pointer: &str| {
            value
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or("?")
        };
        format!("{}.{}", text("/spec/names/plural"), text("/spec/group"))
    };
    let Some((manifest, definition)) = parsed.iter().find(|(_, value)| named(value) == name) else {
        let all: Vec<String> = parsed.iter().map(|(_, value)| named(value)).collect();
        return Err(Wrong::Workload(
            "crds",
            format!(
                "none of the files defines {name}, only {}; add its file, or correct object.plural and object.api_version",
                all.join(", ")
            ),
        ));
    };
    let spec = &definition["spec"];
    let file = &manifest.file;
    let kind = spec["names"]["kind"].as_str().unwrap_or_default();
    if kind != resource.kind {
        let message = format!("{:?}: {file} defines {kind:?}", resource.kind);
        return Err(Wrong::Workload("object.kind", message));
    }
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] != false);
    let served: Vec<&str> = served
        .filter_map(|version| version["name"].as_str())
        .collect();
    if !served.contains(&resource.version.as_str()) {
        let message = format!(
            "{file} does not serve version {}, only {}",
            resource.version,
            served.join(", ")
        );
        return Err(Wrong::Workload("object.api_version", message));
    }
    let scope = spec["scope"].as_str().unwrap_or("Namespaced");
    if (scope == "Namespaced") != resource.namespaced {
        let message = format!(
            "{file} has scope {scope}; write namespaced = {}",
            scope == "Namespaced"
        );
        return Err(Wrong::Workload("object.namespaced", message));
    }
    Ok(())
}
