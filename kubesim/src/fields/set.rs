//! Sets of field paths, as FieldsV1 writes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A trie of paths. Elements are kept as FieldsV1 text: `f:name`, `k:{"name":"x"}`, `v:"x"`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    /// The path that ends here is in the set.
    pub(crate) own: bool,
    pub(crate) children: BTreeMap<String, Fields>,
}

impl Fields {
    pub(crate) fn leaf() -> Fields {
        Fields {
            own: true,
            children: BTreeMap::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.own && self.children.is_empty()
    }

    /// Puts a child in place unless it is empty.
    pub(crate) fn set(&mut self, element: String, child: Fields) {
        if !child.is_empty() {
            self.children.insert(element, child);
        }
    }

    pub(crate) fn union(&mut self, other: &Fields) {
        self.own |= other.own;
        for (element, child) in &other.children {
            self.children
                .entry(element.clone())
                .or_default()
                .union(child);
        }
    }

    /// Paths of `self` that are not in `other`, path by path.
    pub(crate) fn difference(&self, other: &Fields) -> Fields {
        let mut left = Fields {
            own: self.own && !other.own,
            children: BTreeMap::new(),
        };
        for (element, child) in &self.children {
            match other.children.get(element) {
                Some(gone) => left.set(element.clone(), child.difference(gone)),
                None => left.set(element.clone(), child.clone()),
            }
        }
        left
    }

    pub(crate) fn intersection(&self, other: &Fields) -> Fields {
        let mut both = Fields {
            own: self.own && other.own,
            children: BTreeMap::new(),
        };
        for (element, child) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                both.set(element.clone(), child.intersection(theirs));
            }
        }
        both
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.own && !self.children.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, child) in &self.children {
            map.insert(element.clone(), child.to_json());
        }
        Value::Object(map)
    }

    pub(crate) fn from_json(value: &Value) -> Fields {
        let mut fields = Fields::default();
        for (element, child) in value.as_object().into_iter().flatten() {
            if element == "." {
                fields.own = true;
                continue;
            }
            let mut child = Fields::from_json(child);
            // An empty map is a path that ends here.
            child.own |= child.children.is_empty();
            fields.children.insert(element.clone(), child);
        }
        fields
    }

    /// Every path in the set, as errors print it: `.spec.containers[name="app"].image`.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        if self.own {
            paths.push(prefix.to_owned());
        }
        for (element, child) in &self.children {
            child.collect_paths(&format!("{prefix}{}", printed(element)), paths);
        }
    }
}

fn printed(element: &str) -> String {
    let (tag, rest) = element.split_once(':').unwrap_or(("f", element));
    match tag {
        "k" => {
            let keys: Value = serde_json::from_str(rest).unwrap_or(Value::Null);
            let terms: Vec<String> = keys
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            format!("[{}]", terms.join(","))
        }
        "v" => format!("[={rest}]"),
        "i" => format!("[{rest}]"),
        _ => format!(".{rest}"),
    }
}
