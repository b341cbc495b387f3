//! YAML as far as a kubeconfig needs it; JSON is YAML.
//!
//! Guarantees: every scalar keeps its text, so a name or a token that looks like a number stays what
//! it is; nesting is bounded; a key that is set twice is an error, as for kubectl; an error never
//! quotes the file, which may hold secrets. Reads the first document, as kubectl does.
//! Leaves to others: the size of the file (`file`), what the fields mean (`kubeconfig`).
//! Limits: no aliases, no merge keys; tags are ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Five levels are enough for a kubeconfig; extensions may hold anything.
const DEPTH: usize = 64;

/// A value of the document. It may hold secrets, so it implements neither `Debug` nor `Display`.
pub(crate) enum Node {
    /// Nothing: `null`, `~` or left out.
    Null,
    /// A scalar.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping.
    Map(Map),
}

/// Fields by name.
pub(crate) type Map = BTreeMap<String, Node>;

/// Why a text cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct YamlError {
    line: usize,
    cause: Cow<'static, str>,
}

/// Reads the first document of `text`.
pub(crate) fn parse(text: &str) -> Result<Node, YamlError> {
    let mut open: Vec<Collection> = Vec::new();
    let mut root = Node::Null;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            line: error.marker().line(),
            cause: Cow::Owned(error.info().to_owned()),
        })?;
        let refuse = |cause| YamlError {
            line: span.start.line(),
            cause: Cow::Borrowed(cause),
        };
        let node = match event {
            Event::Scalar(text, style, ..) => scalar(text, style),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == DEPTH => {
                return Err(refuse("nested too deeply"));
            }
            Event::SequenceStart(..) => {
                open.push(Collection::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Collection::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Collection::List(list)) => Node::List(list),
                Some(Collection::Map(map, _)) => Node::Map(map),
                None => continue,
            },
            Event::Alias(_) => {
                return Err(refuse("aliases are not supported; repeat the value"));
            }
            Event::DocumentEnd => break,
            _ => continue,
        };
        match open.last_mut() {
            None => root = node,
            Some(collection) => collection.add(node).map_err(refuse)?,
        }
    }
    Ok(root)
}

/// A list or mapping whose end has not been seen.
enum Collection {
    /// A sequence with the items so far.
    List(Vec<Node>),
    /// A mapping with the fields so far, and the key whose value comes next.
    Map(Map, Option<String>),
}

impl Collection {
    fn add(&mut self, node: Node) -> Result<(), &'static str> {
        match self {
            Self::List(list) => list.push(node),
            Self::Map(map, key) => match (key.take(), node) {
                (Some(key), node) => {
                    if map.insert(key, node).is_some() {
                        return Err("a key is set twice");
                    }
                }
                (None, Node::Text(text)) => *key = Some(text),
                (None, _) => return Err("a key is not a string"),
            },
        }
        Ok(())
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Node {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" if style == ScalarStyle::Plain => Node::Null,
        _ => Node::Text(text.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Node {
        /// As JSON, every scalar a string.
        fn json(&self) -> serde_json::Value {
            match self {
                Self::Null => serde_json::Value::Null,
                Self::Text(text) => text.as_str().into(),
                Self::List(list) => list.iter().map(Self::json).collect(),
                Self::Map(map) => map
                    .iter()
                    .map(|(key, value)| (key.clone(), value.json()))
                    .collect(),
            }
        }
    }

    fn read(text: &str) -> Result<serde_json::Value, String> {
        parse(text)
            .map(|node| node.json())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn texts_are_read_as_they_are_meant() {
        let cases = [
            (
                "block",
                "a:\n- b: x\n  c: y\n- z\n",
                r#"{"a":[{"b":"x","c":"y"},"z"]}"#,
            ),
            (
                "flow",
                "{a: [1, 'it''s'], b: {}}",
                r#"{"a":["1","it's"],"b":{}}"#,
            ),
            (
                "a URL in flow",
                "{server: https://h:6443/x}",
                r#"{"server":"https://h:6443/x"}"#,
            ),
            (
                "JSON",
                r#"{"a":{"b":"A\n"},"c":[]}"#,
                r#"{"a":{"b":"A\n"},"c":[]}"#,
            ),
            (
                "JSON, tabs",
                "{\n\t\"a\": [\n\t\t\"b\"\n\t]\n}\n",
                r#"{"a":["b"]}"#,
            ),
            (
                "numbers keep their text",
                "a: 0123\nb: 1e3\nc: true",
                r#"{"a":"0123","b":"1e3","c":"true"}"#,
            ),
            (
                "nothing",
                "a:\nb: ~\nc: null\nd: ''\ne: 'null'",
                r#"{"a":null,"b":null,"c":null,"d":"","e":"null"}"#,
            ),
            (
                "literal",
                "a: |\n  x\n   y\nb: z",
                r#"{"a":"x\n y\n","b":"z"}"#,
            ),
            ("folded", "a: >-\n  x\n  y\n", r#"{"a":"x y"}"#),
            ("comments", "# one\na: b # two\n# three\n", r#"{"a":"b"}"#),
            (
                "carriage returns",
                "a: b\r\nc:\r\n- d\r\n",
                r#"{"a":"b","c":["d"]}"#,
            ),
            ("byte order mark", "\u{feff}a: b\n", r#"{"a":"b"}"#),
            ("first document", "---\na: b\n---\na: c\n", r#"{"a":"b"}"#),
            ("empty", "# nothing\n", "null"),
        ];
        for (name, text, want) in cases {
            let want: serde_json::Value = serde_json::from_str(want).expect(name);
            assert_eq!(read(text), Ok(want), "{name}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let deep = format!("a: {}", "[".repeat(DEPTH));
        let cases = [
            (
                "alias",
                "a: &x b\nc: *x\n",
                "line 2: aliases are not supported; repeat the value",
            ),
            ("key twice", "a: b\na: c\n", "line 2: a key is set twice"),
            (
                "list as key",
                "? [a]\n: b\n",
                "line 1: a key is not a string",
            ),
            ("too deep", &deep, "line 1: nested too deeply"),
            ("open quote", "a: \"b\n", "line "),
            ("tab", "a:\n\tb: c\n", "line 2"),
            ("open flow", "a: [b\n", "line "),
        ];
        for (name, text, want) in cases {
            let error = read(text).expect_err(name);
            assert!(error.contains(want), "{name}: {error}");
        }
    }
}
