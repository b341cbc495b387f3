//! A list cut into pieces of every size gives the same items and the same frame.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const MARK: &str = "a/plan";

/// The list put together again.
fn strip(text: &str, piece: usize, managed: &ManagedFields) -> Value {
    let mut items = Items::new(1 << 20, managed.clone());
    let mut read = Vec::new();
    for bytes in text.as_bytes().chunks(piece) {
        items.push(bytes);
        while let Some(Item::Whole(range)) = items.next() {
            read.push(parse(&items.bytes()[range]));
        }
    }
    let mut list = parse(items.frame());
    if let Some(Value::Array(all)) = list.get_mut("items") {
        *all = read;
    }
    list
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(bytes)))
}

/// The expected result: the same list, decoded and without the member where there is a generation.
fn wanted(list: &Value, managed: &ManagedFields) -> Value {
    let mut list = list.clone();
    for item in list["items"].as_array_mut().into_iter().flatten() {
        if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut)
            && metadata.contains_key("generation")
        {
            match managed {
                ManagedFields::All => {}
                ManagedFields::None => drop(metadata.remove("managedFields")),
                ManagedFields::Of(mark) => {
                    let entries = metadata.get_mut("managedFields");
                    for entry in entries.and_then(Value::as_array_mut).into_iter().flatten() {
                        keep(entry, &["manager", "fieldsV1"]);
                        let mut at = Some(entry);
                        for key in ["fieldsV1", "f:metadata", "f:annotations"] {
                            at = at.and_then(|at| at.get_mut(key));
                            let below = match key {
                                "fieldsV1" => "f:metadata",
                                "f:metadata" => "f:annotations",
                                _ => &**mark,
                            };
                            at.iter_mut().for_each(|at| keep(at, &[below]));
                        }
                    }
                }
            }
        }
    }
    list
}

/// Leaves an object these members.
fn keep(object: &mut Value, names: &[&str]) {
    if let Value::Object(members) = object {
        members.retain(|name, _| names.contains(&name.as_str()));
    }
}

fn modes() -> [ManagedFields; 3] {
    [
        ManagedFields::None,
        ManagedFields::of(MARK),
        ManagedFields::All,
    ]
}

#[test]
fn only_managed_fields_of_an_item_with_a_generation_go() {
    let ours = json!({".": {}, "f:b": {}, "f:a/plan": {}, "f:c": {}});
    let fields = json!([
        {"manager": "a \"b\\", "fieldsV1": {"f:x": {}, "k:{\"a\":1}": {}}, "z": [1, {"f:metadata": 2}]},
        {"apiVersion": "v1", "fieldsV1": {"f:metadata": {"f:labels": {"f:a/plan": {}}}}},
        {"fieldsV1": {"f:metadata": {"f:annotations": ours, "f:labels": ours}, "f:spec": {"f:annotations": ours}}},
    ]);
    for metadata in [
        json!({"managedFields": fields}),
        json!({"generation": 1, "managedFields": fields}),
        json!({"generation": 1, "managedFields": fields, "name": "a"}),
        json!({"managedFields": fields, "name": "a"}),
        json!({"aName": "a", "generation": 1, "managedFields": fields, "name": "\\\"managedFields\":"}),
        json!({"annotations": {"generation": "1", "managedFields": "mine"}, "managedFields": fields}),
        json!({"generation": 1, "managedFields": null, "z": [1, 2.5e3, true]}),
        json!({"generation": 1, "managedFields": "text, with } and ]", "z": {}}),
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
                for managed in modes() {
                    assert_eq!(
                        strip(&text, piece, &managed),
                        wanted(&list, &managed),
                        "{managed:?} of {text} by {piece}"
                    );
                }
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
        Just("generation".to_owned()),
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

/// Entries of managedFields that are nearly what a server writes.
fn entries() -> impl Strategy<Value = Value> {
    let key = proptest::sample::select(
        &[
            "fieldsV1",
            "f:metadata",
            "f:annotations",
            "f:a/plan",
            "manager",
            "f:spec",
        ][..],
    );
    let leaf = prop_oneof![Just(json!({})), Just(json!("a")), Just(json!([]))];
    let entry = leaf.prop_recursive(5, 60, 4, move |inner| {
        proptest::collection::btree_map(key.clone(), inner, 0..4).prop_map(|map| {
            map.into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()
        })
    });
    proptest::collection::vec(entry, 0..4).prop_map(Value::from)
}

fn object() -> impl Strategy<Value = Value> {
    value().prop_map(|value| match value {
        object @ Value::Object(_) => object,
        other => json!({"spec": other}),
    })
}

#[test]
fn what_was_read_is_not_held() {
    let item = json!({"metadata": {"name": "x".repeat(100)}}).to_string();
    let list = format!(
        r#"{{"items":[{}],"kind":"List"}}"#,
        vec![item; 1_000].join(",")
    );
    let mut items = Items::new(1_000, ManagedFields::None);
    let (mut read, mut most) = (0, 0);
    for bytes in list.as_bytes().chunks(150) {
        items.push(bytes);
        while items.next().is_some() {
            read += 1;
        }
        most = most.max(items.held_bytes());
    }
    assert_eq!(
        (read, items.frame()),
        (1_000, &br#"{"items":[],"kind":"List"}"#[..])
    );
    assert!(most < 600, "{most} bytes were held");
}

#[test]
fn an_item_beyond_its_bound_is_passed_over() {
    let item = |name: &str| json!({"metadata": {"name": name}});
    let list = json!({"items": [item("a"), item(&"x".repeat(5_000)), item("b")]}).to_string();
    for piece in [1, 100, list.len()] {
        let mut items = Items::new(200, ManagedFields::None);
        let mut read = Vec::new();
        for bytes in list.as_bytes().chunks(piece) {
            items.push(bytes);
            while let Some(next) = items.next() {
                read.push(match next {
                    Item::Whole(range) => parse(&items.bytes()[range])["metadata"]["name"].clone(),
                    Item::TooLarge => Value::Null,
                });
            }
        }
        assert_eq!(read, [json!("a"), Value::Null, json!("b")], "by {piece}");
    }
}

proptest! {
    #[test]
    fn whatever_has_written_the_annotation(entries in entries(), piece in 1usize..40) {
        let object = json!({"metadata": {"generation": 1, "managedFields": entries, "name": "a"}});
        let list = json!({"metadata": {"continue": ""}, "items": [object]});
        for managed in modes() {
            prop_assert_eq!(strip(&list.to_string(), piece, &managed), wanted(&list, &managed));
        }
    }

    #[test]
    fn whatever_the_list_is_like(items in proptest::collection::vec(object(), 0..4), piece in 1usize..40) {
        let list = json!({"metadata": {"continue": ""}, "items": items});
        for managed in modes() {
            prop_assert_eq!(strip(&list.to_string(), piece, &managed), wanted(&list, &managed));
        }
    }
}
