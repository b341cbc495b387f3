//! How a list or map is merged at a place in an object: the part of the schema that ownership needs.
//!
//! Built-in kinds go by field name; the names are those with `listType`, `listMapKey` and
//! `mapType` markers in `k8s.io/api` v0.36.4 for the kinds that are served here.

use serde_json::{Map, Value};

use crate::model::kind::{Kind, Rules};
use crate::schema::{ListType, Schema};

/// A place in an object.
#[derive(Clone, Copy)]
pub(crate) enum Layout<'a> {
    Root(&'a Kind),
    Metadata(&'a Kind),
    /// In a built-in kind, under this field.
    BuiltIn(&'a Kind, &'a str),
    Schema(&'a Schema),
    /// Unknown fields: maps merge, lists are replaced.
    Free,
}

/// How the items of a list are told apart.
pub(crate) enum Items<'a> {
    Atomic,
    Set,
    /// Key fields, each with the default that stands for a missing one.
    Keyed(Vec<(&'a str, Option<Value>)>),
}

impl<'a> Layout<'a> {
    pub(crate) fn field(self, name: &'a str) -> Layout<'a> {
        match self {
            Layout::Root(kind) if name == "metadata" => Layout::Metadata(kind),
            Layout::Root(kind) => match &kind.rules {
                Rules::Custom(schema) => Layout::Schema(schema).field(name),
                _ => Layout::BuiltIn(kind, name),
            },
            Layout::Metadata(kind) | Layout::BuiltIn(kind, _) => Layout::BuiltIn(kind, name),
            Layout::Schema(schema) => schema.field(name).map_or(Layout::Free, Layout::Schema),
            Layout::Free => Layout::Free,
        }
    }

    pub(crate) fn item(self) -> Layout<'a> {
        match self {
            Layout::Schema(schema) => schema.item().map_or(Layout::Free, Layout::Schema),
            other => other,
        }
    }

    pub(crate) fn is_built_in(self) -> bool {
        matches!(self, Layout::BuiltIn(..))
    }

    pub(crate) fn is_atomic_map(self) -> bool {
        match self {
            Layout::BuiltIn(kind, name) if is_atomic(kind, name) => true,
            Layout::BuiltIn(_, name) => matches!(
                name,
                "selector"
                    | "labelSelector"
                    | "fieldRef"
                    | "configMapKeyRef"
                    | "secretKeyRef"
                    | "resourceFieldRef"
                    | "nodeSelector"
                    | "matchLabels"
                    | "involvedObject"
                    | "roleRef"
                    | "port"
            ),
            Layout::Schema(schema) => schema.map_is_atomic,
            _ => false,
        }
    }

    /// A Go struct (or list) without omitempty. It always exists, so a manager that sets a field in it
    /// does not own the struct itself.
    pub(crate) fn is_struct(self) -> bool {
        match self {
            Layout::Root(_) | Layout::Metadata(_) => true,
            Layout::BuiltIn(kind, name) => {
                kind.is_built_in_that(|kind| kind.structs.contains(&name))
                    || matches!(
                        name,
                        "metadata"
                            | "spec"
                            | "status"
                            | "template"
                            | "strategy"
                            | "updateStrategy"
                            | "scaleTargetRef"
                            | "podSelector"
                            | "containers"
                            | "loadBalancer"
                            | "names"
                    )
            }
            _ => false,
        }
    }

    pub(crate) fn items(self, sample: &Value) -> Items<'a> {
        match self {
            Layout::BuiltIn(kind, name) if is_atomic(kind, name) => Items::Atomic,
            Layout::BuiltIn(_, name) => match name {
                "finalizers" => Items::Set,
                "ownerReferences" => Items::Keyed(vec![("uid", None)]),
                "conditions" => Items::Keyed(vec![("type", None)]),
                "containers"
                | "initContainers"
                | "ephemeralContainers"
                | "env"
                | "volumes"
                | "imagePullSecrets"
                | "secrets" => Items::Keyed(vec![("name", None)]),
                "volumeMounts" => Items::Keyed(vec![("mountPath", None)]),
                "volumeDevices" => Items::Keyed(vec![("devicePath", None)]),
                "hostAliases" => Items::Keyed(vec![("ip", None)]),
                "topologySpreadConstraints" => {
                    Items::Keyed(vec![("topologyKey", None), ("whenUnsatisfiable", None)])
                }
                "ports" => {
                    let port = if sample.get("containerPort").is_some() {
                        "containerPort"
                    } else {
                        "port"
                    };
                    Items::Keyed(vec![(port, None), ("protocol", Some(Value::from("TCP")))])
                }
                _ => Items::Atomic,
            },
            Layout::Schema(schema) => schema_items(schema),
            _ => Items::Atomic,
        }
    }
}

fn is_atomic(kind: &Kind, name: &str) -> bool {
    kind.is_built_in_that(|kind| kind.atomic.contains(&name))
}

/// How `x-kubernetes-list-type` and `x-kubernetes-list-map-keys` tell items apart.
fn schema_items(schema: &Schema) -> Items<'_> {
    let keyed = |key: &'_ String| {
        let property = schema.item().and_then(|item| item.properties.get(key));
        property.and_then(|property| property.default.clone())
    };
    match &schema.list {
        ListType::Atomic => Items::Atomic,
        ListType::Set => Items::Set,
        ListType::Map(keys) => {
            Items::Keyed(keys.iter().map(|key| (key.as_str(), keyed(key))).collect())
        }
    }
}

/// The path element of a list item, or `None` when its keys are missing.
pub(crate) fn element(items: &Items<'_>, item: &Value) -> Option<String> {
    match items {
        Items::Atomic => None,
        Items::Set => Some(format!("v:{item}")),
        Items::Keyed(keys) => {
            let mut map = Map::new();
            for (key, default) in keys {
                let value = item.get(*key).or(default.as_ref())?;
                map.insert((*key).to_owned(), value.clone());
            }
            Some(format!("k:{}", Value::Object(map)))
        }
    }
}
