//! Valid objects, from the OpenAPI schema of a CustomResourceDefinition.
//!
//! Guarantees: what is generated keeps to the types, enums, patterns, bounds and required fields of the schema;
//! the bounds themselves are generated too. Every value shrinks towards the shortest.
//! Leaves to others: rules between fields (`x-kubernetes-validations`), which the server checks.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::string::string_regex;
use regex::Regex;
use serde_json::{Map, Value, json};

/// Where a schema has no bound, texts are no longer than this.
const TEXT_CHARS: usize = 300;
/// Items of lists and entries of maps, but for one in [`RARELY`] that is as long as the schema allows.
const FEW: usize = 4;
const RARELY: u32 = 60;

/// The names of resources that containers ask for, and what those quantities look like.
const RESOURCES: [&str; 5] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "nvidia.com/gpu",
    "hugepages-2Mi",
];
const QUANTITY: &str = "(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?(m|k|M|G|Ki|Mi|Gi|e[0-3])?";

/// Texts that are easily treated wrongly: quotes, escapes, what HTML and YAML give a meaning, wide characters.
const HOSTILE: [&str; 10] = [
    "",
    " ",
    "\"",
    "\\",
    "</script>",
    "null",
    "\u{0}",
    "é\u{301}",
    "\u{1f9ea}",
    "a: [b]\n",
];

/// The schema of the spec in a definition as YAML.
pub fn of_spec(definition: &str) -> Value {
    let definition: Value = serde_saphyr::from_str(definition).expect("the definition is YAML");
    definition
        .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec")
        .expect("the definition has a schema of the spec")
        .clone()
}

/// How whole numbers are written.
#[derive(Clone, Copy, PartialEq)]
enum Whole {
    /// `3`, and sometimes `3.0`, which is an integer to the API.
    Any,
    /// `3`: a rule (`x-kubernetes-validations`) that reads `3.0` as an integer refuses it.
    Plain,
}

/// Values of a schema.
pub fn value(schema: &Value) -> BoxedStrategy<Value> {
    value_of(schema, Whole::Any)
}

fn value_of(schema: &Value, whole: Whole) -> BoxedStrategy<Value> {
    let value = match schema["type"].as_str() {
        _ if schema["enum"].is_array() => {
            let allowed = schema["enum"].as_array().cloned().unwrap_or_default();
            select(allowed).boxed()
        }
        _ if schema["x-kubernetes-int-or-string"] == true => int_or_string(schema),
        Some("string") => text(schema),
        Some("integer") => integer(schema, whole),
        Some("number") => integer(schema, whole),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("array") => list(schema),
        Some("object") if schema["additionalProperties"].is_object() => map(schema),
        Some("object") => object(schema),
        other => panic!("no values of type {other:?} are generated: {schema}"),
    };
    match schema["nullable"] == true {
        true => prop_oneof![1 => Just(Value::Null), 7 => value].boxed(),
        false => value,
    }
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.into_iter().flatten().any(|one| one == name)
    };
    let properties = schema["properties"].as_object();
    let whole = match schema["x-kubernetes-validations"].is_array() {
        true => Whole::Plain,
        false => Whole::Any,
    };
    let fields: Vec<BoxedStrategy<Option<(String, Value)>>> = properties
        .into_iter()
        .flatten()
        .map(|(name, below)| {
            let key = name.clone();
            let field = value_of(below, whole).prop_map(move |value| Some((key.clone(), value)));
            match required(name) {
                true => field.boxed(),
                false => prop_oneof![3 => Just(None), 4 => field].boxed(),
            }
        })
        .collect();
    let whole = |fields: Vec<Option<(String, Value)>>| {
        Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>())
    };
    fields.prop_map(whole).boxed()
}

fn map(schema: &Value) -> BoxedStrategy<Value> {
    let most = bound(schema, "maxProperties").unwrap_or(FEW);
    let key = prop_oneof![
        12 => select(&RESOURCES[..]).prop_map(str::to_owned),
        2 => "[a-z]{1,8}\\.[a-z]{2,3}/[a-z]{1,6}",
        1 => any_text(),
    ];
    let entry = (key, value(&schema["additionalProperties"])).boxed();
    several(entry, most)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()))
        .boxed()
}

