//! `metadata.managedFields`: one entry per manager, operation and subresource.

use serde_json::{Value, json};

use crate::fields::compare::compare;
use crate::fields::layout::Layout;
use crate::fields::set::Fields;
use crate::model::json::{meta, meta_mut};
use crate::model::kind::Kind;

/// Who writes, how and when.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Writer {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
    pub(crate) time: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn text(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

impl Writer {
    pub(crate) fn is(&self, entry: &Entry) -> bool {
        entry.writer.manager == self.manager
            && entry.writer.operation == self.operation
            && entry.writer.subresource == self.subresource
            && entry.writer.api_version == self.api_version
    }

    /// The name of the manager in conflicts.
    pub(crate) fn printed(&self) -> String {
        let mut text = format!("\"{}\"", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource \"{}\"", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
            if !self.time.is_empty() {
                text.push_str(&format!(" at {}", self.time));
            }
        }
        text
    }
}

/// One manager's fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) writer: Writer,
    pub(crate) fields: Fields,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Managers {
    pub(crate) entries: Vec<Entry>,
}

impl Managers {
    pub(crate) fn of(object: &Value) -> Managers {
        let list = meta(object)
            .and_then(|m| m.get("managedFields"))
            .and_then(Value::as_array);
        let entries = list
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let text = |field: &str| {
                    entry
                        .get(field)
                        .and_then(Value::as_str)
                        .unwrap_or("")
                        .to_owned()
                };
                let operation = match entry.get("operation").and_then(Value::as_str)? {
                    "Apply" => Operation::Apply,
                    _ => Operation::Update,
                };
                Some(Entry {
                    writer: Writer {
                        manager: text("manager"),
                        operation,
                        api_version: text("apiVersion"),
                        subresource: text("subresource"),
                        time: text("time"),
                    },
                    fields: Fields::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null)),
                })
            })
            .collect();
        Managers { entries }
    }

    pub(crate) fn store(&self, object: &mut Value) {
        let mut entries: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|e| !e.fields.is_empty())
            .collect();
        // Applied first, then by time and name: the order of `sortEncodedManagedFields`.
        entries.sort_by(|a, b| {
            let rank = |e: &Entry| {
                (
                    e.writer.operation == Operation::Update,
                    e.writer.time.clone(),
                    e.writer.manager.clone(),
                    e.writer.subresource.clone(),
                )
            };
            rank(a).cmp(&rank(b))
        });
        let list: Vec<Value> = entries
            .into_iter()
            .map(|entry| {
                let mut json = json!({
                    "manager": entry.writer.manager,
                    "operation": entry.writer.operation.text(),
                    "apiVersion": entry.writer.api_version,
                    "time": entry.writer.time,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": entry.fields.to_json(),
                });
                if !entry.writer.subresource.is_empty() {
                    json["subresource"] = json!(entry.writer.subresource);
                }
                json
            })
            .collect();
        if list.is_empty() {
            meta_mut(object).remove("managedFields");
        } else {
            meta_mut(object).insert("managedFields".to_owned(), Value::Array(list));
        }
    }

    /// Gives the writer these fields; the time changes only with them.
    pub(crate) fn assign(&mut self, writer: &Writer, fields: Fields) {
        match self.entries.iter_mut().find(|entry| writer.is(entry)) {
            Some(entry) if entry.fields == fields => {}
            Some(entry) => {
                entry.fields = fields;
                entry.writer.time.clone_from(&writer.time);
            }
            None => self.entries.push(Entry {
                writer: writer.clone(),
                fields,
            }),
        }
    }

    pub(crate) fn fields_of(&self, writer: &Writer) -> Option<&Fields> {
        self.entries
            .iter()
            .find(|e| writer.is(e))
            .map(|e| &e.fields)
    }
}

/// Records what a create, update or patch set. Managers come from the stored object unless the
/// new one brings its own (`[{}]` resets them).
pub(crate) fn record_update(kind: &Kind, old: Option<&Value>, new: &mut Value, writer: &Writer) {
    let sent = meta(new)
        .and_then(|m| m.get("managedFields"))
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let reset = sent.len() == 1 && sent[0].as_object().is_some_and(serde_json::Map::is_empty);
    let mut managers = match old {
        _ if reset => Managers::default(),
        Some(old) if sent.is_empty() => Managers::of(old),
        _ => Managers::of(new),
    };
    if old.is_some() && managers.entries.is_empty() {
        // Nobody tracks what was cleared until somebody applies it (`skipnonapplied.go`).
        managers.store(new);
        return;
    }
    let bare = json!({"apiVersion": writer.api_version, "kind": kind.kind, "metadata": {}});
    let mut comparison = compare(Layout::Root(kind), Some(old.unwrap_or(&bare)), Some(new));
    strip(&mut comparison.changed);
    strip(&mut comparison.removed);
    for entry in managers
        .entries
        .iter_mut()
        .filter(|entry| !writer.is(entry))
    {
        let left = entry
            .fields
            .difference(&comparison.removed)
            .difference(&comparison.changed);
        if left != entry.fields {
            entry.fields = left;
        }
    }
    let mut own = managers
        .fields_of(writer)
        .map(|fields| fields.difference(&comparison.removed))
        .unwrap_or_default();
    own.union(&comparison.changed);
    managers.assign(writer, own);
    managers.store(new);
}

/// Fields that nobody owns: `managedfields/internal/stripmeta.go`.
pub(crate) fn strip(fields: &mut Fields) {
    fields.own = false;
    fields.children.remove("f:apiVersion");
    fields.children.remove("f:kind");
    if let Some(meta) = fields.children.get_mut("f:metadata") {
        meta.own = false;
        for name in [
            "f:name",
            "f:namespace",
            "f:creationTimestamp",
            "f:selfLink",
            "f:uid",
            "f:generation",
            "f:managedFields",
            "f:resourceVersion",
            "f:deletionTimestamp",
            "f:deletionGracePeriodSeconds",
        ] {
            meta.children.remove(name);
        }
        if meta.children.is_empty() {
            fields.children.remove("f:metadata");
        }
    }
}
