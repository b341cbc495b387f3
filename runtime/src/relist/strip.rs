//! A list on its way in, without the part that nobody reads: `managedFields`, half of its bytes.
//!
//! Guarantees: pure; of JSON that is well formed the result is the same but for white space and the
//! member `metadata.managedFields` of each item, wherever the bytes are cut. Leaves to others: decoding
//! (`pages`), bounds on what comes in, and to the server that it is well formed.

use memchr::memchr2;

use crate::http::request::Sink;

/// Bytes come in by pieces and stay, unless they belong to `managedFields`.
#[derive(Debug, Default)]
pub(crate) struct StripManagedFields {
    kept: Vec<u8>,
    depth: usize,
    /// Bit n: what was opened at depth n is an object.
    objects: u64,
    /// Bit n: the value at hand at depth n belongs to the key that leads to an item's metadata.
    on_path: u64,
    text: Text,
    /// The next text is a key.
    key_next: bool,
    /// Where the key at hand begins in `kept`.
    key_at: usize,
    /// Depth at which a member is being left out.
    without: Option<usize>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Key,
    Value,
    /// After a backslash.
    Escaped {
        key: bool,
    },
}

/// Keys that lead to it, by depth: `{"items": [{"metadata": {"managedFields": …}}]}`.
const ITEMS: (usize, &[u8]) = (1, b"items");
const METADATA: (usize, &[u8]) = (3, b"metadata");
const LEFT_OUT: (usize, &[u8]) = (4, b"managedFields");

impl Sink for StripManagedFields {
    fn push(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.text {
                Text::Outside => {
                    self.outside(byte);
                    bytes = rest;
                }
                Text::Escaped { key } => {
                    self.keep(&[byte]);
                    self.text = if key { Text::Key } else { Text::Value };
                    bytes = rest;
                }
                Text::Key | Text::Value => {
                    let key = self.text == Text::Key;
                    let end = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                    self.keep(&bytes[..end]);
                    let Some(&byte) = bytes.get(end) else { return };
                    bytes = &bytes[end + 1..];
                    if byte == b'\\' {
                        self.keep(&[byte]);
                        self.text = Text::Escaped { key };
                    } else {
                        self.text = Text::Outside;
                        self.keep(&[byte]);
                        if key {
                            self.key_ended();
                        }
                    }
                }
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.kept.shrink_to_fit();
        self.kept
    }
}

impl StripManagedFields {
    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.text = if self.key_next && self.in_object() {
                    self.key_at = self.kept.len();
                    Text::Key
                } else {
                    Text::Value
                };
                self.key_next = false;
            }
            b'{' | b'[' => {
                self.keep(&[byte]);
                self.depth += 1;
                self.opened(byte == b'{');
                self.key_next = byte == b'{';
                return;
            }
            b'}' | b']' => {
                if self.without == Some(self.depth) {
                    self.without = None;
                    // The member before it now is the last one.
                    if self.kept.last() == Some(&b',') {
                        self.kept.pop();
                    }
                }
                self.depth = self.depth.saturating_sub(1);
                self.key_next = false;
            }
            b',' => {
                self.key_next = self.in_object();
                if self.without == Some(self.depth) {
                    self.without = None;
                    return;
                }
            }
            byte if byte.is_ascii_whitespace() => return,
            _ => {}
        }
        self.keep(&[byte]);
    }

    fn key_ended(&mut self) {
        if self.without.is_some() {
            return;
        }
        let key = self.kept.get(self.key_at + 1..self.kept.len() - 1);
        let is = |(depth, name): (usize, &[u8])| self.depth == depth && key == Some(name);
        let at_items = is(ITEMS);
        let in_list = self.objects & (1 << (ITEMS.0 + 1)) == 0;
        let at_metadata = is(METADATA) && in_list && self.on_path & (1 << ITEMS.0) != 0;
        let left_out = is(LEFT_OUT) && self.on_path & (1 << METADATA.0) != 0;
        if self.depth == ITEMS.0 || self.depth == METADATA.0 {
            let bit = 1 << self.depth;
            self.on_path &= !bit;
            if at_items || at_metadata {
                self.on_path |= bit;
            }
        }
        if left_out {
            self.kept.truncate(self.key_at);
            self.without = Some(self.depth);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.without.is_none() {
            self.kept.extend_from_slice(bytes);
        }
    }

    fn in_object(&self) -> bool {
        // Deeper than that nothing is looked for; a key there is as good as a value.
        self.depth < 64 && self.objects & (1 << self.depth) != 0
    }

    /// Something of which nothing is known yet begins at this depth.
    fn opened(&mut self, object: bool) {
        if self.depth < 64 {
            let bit = 1 << self.depth;
            self.on_path &= !bit;
            self.objects = if object {
                self.objects | bit
            } else {
                self.objects & !bit
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn strip(text: &str, piece: usize) -> Value {
        let mut strip = StripManagedFields::default();
        for bytes in text.as_bytes().chunks(piece) {
            strip.push(bytes);
        }
        let kept = strip.finish();
        serde_json::from_slice(&kept)
            .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&kept)))
    }

    /// What it should be: the same, taken apart and put together again.
    fn wanted(list: &Value) -> Value {
        let mut list = list.clone();
        for item in list["items"].as_array_mut().into_iter().flatten() {
            if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
        list
    }

    #[test]
    fn only_an_items_own_managed_fields_go() {
        let fields = json!([{"manager": "a \"b\\", "fieldsV1": {"f:x": {}, "k:{\"a\":1}": {}}}]);
        for metadata in [
            json!({"managedFields": fields}),
            json!({"name": "a", "managedFields": fields}),
            json!({"managedFields": fields, "name": "a"}),
            json!({"aName": "a", "managedFields": fields, "name": "\\\"managedFields\":"}),
            json!({"annotations": {"managedFields": "mine"}, "name": "a"}),
            json!({"managedFields": null, "z": [1, 2.5e3, true]}),
            json!({"managedFields": "text, with } and ]", "z": {}}),
            json!({}),
        ] {
            let list = json!({
                "kind": "List",
                "metadata": {"resourceVersion": "1", "managedFields": "of the list"},
                "items": [
                    {"metadata": metadata, "spec": {"metadata": {"managedFields": 1}}},
                    {"managedFields": 2, "metadata": metadata},
                ],
                "more": [{"metadata": {"managedFields": 3}}],
                "odd": {"items": {"a": {"metadata": {"managedFields": 4}}}},
            });
            for text in [list.to_string(), format!("{list:#}")] {
                for piece in [1, 2, 7, text.len()] {
                    assert_eq!(strip(&text, piece), wanted(&list), "{text} by {piece}");
                }
            }
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: é]{0,8}".prop_map(Value::from),
        ];
        let key = prop_oneof![
            Just("managedFields".to_owned()),
            Just("metadata".to_owned()),
            Just("items".to_owned()),
            "[a-z\"\\\\,]{0,4}",
        ];
        leaf.prop_recursive(6, 48, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(key.clone(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_the_list_is_like(items in proptest::collection::vec(value(), 0..4), piece in 1usize..40) {
            let list = json!({"metadata": {"continue": ""}, "items": items});
            prop_assert_eq!(strip(&list.to_string(), piece), wanted(&list));
        }
    }
}
