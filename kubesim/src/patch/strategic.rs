//! Strategic merge patch for built-in kinds: maps as merge patch, known lists by their merge key.
//!
//! Guarantees: `$patch: delete|replace|merge` and `$deleteFromPrimitiveList` are honoured, other
//! directives (`$setElementOrder`, `$retainKeys`) are accepted where ignoring them keeps the
//! fields right and refused with 501 otherwise. Merge keys come from the `patchMergeKey` tags of
//! `k8s.io/api` v0.36.4.

use serde_json::{Map, Value};

use crate::model::status::ApiError;

/// The field that tells items of a list apart, by the list's name.
pub(crate) fn merge_key(list: &str, item: &Value) -> Option<&'static str> {
    Some(match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "resourceClaims" => "name",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "hostAliases" => "ip",
        "topologySpreadConstraints" => "topologyKey",
        "conditions" => "type",
        "ownerReferences" => "uid",
        "ports" if item.get("containerPort").is_some() => "containerPort",
        "ports" => "port",
        _ => return None,
    })
}

fn merges_as_set(list: &str) -> bool {
    list == "finalizers"
}

pub(crate) fn merge(object: &Value, patch: &Value) -> Result<Value, ApiError> {
    let mut new = object.clone();
    merge_value(&mut new, patch)?;
    Ok(new)
}

fn merge_value(target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return Ok(());
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(without_directives(patch));
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => {
            return Err(ApiError::bad_request(format!(
                "unknown patch type found: {other}"
            )));
        }
    }
    if patch.contains_key("$retainKeys") {
        return Err(ApiError::not_implemented(
            "$retainKeys in a strategic merge patch",
        ));
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return Ok(());
    };
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(items)), Value::Array(gone)) = (target.get_mut(list), value) {
                items.retain(|item| !gone.contains(item));
            }
        } else if key.starts_with('$') {
            // $setElementOrder only orders what the patch itself brings.
        } else if value.is_null() {
            target.remove(key);
        } else {
            merge_field(target, key, value)?;
        }
    }
    Ok(())
}

fn merge_field(target: &mut Map<String, Value>, key: &str, value: &Value) -> Result<(), ApiError> {
    let slot = target.entry(key).or_insert(Value::Null);
    let Value::Array(patch_items) = value else {
        return merge_value(slot, value);
    };
    if merges_as_set(key) {
        let mut items = slot.as_array().cloned().unwrap_or_default();
        for item in patch_items {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        *slot = Value::Array(items);
        return Ok(());
    }
    let by_key = patch_items.first().and_then(|item| merge_key(key, item));
    match by_key {
        Some(merge_key) => merge_list(slot, patch_items, merge_key),
        None => {
            *slot = value.clone();
            Ok(())
        }
    }
}

fn merge_list(slot: &mut Value, patch_items: &[Value], key: &str) -> Result<(), ApiError> {
    let is = |item: &Value, directive: &str| {
        item.get("$patch").and_then(Value::as_str) == Some(directive)
    };
    let mut items = slot.as_array().cloned().unwrap_or_default();
    if patch_items.iter().any(|item| is(item, "replace")) {
        items.clear();
    }
    for patch in patch_items.iter().filter(|item| !is(item, "replace")) {
        let Some(id) = patch.get(key) else {
            return Err(ApiError::bad_request(format!(
                "map: {patch} does not contain declared merge key: {key}"
            )));
        };
        let found = items.iter().position(|item| item.get(key) == Some(id));
        match found {
            Some(at) if is(patch, "delete") => {
                items.remove(at);
            }
            Some(at) => {
                if let Some(item) = items.get_mut(at) {
                    merge_value(item, patch)?;
                }
            }
            None if is(patch, "delete") => {}
            None => {
                let mut item = Value::Object(Map::new());
                merge_value(&mut item, patch)?;
                items.push(item);
            }
        }
    }
    *slot = Value::Array(items);
    Ok(())
}

fn without_directives(patch: &Map<String, Value>) -> Map<String, Value> {
    patch
        .iter()
        .filter(|(key, _)| !key.starts_with('$'))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::merge;

    #[test]
    fn containers_and_env_merge_by_name() {
        let object = json!({"spec": {"containers": [
            {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
            {"name": "b", "image": "b:1"},
        ], "command": ["x", "y"]}});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "a"}, {"name": "c"}],
            "containers": [
                {"name": "a", "image": "a:2", "env": [{"name": "X", "$patch": "delete"}, {"name": "Z", "value": "3"}]},
                {"name": "b", "$patch": "delete"},
                {"name": "c", "image": "c:1"},
            ],
            "command": ["z"],
        }});
        assert_eq!(
            merge(&object, &patch).unwrap(),
            json!({"spec": {"containers": [
                {"name": "a", "image": "a:2", "env": [{"name": "Y", "value": "2"}, {"name": "Z", "value": "3"}]},
                {"name": "c", "image": "c:1"},
            ], "command": ["z"]}})
        );
    }
}
