//! Structural schemas of CustomResourceDefinitions: parsed once, used to prune, default,
//! validate and to tell how lists merge.

pub(crate) mod default;
pub(crate) mod field_error;
mod format;
mod optional_old;
mod parse;
pub(crate) mod prune;
mod re2;
pub(crate) mod rules;
pub(crate) mod validate;
pub(crate) mod whole;

use std::collections::BTreeMap;

use re2::Pattern;
use serde_json::Value;

pub(crate) use parse::strings;

/// One level of a structural schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) kind: Option<Type>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: Option<Box<Schema>>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) required: Vec<String>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<String>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) default: Option<Value>,
    pub(crate) list: ListType,
    pub(crate) map_is_atomic: bool,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
    /// Whether a CEL rule is here or below.
    pub(crate) has_rules: bool,
    /// The rules, compiled; at the root only.
    pub(crate) rules: Option<rules::Rules>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Type::Object => "object",
            Type::Array => "array",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
        }
    }
}

/// `x-kubernetes-list-type`
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

impl Schema {
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(self.additional.as_deref())
    }

    pub(crate) fn item(&self) -> Option<&Schema> {
        self.items.as_deref()
    }
}
