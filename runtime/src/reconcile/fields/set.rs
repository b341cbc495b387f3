//! Who owns which field: `metadata.managedFields` as two sets of paths, ours and everybody else's.
//!
//! Guarantees: pure. Decoded only where it is asked for, and borrowed from the JSON of the object. What cannot be
//! read is nobody's. Leaves to others: what follows from an owner (`merge`).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::Text;

/// A set of paths, as FieldsV1 writes it: `f:name` is a member, `k:{"name":"a"}` an item by its keys, `v:"a"` an item
/// of a set.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Set<'a> {
    /// The path that ends here is in the set.
    own: bool,
    children: Vec<(Cow<'a, str>, Set<'a>)>,
}

impl<'a> Set<'a> {
    pub(super) fn field(&self, name: &str) -> Option<&Set<'a>> {
        self.child("f:", name)
    }

    /// The node of an item of a set.
    pub(super) fn value(&self, item: &Value) -> Option<&Set<'a>> {
        self.child("v:", &item.to_string())
    }

    /// The node of an item of a keyed list: all its keys are those of `item`. With `partly` a key that `item` lacks
    /// may have any value: the server fills it in.
    pub(super) fn item(&self, item: &Value, partly: bool) -> Option<&Set<'a>> {
        let nodes = self.keys();
        let mut nodes = nodes.filter(|(keys, _)| {
            let is_same = |(key, value)| match item.get::<&str>(key) {
                Some(found) => found == value,
                None => partly,
            };
            keys.iter()
                .map(|(key, value)| (key.as_str(), value))
                .all(is_same)
        });
        nodes.next().map(|(_, node)| node)
    }

    /// The names of the keys by which the items of this list are told apart.
    pub(super) fn key_names(&self) -> Option<Vec<String>> {
        let (keys, _) = self.keys().next()?;
        Some(keys.into_iter().map(|(key, _)| key).collect())
    }

    pub(super) fn has_values(&self) -> bool {
        self.children.iter().any(|(name, _)| name.starts_with("v:"))
    }

    /// Nothing below it is told apart: an atomic map or list, or a value.
    pub(super) fn is_leaf(&self) -> bool {
        self.own && self.children.is_empty()
    }

    pub(super) fn is_own(&self) -> bool {
        self.own
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.own && self.children.is_empty()
    }

    fn child(&self, tag: &str, name: &str) -> Option<&Set<'a>> {
        let is = |element: &str| element.strip_prefix(tag) == Some(name);
        let mut children = self.children.iter();
        let (_, child) = children.find(|(element, _)| is(element))?;
        Some(child)
    }

    fn keys(&self) -> impl Iterator<Item = (Map<String, Value>, &Set<'a>)> {
        self.children.iter().filter_map(|(element, node)| {
            let keys = element.strip_prefix("k:")?;
            Some((serde_json::from_str(keys).ok()?, node))
        })
    }

    fn unite(&mut self, other: Set<'a>) {
        self.own |= other.own;
        for (element, node) in other.children {
            let known = self.children.iter_mut().find(|(of, _)| *of == element);
            match known {
                Some((_, known)) => known.unite(node),
                None => self.children.push((element, node)),
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Set<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Paths;
        impl<'de> Visitor<'de> for Paths {
            type Value = Set<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("FieldsV1")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Set<'de>, A::Error> {
                let mut set = Set::default();
                while let Some(Text(element)) = map.next_key()? {
                    if element == "." {
                        let IgnoredAny = map.next_value()?;
                        set.own = true;
                        continue;
                    }
                    set.children.push((element, map.next_value()?));
                }
                set.own |= set.children.is_empty();
                Ok(set)
            }
        }
        deserializer.deserialize_map(Paths)
    }
}

/// What one manager has written, with its paths as `F`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "F: Deserialize<'de>"))]
struct Entry<'a, F> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(borrow, default)]
    operation: Cow<'a, str>,
    #[serde(borrow, default)]
    subresource: Cow<'a, str>,
    fields_v1: Option<F>,
}

