//! The definitions of a workload against the kind of its objects.
//!
//! Guarantees: pure. Leaves to others: installing them.

use serde_json::Value;

use crate::spec::workload::{Error, Manifest, Resource};

/// What does not fit: a field of `workload.toml`, and what to do about it.
pub type Wrong = (&'static str, String);

/// One manifest for each definition of a file.
///
/// # Errors
/// The file holds something else.
pub fn split(manifest: &Manifest) -> Result<Vec<Manifest>, Error> {
    let mut definitions = Vec::new();
    for document in manifest.documents()? {
        if document["kind"] != "CustomResourceDefinition" {
            let kind = document["kind"]
                .as_str()
                .unwrap_or("something without a kind");
            let message = format!("holds a {kind}; crds are for CustomResourceDefinitions only");
            return Err(manifest.error("", &format!("kind: {kind}"), &message));
        }
        definitions.push(Manifest {
            file: manifest.file.clone(),
            text: document.to_string(),
        });
    }
    Ok(definitions)
}

/// Each with what it says; the text of one is JSON, as [`split`] makes it.
fn parsed(definitions: &[Manifest]) -> impl Iterator<Item = (&Manifest, Value)> {
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_default();
    definitions.iter().map(move |it| (it, parse(&it.text)))
}

/// Whether the API server itself has the kinds of a group: their definitions are nobody's file.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// Whether these definitions, where there are any, or the API server of its own have this kind.
pub fn have(definitions: &[Manifest], resource: &Resource) -> bool {
    definitions.is_empty()
        || is_built_in(&resource.group)
        || parsed(definitions).any(|(_, it)| defines(&it, resource))
}

fn defines(definition: &Value, resource: &Resource) -> bool {
    let spec = &definition["spec"];
    spec["group"] == resource.group.as_str() && spec["names"]["plural"] == resource.plural.as_str()
}

/// The type of a field of the objects, such as `string`; `None` where no definition says it.
pub fn type_of(definitions: &[Manifest], resource: &Resource, field: &[String]) -> Option<String> {
    let (_, own) = parsed(definitions).find(|(_, it)| defines(it, resource))?;
    let mut versions = own["spec"]["versions"].as_array()?.iter();
    let version = versions.find(|it| it["name"] == resource.version.as_str())?;
    let schema = &version["schema"]["openAPIV3Schema"];
    let schema = field
        .iter()
        .fold(schema, |at, name| &at["properties"][name]);
    schema["type"].as_str().map(str::to_owned)
}

/// # Errors
/// None of the definitions is that of the objects, which the API server does not have of its own, or it differs from
/// what the workload says.
pub fn check(definitions: &[Manifest], resource: &Resource) -> Result<(), Wrong> {
    if definitions.is_empty() {
        return Ok(());
    }
    let parsed: Vec<(&Manifest, Value)> = parsed(definitions).collect();
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
    let own = parsed.iter().find(|(_, value)| named(value) == name);
    if own.is_none() && is_built_in(&resource.group) {
        // They are of the operator: it has them beside objects of a built-in kind.
        return Ok(());
    }
    let Some((manifest, definition)) = own else {
        let all: Vec<String> = parsed.iter().map(|(_, value)| named(value)).collect();
        return Err((
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
        return Err(("object.kind", message));
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
        return Err(("object.api_version", message));
    }
    let scope = spec["scope"].as_str().unwrap_or("Namespaced");
    if (scope == "Namespaced") != resource.namespaced {
        let message = format!(
            "{file} has scope {scope}; write namespaced = {}",
            scope == "Namespaced"
        );
        return Err(("object.namespaced", message));
    }
    Ok(())
}
