//! What makes an object as large as it should be: words in an annotation, and where that is full, in variables
//! of its environment, which its children have too.
//!
//! Guarantees: no string is longer than the API server takes. Leaves to others: the template.

use serde_json::{Value, json};

use crate::model::rng::SplitMix64;

/// All annotations of an object together, bytes: `TotalAnnotationSizeLimitB` in apimachinery v0.36.4,
/// `pkg/api/validation/objectmeta.go`.
pub const ANNOTATION_BYTES: usize = 256 << 10;
/// What the other annotations, names and numbers may need of them.
const SPARE_BYTES: usize = 4 << 10;
/// The value of one variable, bytes: an EdgeApp's may have 32 KiB.
const PART_BYTES: usize = 32_000;

/// The bytes of an object with exactly `object_bytes`, or with as many as it has without words where that
/// is more. `build` makes it from the words of its annotation and the values of its further variables.
pub fn to(
    object_bytes: usize,
    seed: u64,
    index: usize,
    build: impl Fn(&str, &[String]) -> Vec<u8>,
) -> Vec<u8> {
    let in_annotation = ANNOTATION_BYTES - SPARE_BYTES;
    let bare = build("", &[]);
    let room = object_bytes.saturating_sub(bare.len());
    if room == 0 {
        return bare;
    }
    let count = room.saturating_sub(in_annotation).div_ceil(PART_BYTES);
    let mut parts = vec![String::new(); count];
    let room = match count {
        0 => room,
        // Names and quotes of the variables take some of it.
        _ => object_bytes.saturating_sub(build("", &parts).len()),
    };
    let mut left = words(&mut SplitMix64::of(seed, index as u64), room);
    let mut rest = left.split_off(room.min(in_annotation));
    for part in &mut parts {
        let after = rest.split_off(rest.len().min(PART_BYTES));
        *part = std::mem::replace(&mut rest, after);
    }
    build(&left, &parts)
}

/// Adds a variable for each part to the environment.
pub fn enlarge(object: &mut Value, parts: &[String]) {
    if let Some(env) = object["spec"]["env"].as_array_mut() {
        let variables = parts.iter().enumerate();
        env.extend(
            variables.map(|(n, part)| json!({ "name": format!("PART_{n}"), "value": part })),
        );
    }
}

/// What stands in a template for each placeholder.
pub struct Fill {
    pairs: [(&'static str, String); 4],
}

impl Fill {
    /// Of object `index` of a seed.
    pub fn of(name: &str, index: usize, seed: u64, words: &str) -> Self {
        let digest = SplitMix64::of(seed, !(index as u64)).hex(64);
        Self {
            pairs: [
                ("{name}", name.into()),
                ("{index}", index.to_string()),
                ("{digest}", digest),
                ("{words}", words.into()),
            ],
        }
    }
}

/// The template with every placeholder filled in.
pub fn filled(template: &Value, fill: &Fill) -> Value {
    match template {
        Value::String(text) => {
            let mut text = text.clone();
            for (placeholder, value) in &fill.pairs {
                if text.contains(placeholder) {
                    text = text.replace(placeholder, value);
                }
            }
            Value::String(text)
        }
        Value::Array(items) => items.iter().map(|item| filled(item, fill)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), filled(value, fill)))
            .collect(),
        other => other.clone(),
    }
}

/// Exactly `bytes` of text that looks like a list of changes; nothing in it needs escaping.
fn words(rng: &mut SplitMix64, bytes: usize) -> String {
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
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(WORDS[rng.below(WORDS.len())]);
        text.push(' ');
    }
    text.truncate(bytes);
    text
}
