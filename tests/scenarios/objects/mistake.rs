//! One mistake in a valid object: what the schema does not allow, at any place of it.
//!
//! Guarantees: the mistake is the only one. Leaves to others: rules between fields.

use regex::Regex;
use serde_json::{Value, json};

/// What is wrong with a spec.
#[derive(Debug, Clone)]
pub struct Mistake {
    pub what: &'static str,
    /// The field that a refusal names.
    pub field: String,
    pub spec: Value,
}

/// The mistake that strict validation finds, as a bad request.
pub const UNKNOWN: &str = "unknown field";

/// Every mistake of each kind at each place of the spec.
pub fn mistakes(schema: &Value, spec: &Value) -> Vec<Mistake> {
    let mut all = Vec::new();
    let place = Place {
        field: "spec".to_owned(),
        pointer: String::new(),
    };
    collect(schema, spec, &place, &mut |what, field, pointer, value| {
        let mut spec = spec.clone();
        put(&mut spec, &pointer, value);
        all.push(Mistake { what, field, spec });
    });
    all
}

/// A place of the spec, as refusals and as JSON pointers name it.
#[derive(Clone)]
struct Place {
    field: String,
    pointer: String,
}

impl Place {
    fn of_key(&self, key: &str) -> Place {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Place {
            field: format!("{}.{key}", self.field),
            pointer: format!("{}/{escaped}", self.pointer),
        }
    }

    fn of_index(&self, index: usize) -> Place {
        Place {
            field: format!("{}[{index}]", self.field),
            pointer: format!("{}/{index}", self.pointer),
        }
    }
}

/// Takes a mistake: what it is, the field that is blamed, and what stands at a pointer then (`None`: nothing).
type Take<'a> = dyn FnMut(&'static str, String, String, Option<Value>) + 'a;

fn collect(schema: &Value, value: &Value, place: &Place, take: &mut Take<'_>) {
    let mut here = |what: &'static str, value: Value| {
        take(
            what,
            place.field.clone(),
            place.pointer.clone(),
            Some(value),
        );
    };
    if schema["enum"].is_array() {
        here("no value of the enum", json!("no-such-value"));
        return;
    }
    if schema["x-kubernetes-int-or-string"] == true {
        here("neither integer nor string", json!(true));
        for (what, text) in texts(schema) {
            here(what, text);
        }
        return;
    }
    match schema["type"].as_str() {
        Some("string") => {
            here("no string", json!(7));
            for (what, text) in texts(schema) {
                here(what, text);
            }
        }
        Some("integer") => {
            here("no number", json!("seven"));
            here("no integer", json!(1.5));
            for (what, number) in numbers(schema) {
                here(what, number);
            }
        }
        Some("boolean") => here("no truth value", json!("yes")),
        Some("array") => {
            here("no list", json!({}));
            items(schema, value, place, take);
        }
        _ => {
            here("no object", json!([]));
            properties(schema, value, place, take);
        }
    }
}

fn texts(schema: &Value) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    let least = schema["minLength"].as_u64().unwrap_or(0);
    if least > 0 {
        all.push(("too short", json!("")));
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        let long = "x".repeat(usize::try_from(most).unwrap_or(0) + 1);
        all.push(("too long", json!(long)));
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let pattern = Regex::new(pattern).expect("the pattern is a regular expression");
        let texts = ["   ", "!?!", "a b c"];
        let other = texts.into_iter().find(|text| !pattern.is_match(text));
        all.extend(other.map(|text| ("another pattern", json!(text))));
    }
    all
}

fn numbers(schema: &Value) -> Vec<(&'static str, Value)> {
    let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
    let mut all = Vec::new();
    all.extend(bound("minimum").map(|least| ("too small", json!(least - 1))));
    match bound("maximum") {
        Some(most) => all.push(("too large", json!(most + 1))),
        None if schema["format"] == "int32" => all.push(("more than 32 bits", json!(1_i64 << 31))),
        None => {}
    }
    all
}

fn items(schema: &Value, value: &Value, place: &Place, take: &mut Take<'_>) {
    let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
        return;
    };
    for (index, item) in list.iter().enumerate() {
        collect(&schema["items"], item, &place.of_index(index), take);
    }
    let keys = schema["x-kubernetes-list-map-keys"].as_array();
    let Some(key) = keys.and_then(|keys| keys.first()?.as_str()) else {
        return;
    };
    let longer = |more: Vec<Value>| Some(list.iter().cloned().chain(more).collect());
    let twice = place.of_index(list.len()).field;
    take(
        "a key twice",
        twice,
        place.pointer.clone(),
        longer(vec![list[0].clone()]),
    );
    if let Some(most) = schema["maxItems"].as_u64() {
        let more = (0..=most).map(|n| {
            let mut item = list[0].clone();
            item[key] = json!(format!("more-{n}"));
            item
        });
        take(
            "too many items",
            place.field.clone(),
            place.pointer.clone(),
            longer(more.collect()),
        );
    }
}

fn properties(schema: &Value, value: &Value, place: &Place, take: &mut Take<'_>) {
    let Some(map) = value.as_object() else {
        return;
    };
    if let Some(below) = schema["additionalProperties"].as_object() {
        let below = Value::Object(below.clone());
        for (key, value) in map {
            collect(&below, value, &place.of_key(key), take);
        }
        if let Some(most) = schema["maxProperties"].as_u64() {
            let more = (0..=most).map(|n| (format!("more.dev/n{n}"), json!("1")));
            let full = map.clone().into_iter().chain(more).collect();
            take(
                "too many entries",
                place.field.clone(),
                place.pointer.clone(),
                Some(full),
            );
        }
        return;
    }
    let unknown = place.of_key("unknown");
    take(UNKNOWN, unknown.field, unknown.pointer, Some(json!(1)));
    for name in schema["required"].as_array().into_iter().flatten() {
        let Some(missing) = name.as_str().map(|name| place.of_key(name)) else {
            continue;
        };
        take(
            "missing",
            missing.field.clone(),
            missing.pointer.clone(),
            None,
        );
        take("null", missing.field, missing.pointer, Some(Value::Null));
    }
    for (key, below) in schema["properties"].as_object().into_iter().flatten() {
        // A wrong type also where there is nothing.
        match map.get(key) {
            Some(Value::Null) => {}
            Some(value) => collect(below, value, &place.of_key(key), take),
            None => collect(below, &Value::Null, &place.of_key(key), take),
        }
    }
}

/// Sets the value at a pointer into the spec; `None` removes it.
fn put(spec: &mut Value, pointer: &str, value: Option<Value>) {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        *spec = value.unwrap_or_default();
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    match (spec.pointer_mut(parent), value) {
        (Some(Value::Array(list)), Some(value)) => {
            if let Some(item) = key.parse().ok().and_then(|at: usize| list.get_mut(at)) {
                *item = value;
            }
        }
        (Some(Value::Object(map)), Some(value)) => drop(map.insert(key, value)),
        (Some(Value::Object(map)), None) => drop(map.remove(&key)),
        _ => {}
    }
}
