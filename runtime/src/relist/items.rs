//! Cuts a list into its items while it is received, without `managedFields` where an item has a generation: they are
//! half of its bytes, and the generation says whether anybody has changed it. Of them stays who has written one
//! annotation, where that is asked for.
//!
//! Guarantees: pure. For well-formed JSON an item differs from what was sent only in white space and in the
//! member `metadata.managedFields`, if that comes after `metadata.generation`, wherever the bytes are cut. What is held
//! are the items that were received and not read. An item that is larger than its bound is not held, and counts as an
//! item that cannot be read.
//! Leaves to others: decoding (`pages`) and bounds on the list. The server is trusted to send well-formed
//! JSON.

use std::collections::VecDeque;
use std::ops::Range;

use memchr::memchr2;

use crate::http::buffer::append;
use crate::http::collection::ManagedFields;

/// The buffer shrinks to this after a large item, bytes.
const KEPT_BYTES: usize = 16 << 10;

/// Takes the bytes of a list in pieces and gives its items.
#[derive(Debug)]
pub(crate) struct Items {
    /// The bytes of items that are not read yet, the one at hand first.
    kept: Vec<u8>,
    /// The list without its items.
    frame: Vec<u8>,
    /// Whole items in `kept`; `None` for one that was too large.
    whole: VecDeque<Option<Range<usize>>>,
    /// Where the item that is being received begins in `kept`.
    item_at: Option<usize>,
    item_bytes: usize,
    managed: ManagedFields,
    depth: usize,
    /// Bit n: what was opened at depth n is an object.
    objects: u64,
    /// Bit n: the value at hand at depth n belongs to the key of [`PATH`].
    on_path: u64,
    text: Text,
    /// The next text is a key.
    key_next: bool,
    /// Where the key at hand begins in `kept` or `frame`.
    key_at: usize,
    /// The item that is being received has a generation.
    has_generation: bool,
    /// Depth at which a member is being left out.
    without: Option<usize>,
    /// The item that is being received is larger than its bound.
    too_large: bool,
}

/// One item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Its place in [`Items::bytes`], until the next call of [`Items::next`].
    Whole(Range<usize>),
    /// Larger than the bound: it was not held.
    TooLarge,
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

/// What leads to an annotation in managedFields, each key with its depth, but for the name of the annotation:
/// `{"items": [{"metadata": {"managedFields": [{"fieldsV1": {"f:metadata": {"f:annotations": {}}}}]}}]}`.
const PATH: [(usize, &[u8]); 6] = [
    (ITEMS, b"items"),
    (3, b"metadata"),
    (MANAGED, b"managedFields"),
    (ENTRY, b"fieldsV1"),
    (7, b"f:metadata"),
    (8, b"f:annotations"),
];
const ITEMS: usize = 1;
const MANAGED: usize = 4;
const ENTRY: usize = 6;
const ANNOTATION: usize = 9;

impl Items {
    /// Items of at most `item_bytes` each, with so much of their managedFields.
    pub fn new(item_bytes: usize, managed: ManagedFields) -> Self {
        Self {
            kept: Vec::new(),
            frame: Vec::new(),
            whole: VecDeque::new(),
            item_at: None,
            item_bytes,
            managed,
            depth: 0,
            objects: 0,
            on_path: 0,
            text: Text::Outside,
            key_next: false,
            key_at: 0,
            has_generation: false,
            without: None,
            too_large: false,
        }
    }

    /// The next whole item. What came before it may be gone after this call.
    pub fn next(&mut self) -> Option<Item> {
        let Some(item) = self.whole.pop_front() else {
            self.compact();
            return None;
        };
        Some(item.map_or(Item::TooLarge, Item::Whole))
    }

    /// The bytes that an item is part of.
    pub fn bytes(&self) -> &[u8] {
        &self.kept
    }

    /// Bytes that are held.
    pub fn held_bytes(&self) -> usize {
        self.kept.len() + self.frame.len()
    }

    /// The list without its items: whole once the whole list was received.
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Drops the items that were read.
    fn compact(&mut self) {
        let from = self.item_at.unwrap_or(self.kept.len());
        if from > 0 {
            self.kept.drain(..from);
        }
        if let Some(at) = &mut self.item_at {
            *at = 0;
            self.key_at = self.key_at.saturating_sub(from);
        }
        if self.kept.capacity() > KEPT_BYTES && self.kept.len() <= KEPT_BYTES {
            self.kept.shrink_to(KEPT_BYTES);
        }
    }