/// The entries of `managedFields`; none where it is not what a server writes.
fn entries<'a, F: Deserialize<'a>>(json: &'a str) -> Vec<Entry<'a, F>> {
    let entries = serde_json::from_str::<Option<Vec<Entry<'a, F>>>>(json);
    entries.ok().flatten().unwrap_or_default()
}

/// The owners of the fields of one object.
#[derive(Debug, Default)]
pub(crate) struct Managed<'a> {
    pub(super) ours: Set<'a>,
    pub(super) theirs: Set<'a>,
    /// Some of what is ours was not applied, but created or patched.
    pub(super) is_patched: bool,
}

impl<'a> Managed<'a> {
    /// Decodes `managedFields` for the manager `ours`. A subresource is somebody else's: nothing of ours writes one of
    /// a child. The entry at `copy` counts as ours.
    pub(crate) fn decode(json: Option<&'a str>, ours: &str, copy: Option<usize>) -> Self {
        let entries: Vec<Entry<'a, Set<'a>>> = json.map(entries).unwrap_or_default();
        let mut managed = Self::default();
        for (at, entry) in entries.into_iter().enumerate() {
            let Some(fields) = entry.fields_v1.filter(|fields| !fields.is_leaf()) else {
                continue;
            };
            let is_copy = copy == Some(at);
            if is_copy || (entry.manager == ours && entry.subresource.is_empty()) {
                managed.is_patched |= is_copy || entry.operation != "Apply";
                managed.ours.unite(fields);
            } else {
                managed.theirs.unite(fields);
            }
        }
        managed
    }

    /// Nothing says who owns a field: somebody has cleared it.
    pub(super) fn is_unknown(&self) -> bool {
        self.ours.is_empty() && self.theirs.is_empty()
    }
}

/// The place of the entry that bears the annotation `mark` where none of the manager `ours` does: who wrote our mark has made
/// the object from a copy of ours.
pub(crate) fn copy_of(json: &str, ours: &str, mark: &str) -> Option<usize> {
    let entries = entries::<&RawValue>(json);
    let field = format!("\"f:{mark}\"");
    let bears = |entry: &&Entry<'_, &RawValue>| {
        let fields = entry.fields_v1.map(RawValue::get);
        fields.is_some_and(|fields| fields.contains(&field))
    };
    if entries
        .iter()
        .filter(bears)
        .any(|entry| entry.manager == ours)
    {
        return None;
    }
    entries.iter().position(|entry| bears(&entry))
}

/// `json` with the entry at `copy` as one of the manager `ours`: what it lists is ours from then on. (So `kubectl` moves
/// what it has patched to its server-side apply: `csaupgrade` in client-go.)
pub(super) fn taken_over(json: Option<&str>, copy: usize, ours: &str) -> Option<Value> {
    let mut entries: Vec<Value> = serde_json::from_str(json?).ok()?;
    let mut taken = (copy < entries.len()).then(|| entries.remove(copy))?;
    taken["manager"] = ours.into();
    taken["operation"] = "Update".into();
    let is_same = |entry: &Value| {
        let mut names = ["manager", "operation", "apiVersion", "subresource"].iter();
        names.all(|name| entry.get(name) == taken.get(name))
    };
    if let Some(at) = entries.iter().position(is_same) {
        let fields = entries.remove(at)["fieldsV1"].take();
        unite(&mut taken["fieldsV1"], fields);
    }
    entries.push(taken);
    Some(entries.into())
}

/// Adds the paths of one FieldsV1 to another.
fn unite(all: &mut Value, other: Value) {
    let (Value::Object(all), Value::Object(other)) = (all, other) else {
        return;
    };
    if all.is_empty() != other.is_empty() {
        // What ends here in one of them does not in the other.
        all.insert(".".to_owned(), Map::new().into());
    }
    for (element, below) in other {
        let known = all.entry(element).or_insert_with(|| below.clone());
        unite(known, below);
    }
}

/// Whether `json` has a field of this name below which nothing is told apart, as far as its text shows: only then can a
/// map or list of that name be atomic.
pub(super) fn may_be_atomic(json: Option<&str>, name: &str) -> bool {
    json.is_some_and(|json| json.contains(&format!("\"f:{name}\":{{}}")))
}