fn list(schema: &Value) -> BoxedStrategy<Value> {
    let most = bound(schema, "maxItems").unwrap_or(FEW);
    let keys = schema["x-kubernetes-list-map-keys"].as_array().cloned();
    let items = several(value(&schema["items"]), most);
    let unique = move |items: Vec<Value>| {
        let Some(keys) = &keys else {
            return Value::from(items);
        };
        let id = |item: &Value| -> Vec<Value> {
            let texts = keys.iter().filter_map(Value::as_str);
            texts.map(|key| item[key].clone()).collect()
        };
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            if kept.iter().all(|other| id(other) != id(&item)) {
                kept.push(item);
            }
        }
        Value::from(kept)
    };
    items.prop_map(unique).boxed()
}

/// A few, rarely as many as there may be.
fn several<T: std::fmt::Debug + Clone + 'static>(
    item: BoxedStrategy<T>,
    most: usize,
) -> BoxedStrategy<Vec<T>> {
    let few = vec(item.clone(), 0..=FEW.min(most));
    prop_oneof![RARELY => few, 1 => vec(item, most..=most)].boxed()
}

fn integer(schema: &Value, whole: Whole) -> BoxedStrategy<Value> {
    let limit = |name: &str| schema[name].as_f64().map(|limit| limit as i64);
    let least = limit("minimum").unwrap_or(i64::from(i32::MIN));
    let most = limit("maximum").unwrap_or(i64::from(i32::MAX));
    let usual = least.max(0)..=least.max(0).saturating_add(5).min(most);
    let number = prop_oneof![12 => usual, 1 => Just(least), 1 => Just(most), 1 => least..=most];
    (number, 0..20u8)
        .prop_map(move |(number, form)| match form {
            19 if whole == Whole::Any => json!(number as f64),
            _ => json!(number),
        })
        .boxed()
}

fn int_or_string(schema: &Value) -> BoxedStrategy<Value> {
    let quantity = QUANTITY.prop_map(Value::from);
    let number = (0..100i32).prop_map(Value::from);
    prop_oneof![8 => quantity, 3 => number, 1 => text(schema)].boxed()
}

fn text(schema: &Value) -> BoxedStrategy<Value> {
    let (least, most) = (bound(schema, "minLength"), bound(schema, "maxLength"));
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(TEXT_CHARS));
    let pattern = schema["pattern"].as_str();
    let written = match pattern {
        Some(pattern) => {
            let unanchored = pattern.trim_start_matches('^').trim_end_matches('$');
            let texts = string_regex(unanchored).expect("the pattern is a regular expression");
            texts.boxed()
        }
        None => any_text(),
    };
    let pattern = pattern.map(|pattern| Regex::new(pattern).expect("a regular expression"));
    let fits = move |(text, form): (String, u32)| {
        let text = match form {
            RARELY => as_long_as(&text, most),
            _ => text,
        };
        let chars = text.chars().count();
        let matches = pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(&text));
        (matches && (least..=most).contains(&chars)).then(|| Value::from(text))
    };
    (written, 0..=RARELY)
        .prop_filter_map("a text that the schema allows", fits)
        .boxed()
}

fn any_text() -> BoxedStrategy<String> {
    prop_oneof![
        6 => "[ -~]{0,12}",
        2 => "\\PC{0,6}",
        1 => select(&HOSTILE[..]).prop_map(str::to_owned),
    ]
    .boxed()
}

/// Repeats the last character.
fn as_long_as(text: &str, chars: usize) -> String {
    let last = text.chars().next_back().unwrap_or('x');
    let more = chars.saturating_sub(text.chars().count());
    text.chars()
        .chain(std::iter::repeat_n(last, more))
        .collect()
}

fn bound(schema: &Value, name: &str) -> Option<usize> {
    schema[name]
        .as_u64()
        .and_then(|bound| bound.try_into().ok())
}
