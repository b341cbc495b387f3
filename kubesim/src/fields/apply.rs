//! Server-side apply as a pure function.
//!
//! Follows `merge/update.go` of structured-merge-diff v6.3.2: merge, prune what this manager
//! applied before and no longer names and nobody else owns, then refuse or take over conflicts.

use serde_json::{Map, Value, json};

use crate::fields::compare::{compare, named_by};
use crate::fields::layout::{Items, Layout, element};
use crate::fields::managed::{Managers, Writer, strip};
use crate::fields::set::Fields;
use crate::model::kind::Kind;
use crate::model::status::ApiError;

/// The object after the apply, and who owns what in it.
pub(crate) fn apply(
    kind: &Kind,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer,
    force: bool,
) -> Result<(Value, Managers), ApiError> {
    let bare = json!({"apiVersion": writer.api_version, "kind": kind.kind, "metadata": {}});
    let live = live.unwrap_or(&bare);
    let layout = Layout::Root(kind);
    let config = relevant(kind, config, writer);

    let mut managers = Managers::of(live);
    let last = managers.fields_of(writer).cloned().unwrap_or_default();
    let mut fields = named_by(layout, &config);
    strip(&mut fields);
    managers.assign(writer, fields);

    let mut merged = merged(layout, live, &config);
    let mut owned = Fields::default();
    for entry in &managers.entries {
        owned.union(&entry.fields);
    }
    prune_root(layout, &mut merged, &last, &owned);

    settle_conflicts(&mut managers, layout, live, &merged, writer, force)?;
    Ok((merged, managers))
}

/// What of the configuration this endpoint writes: not status on the main resource, status alone
/// on the subresource.
fn relevant(kind: &Kind, config: &Value, writer: &Writer) -> Value {
    let mut config = config.clone();
    if let Value::Object(map) = &mut config {
        if writer.subresource == "status" {
            map.retain(|key, _| {
                matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status")
            });
            if let Some(Value::Object(meta)) = map.get_mut("metadata") {
                meta.retain(|key, _| {
                    matches!(
                        key.as_str(),
                        "name" | "namespace" | "uid" | "resourceVersion"
                    )
                });
            }
        } else if kind.has_status {
            map.remove("status");
        }
    }
    config
}

fn merged(layout: Layout<'_>, live: &Value, config: &Value) -> Value {
    match (live, config) {
        (Value::Object(live), Value::Object(config)) if !layout.is_atomic_map() => {
            let mut out: Map<String, Value> = live.clone();
            for (key, value) in config {
                let new = match live.get(key) {
                    Some(old) => merged(layout.field(key), old, value),
                    None => value.clone(),
                };
                out.insert(key.clone(), new);
            }
            Value::Object(out)
        }
        (Value::Array(live), Value::Array(config)) => merged_list(layout, live, config),
        _ => config.clone(),
    }
}

/// Items of both, those of the configuration in its order.
fn merged_list(layout: Layout<'_>, live: &[Value], config: &[Value]) -> Value {
    let items = layout.items(config.first().or(live.first()).unwrap_or(&Value::Null));
    let named = |list: &[Value]| -> Option<Vec<String>> {
        list.iter().map(|item| element(&items, item)).collect()
    };
    let (Some(live_names), Some(config_names)) = (named(live), named(config)) else {
        return Value::Array(config.to_vec());
    };
    if matches!(items, Items::Atomic) {
        return Value::Array(config.to_vec());
    }
    let mut out = Vec::new();
    let mut next_live = 0;
    for (name, item) in config_names.iter().zip(config) {
        // Live items of others keep their place before the next shared one.
        while next_live < live.len() && !config_names.contains(&live_names[next_live]) {
            out.push(live[next_live].clone());
            next_live += 1;
        }
        match live_names.iter().position(|n| n == name) {
            Some(at) => {
                out.push(merged(layout.item(), &live[at], item));
                next_live = next_live.max(at + 1).min(live.len());
                // What was jumped over and is not in the configuration must not be lost.
                for skipped in 0..at {
                    let theirs = !config_names.contains(&live_names[skipped]);
                    if theirs && !out.contains(&live[skipped]) {
                        out.push(live[skipped].clone());
                    }
                }
            }
            None => out.push(item.clone()),
        }
    }
    for at in next_live..live.len() {
        if !config_names.contains(&live_names[at]) {
            out.push(live[at].clone());
        }
    }
    Value::Array(out)
}

