//! CustomResourceDefinitions: how they are read, checked, served and removed.
//!
//! Limits: no conversion webhooks. Both conditions are set with the write that creates
//! the definition, where a real server needs a few milliseconds more.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::model::json::{is_deleting, map_at, meta_str};
use crate::model::kind::{Kind, Rules, Scale};
use crate::model::status::ApiError;
use crate::schema::field_error::FieldError;
use crate::schema::{Schema, strings};
use crate::state::Inner;

/// Defaults of a definition, and its status.
pub(crate) fn shape(now: &str, object: &mut Value, old: Option<&Value>) -> Result<(), ApiError> {
    let Versions { storage: kind, .. } = read(object)?;
    let names = map_at(&mut object["spec"], "names");
    names.entry("singular").or_insert(json!(kind.singular));
    names.entry("listKind").or_insert(json!(kind.list_kind));
    let names = names.clone();
    map_at(object, "spec")
        .entry("conversion")
        .or_insert(json!({"strategy": "None"}));
    if old.is_none_or(|old| old.get("status").is_none()) {
        let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now});
        object["status"] = json!({
            "conditions": [
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ],
            "acceptedNames": names,
            "storedVersions": [kind.version],
        });
    }
    let stored = map_at(object, "status")
        .entry("storedVersions")
        .or_insert(json!([]));
    if let Value::Array(versions) = stored
        && !versions.contains(&json!(kind.version))
    {
        versions.push(json!(kind.version));
    }
    Ok(())
}

/// Serves what a stored definition describes, with its new rules if it was served already.
pub(crate) fn established(inner: &Inner, definition: &Value) -> Result<(), ApiError> {
    if is_deleting(definition) {
        return Ok(());
    }
    let Versions { storage, served } = read(definition)?;
    inner.serve_definition(storage, served);
    Ok(())
}

/// The definition is gone: its objects go with it, its watches end, its path is 404.
pub(crate) fn removed(inner: &Inner, definition: &Value) {
    let Ok(Versions { storage: kind, .. }) = read(definition) else {
        return;
    };
    for record in inner.drop_kind(&kind.group, &kind.plural) {
        inner.garbage.gone(inner, &record);
    }
}

/// The versions of a definition as kinds.
struct Versions {
    storage: Kind,
    served: Vec<Kind>,
}

fn text(definition: &Value, path: &str) -> String {
    let text = definition.pointer(path).and_then(Value::as_str);
    text.unwrap_or("").to_owned()
}

fn read(definition: &Value) -> Result<Versions, ApiError> {
    let text = |path: &str| text(definition, path);
    let name = meta_str(definition, "name");
    let refuse = |error: FieldError| refused(name, error);
    for path in [
        "/spec/group",
        "/spec/names/plural",
        "/spec/names/kind",
        "/spec/scope",
    ] {
        if text(path).is_empty() {
            return Err(refuse(FieldError::required(
                path[1..].replace('/', "."),
                "",
            )));
        }
    }
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    if name != format!("{plural}.{group}") {
        return Err(refuse(FieldError::invalid(
            "metadata.name",
            &json!(name),
            "must be spec.names.plural+\".\"+spec.group",
        )));
    }
    if text("/spec/conversion/strategy") == "Webhook" {
        return Err(ApiError::not_implemented("conversion webhooks"));
    }
    let all = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    let all = all.map_or(&[][..], Vec::as_slice);
    let of = |field: &'static str| {
        let has = move |version: &&Value| version.get(field) == Some(&Value::Bool(true));
        all.iter()
            .enumerate()
            .filter(move |(_, version)| has(version))
    };
    let kind = |(i, version): (usize, &Value)| read_version(definition, i, version);
    let mut storage = of("storage");
    let (Some(stored), None) = (storage.next(), storage.next()) else {
        let shown = Value::from(all.to_vec());
        let detail = "must have exactly one version marked as storage version";
        return Err(refuse(FieldError::invalid("spec.versions", &shown, detail)));
    };
    let mut names = std::collections::BTreeSet::new();
    if !all
        .iter()
        .all(|version| names.insert(version["name"].to_string()))
    {
        let shown = Value::from(all.to_vec());
        let detail = "must contain unique version names";
        return Err(refuse(FieldError::invalid("spec.versions", &shown, detail)));
    }
    for version in all.iter().enumerate() {
        kind(version)?;
    }
    Ok(Versions {
        storage: kind(stored)?,
        served: of("served").map(kind).collect::<Result<_, _>>()?,
    })
}

/// One version of a definition as a kind.
fn read_version(definition: &Value, index: usize, version: &Value) -> Result<Kind, ApiError> {
    let text = |path: &str| text(definition, path);
    let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
    let refuse = |error: FieldError| refused(meta_str(definition, "name"), error);
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    let source = version
        .pointer("/schema/openAPIV3Schema")
        .ok_or_else(|| refuse(FieldError::required(&at, "schemas are required")))?;
    let schema =
        Schema::parse(source).map_err(|why| refuse(FieldError::invalid(&at, &json!(why), &why)))?;
    let kind = text("/spec/names/kind");
    let or = |given: String, otherwise: String| if given.is_empty() { otherwise } else { given };
    let path = |field: &str| {
        version
            .pointer(&format!("/subresources/scale/{field}"))
            .and_then(Value::as_str)
            .map(|path| {
                path.split('.')
                    .filter(|s| !s.is_empty())
                    .map(str::to_owned)
                    .collect()
            })
    };
    Ok(Kind {
        version: version
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned(),
        singular: or(text("/spec/names/singular"), kind.to_lowercase()),
        list_kind: or(text("/spec/names/listKind"), format!("{kind}List")),
        short_names: strings(definition.pointer("/spec/names/shortNames")),
        categories: strings(definition.pointer("/spec/names/categories")),
        namespaced: text("/spec/scope") == "Namespaced",
        has_status: version.pointer("/subresources/status").is_some(),
        scale: path("specReplicasPath")
            .zip(path("statusReplicasPath"))
            .map(|(spec_replicas, status_replicas)| Scale {
                spec_replicas,
                status_replicas,
                selector: Some(path("labelSelectorPath").unwrap_or_default()),
            }),
        rules: Rules::Custom(Arc::new(schema)),
        built_in: None,
        group,
        plural,
        kind,
    })
}

fn refused(name: &str, error: FieldError) -> ApiError {
    let mut refusal = ApiError::new(
        422,
        "Invalid",
        format!(
            "CustomResourceDefinition.apiextensions.k8s.io \"{name}\" is invalid: {}: {}",
            error.field, error.message
        ),
    );
    refusal.details = Some(json!({
        "name": name,
        "group": "apiextensions.k8s.io",
        "kind": "CustomResourceDefinition",
        "causes": [{"reason": error.kind, "message": error.message, "field": error.field}],
    }));
    refusal
}