    /// Takes what was received. It is copied in runs: from what is left out to what is left out.
    pub fn push(&mut self, bytes: &[u8]) {
        let (mut run, mut at) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            match self.text {
                Text::Outside => {
                    self.outside(byte, bytes, at, &mut run);
                    at += 1;
                }
                Text::Escaped { key } => {
                    self.text = if key { Text::Key } else { Text::Value };
                    at += 1;
                }
                Text::Key | Text::Value => {
                    let key = self.text == Text::Key;
                    let Some(end) = memchr2(b'"', b'\\', &bytes[at..]) else {
                        break;
                    };
                    at += end + 1;
                    if bytes[at - 1] == b'\\' {
                        self.text = Text::Escaped { key };
                    } else {
                        self.text = Text::Outside;
                        if key && self.without.is_none() && self.depth <= ANNOTATION {
                            self.keep(&bytes[run..at]);
                            run = at;
                            self.key_ended();
                        }
                    }
                }
            }
        }
        self.keep(&bytes[run..]);
    }

    /// Takes the byte at `at`, which is in no text. The bytes from `run` on are kept and not copied yet.
    fn outside(&mut self, byte: u8, bytes: &[u8], at: usize, run: &mut usize) {
        let mut is_dropped = false;
        match byte {
            b'"' => {
                self.text = if self.key_next && self.in_object() {
                    let copied = match self.item_at {
                        Some(_) => self.kept.len(),
                        None => self.frame.len(),
                    };
                    self.key_at = copied + at - *run;
                    Text::Key
                } else {
                    Text::Value
                };
                self.key_next = false;
            }
            b'{' | b'[' => {
                if byte == b'{' && self.in_items() {
                    self.keep(&bytes[*run..at]);
                    *run = at;
                    self.item_at = Some(self.kept.len());
                    (self.too_large, self.has_generation) = (false, false);
                }
                self.depth += 1;
                self.opened(byte == b'{');
                self.key_next = byte == b'{';
            }
            b'}' | b']' => {
                if self.without == Some(self.depth) {
                    self.without = None;
                    *run = at;
                    // The member before it now is the last one.
                    if self.kept.last() == Some(&b',') {
                        self.kept.pop();
                    }
                }
                self.depth = self.depth.saturating_sub(1);
                self.key_next = false;
                if self.in_items()
                    && byte == b'}'
                    && let Some(from) = self.item_at
                {
                    self.keep(&bytes[*run..=at]);
                    *run = at + 1;
                    self.item_at = None;
                    let whole = !std::mem::take(&mut self.too_large);
                    let item = from..self.kept.len();
                    self.whole.push_back(whole.then_some(item));
                }
            }
            b',' if self.in_items() => {
                self.key_next = false;
                is_dropped = true;
            }
            b',' => {
                self.key_next = self.in_object();
                if self.without == Some(self.depth) {
                    self.without = None;
                    *run = at + 1;
                }
            }
            byte => is_dropped = byte.is_ascii_whitespace(),
        }
        if is_dropped {
            self.keep(&bytes[*run..at]);
            *run = at + 1;
        }
    }

    /// Where the key at hand leads, and whether it is left out with its value.
    fn key_ended(&mut self) {
        let target = match self.item_at {
            Some(_) => &self.kept,
            None => &self.frame,
        };
        let key = target.get(self.key_at + 1..target.len().saturating_sub(1));
        let key = key.unwrap_or_default();
        let step = PATH.iter().position(|(depth, _)| *depth == self.depth);
        let before = match step {
            Some(step) => step.checked_sub(1).map(|before| PATH[before].0),
            None if self.depth == ANNOTATION => PATH.last().map(|(depth, _)| *depth),
            None => return,
        };
        let in_list = self.objects & (1 << (ITEMS + 1)) == 0;
        let is_led = before.is_none_or(|depth| in_list && self.on_path & (1 << depth) != 0);
        let in_metadata = is_led && self.depth == MANAGED;
        self.has_generation |= in_metadata && key == b"generation";
        // Where there is no generation, managedFields are kept, and nothing below is on the path.
        let is_next = is_led
            && match step {
                Some(step) => PATH[step].1 == key && (self.depth != MANAGED || self.has_generation),
                None => self.managed.keeps(key),
            };
        let left_out = match self.depth {
            _ if !is_led || matches!(self.managed, ManagedFields::All) => false,
            MANAGED => is_next && matches!(self.managed, ManagedFields::None),
            ENTRY => !is_next && key != b"manager",
            depth => depth > MANAGED && !is_next,
        };
        let bit = 1 << self.depth;
        self.on_path = (self.on_path & !bit) | (u64::from(is_next) << self.depth);
        if left_out {
            self.kept.truncate(self.key_at);
            self.without = Some(self.depth);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.without.is_some() || bytes.is_empty() {
            return;
        }
        let Some(at) = self.item_at else {
            self.frame.extend_from_slice(bytes);
            return;
        };
        if self.kept.len() + bytes.len() > at + self.item_bytes {
            self.too_large = true;
            self.kept.truncate(at);
        }
        append(&mut self.kept, bytes);
    }

    /// Between the items of the list.
    fn in_items(&self) -> bool {
        self.depth == ITEMS + 1
            && self.objects & (1 << (ITEMS + 1)) == 0
            && self.on_path & (1 << ITEMS) != 0
            && self.without.is_none()
    }

    fn in_object(&self) -> bool {
        // Deeper than that nothing is looked for; a key there is treated like a value.
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
mod tests;