/// Metadata itself is never pruned, only what is in it.
fn prune_root(layout: Layout<'_>, object: &mut Value, last: &Fields, owned: &Fields) {
    let nothing = Fields::default();
    for (name, child) in &last.children {
        let kept = owned.children.get(name);
        let field = name.trim_start_matches("f:");
        if name == "f:metadata"
            && let Some(meta) = object.get_mut("metadata")
        {
            prune(
                layout.field("metadata"),
                meta,
                child,
                kept.unwrap_or(&nothing),
            );
        } else if let Some(kept) = kept {
            if let Some(value) = object.get_mut(field) {
                prune(layout.field(field), value, child, kept);
            }
        } else if let Value::Object(map) = object {
            map.remove(field);
        }
    }
}

/// Removes what `last` names and `owned` does not.
fn prune(layout: Layout<'_>, value: &mut Value, last: &Fields, owned: &Fields) {
    match value {
        Value::Object(map) if !layout.is_atomic_map() => {
            for (name, child) in &last.children {
                let Some(field) = name.strip_prefix("f:") else {
                    continue;
                };
                match owned.children.get(name) {
                    None => {
                        map.remove(field);
                    }
                    Some(kept) => {
                        if let Some(value) = map.get_mut(field) {
                            prune(layout.field(field), value, child, kept);
                        }
                    }
                }
            }
        }
        Value::Array(list) => {
            let items = layout.items(list.first().unwrap_or(&Value::Null));
            list.retain_mut(|item| {
                let Some(name) = element(&items, item) else {
                    return true;
                };
                let Some(child) = last.children.get(&name) else {
                    return true;
                };
                match owned.children.get(&name) {
                    None => false,
                    Some(kept) => {
                        prune(layout.item(), item, child, kept);
                        true
                    }
                }
            });
        }
        _ => {}
    }
}

fn settle_conflicts(
    managers: &mut Managers,
    layout: Layout<'_>,
    live: &Value,
    merged: &Value,
    writer: &Writer,
    force: bool,
) -> Result<(), ApiError> {
    let mut comparison = compare(layout, Some(live), Some(merged));
    strip(&mut comparison.changed);
    strip(&mut comparison.removed);
    let mut conflicts: Vec<(String, Vec<String>)> = Vec::new();
    for entry in managers
        .entries
        .iter_mut()
        .filter(|entry| !writer.is(entry))
    {
        let contested = entry.fields.intersection(&comparison.changed);
        if !contested.is_empty() {
            conflicts.push((entry.writer.printed(), contested.paths()));
        }
        entry.fields = entry
            .fields
            .difference(&contested)
            .difference(&comparison.removed);
    }
    if conflicts.is_empty() || force {
        return Ok(());
    }
    conflicts.sort();
    Err(conflict(&conflicts))
}

/// Worded as `managedfields/internal/conflict.go`.
fn conflict(conflicts: &[(String, Vec<String>)]) -> ApiError {
    let causes: Vec<Value> = conflicts
        .iter()
        .flat_map(|(manager, paths)| {
            paths.iter().map(move |path| {
                json!({
                    "reason": "FieldManagerConflict",
                    "message": format!("conflict with {manager}"),
                    "field": path,
                })
            })
        })
        .collect();
    let message = match conflicts {
        [(manager, paths)] if paths.len() == 1 => {
            format!(
                "Apply failed with 1 conflict: conflict with {manager}: {}",
                paths[0]
            )
        }
        _ => {
            let lines: Vec<String> = conflicts
                .iter()
                .map(|(manager, paths)| {
                    let paths: Vec<String> =
                        paths.iter().map(|path| format!("\n- {path}")).collect();
                    format!("conflicts with {manager}:{}", paths.concat())
                })
                .collect();
            format!(
                "Apply failed with {} conflicts: {}",
                causes.len(),
                lines.join("\n")
            )
        }
    };
    let mut error = ApiError::new(409, "Conflict", message);
    error.details = Some(json!({"causes": causes}));
    error
}
