//! What makes an object as large as it should be: words in an annotation, and where that is full, further
//! items of a list of its spec.
//!
//! Guarantees: no string is longer than the API server takes. Leaves to others: the template.

use crate::rng::SplitMix64;

/// All annotations of an object together, bytes: `TotalAnnotationSizeLimitB` in apimachinery v0.36.4,
/// `pkg/api/validation/objectmeta.go`.
pub const ANNOTATION_BYTES: usize = 256 << 10;
/// What the other annotations, names and numbers may need of them.
const SPARE_BYTES: usize = 4 << 10;
/// The most words in an annotation.
pub const IN_ANNOTATION: usize = ANNOTATION_BYTES - SPARE_BYTES;
/// Words of one further item: definitions often allow 32 KiB in a text.
const PART_BYTES: usize = 32_000;

/// The bytes of an object with exactly `object_bytes`, or with as many as it has without words where that
/// is more. `build` makes it from the words of its annotation and those of its further items.
///
/// # Errors
/// As `build`.
pub fn to<E>(
    object_bytes: usize,
    seed: u64,
    index: usize,
    build: impl Fn(&str, &[String]) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let bare = build("", &[])?;
    let room = object_bytes.saturating_sub(bare.len());
    if room == 0 {
        return Ok(bare);
    }
    let count = room.saturating_sub(IN_ANNOTATION).div_ceil(PART_BYTES);
    let mut parts = vec![String::new(); count];
    let room = match count {
        0 => room,
        // Names and quotes of the items take some of it.
        _ => object_bytes.saturating_sub(build("", &parts)?.len()),
    };
    let mut left = words(&mut SplitMix64::of(seed, index as u64), room);
    let mut rest = left.split_off(room.min(IN_ANNOTATION));
    for part in &mut parts {
        let after = rest.split_off(rest.len().min(PART_BYTES));
        *part = std::mem::replace(&mut rest, after);
    }
    build(&left, &parts)
}

const WORDS: [&str; 16] = [
    "fix",
    "rounding",
    "of",
    "receipts",
    "with",
    "loyalty",
    "discount",
    "update",
    "terminal",
    "driver",
    "retry",
    "offline",
    "payments",
    "after",
    "reconnect",
    "translate",
];

/// Exactly `bytes` of text that looks like a list of changes; nothing in it needs escaping.
fn words(rng: &mut SplitMix64, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(WORDS[rng.below(WORDS.len())]);
        text.push(' ');
    }
    text.truncate(bytes);
    text
}

/// `count` of the words.
pub fn random_words(rng: &mut SplitMix64, count: usize) -> String {
    let drawn = (0..count).map(|_| WORDS[rng.below(WORDS.len())]);
    drawn.collect::<Vec<_>>().join(" ")
}
