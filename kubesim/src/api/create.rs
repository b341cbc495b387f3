//! `create`: names, namespace, defaults, validation, ownership of fields, storage.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::api::answer::Answer;
use crate::api::body::{check_place, decode, insisted_revision};
use crate::api::call::Call;
use crate::api::commit::commit;
use crate::api::{definition, prepare};
use crate::defaults::declared;
use crate::fields::managed::{Operation, record_update};
use crate::model::event_view;
use crate::model::json::{is_deleting, meta_mut, meta_str};
use crate::model::kind::{Kind, Rules};
use crate::model::record::Record;
use crate::model::status::ApiError;
use crate::model::versions;
use crate::store::{CommitError, Expect};

/// What the server allocates for a Service.
const ALLOCATED: [&str; 4] = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];

/// As `names.SimpleNameGenerator`: five letters, none of them a vowel or easily misread.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

pub(crate) fn run(call: &Call<'_>, headers: &HeaderMap, body: &Bytes) -> Result<Answer, ApiError> {
    let object = decode(call, headers, body)?;
    let manager = call.manager.clone();
    create(call, object, |object, call| {
        let writer = call.writer(&manager, Operation::Update);
        record_update(&call.served.kind, None, object, &writer);
    })
}

/// Takes out what the server itself has set: it does so after the owners of fields are recorded.
fn set_aside(kind: &Kind, sent: &Value, object: &mut Value) -> [Map<String, Value>; 2] {
    let mut aside = [Map::new(), Map::new()];
    let [of_object, of_spec] = &mut aside;
    if let Value::Object(object) = &mut *object {
        of_object.extend(object.remove_entry("status"));
    }
    if matches!(kind.rules, Rules::Service)
        && let Some(Value::Object(spec)) = object.get_mut("spec")
    {
        let sent = |name: &str| sent.pointer(&format!("/spec/{name}")).is_some();
        let allocated = ALLOCATED.into_iter().filter(|name| !sent(name));
        of_spec.extend(allocated.filter_map(|name| spec.remove_entry(name)));
    }
    aside
}

fn give_back(object: &mut Value, [of_object, of_spec]: [Map<String, Value>; 2]) {
    if let Value::Object(object) = &mut *object {
        object.extend(of_object);
    }
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        spec.extend(of_spec);
    }
}

/// Creates an object; `own` records the field managers.
pub(crate) fn create(
    call: &Call<'_>,
    mut object: Value,
    own: impl Fn(&mut Value, &Call<'_>),
) -> Result<Answer, ApiError> {
    let kind = &call.served.kind;
    if insisted_revision(&object).is_some() {
        // A plain error of the storage layer: no reason, as the real server answers.
        return Err(ApiError::new(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    check_place(call, &mut object)?;
    check_namespace(call, &object)?;
    let generate =
        meta_str(&object, "name").is_empty() && !meta_str(&object, "generateName").is_empty();
    // A generated name that exists is generated again, up to eight times as in the real server.
    let object = event_view::stored(kind, object);
    for attempt in 0..8 {
        let mut candidate = object.clone();
        if generate {
            let prefix = meta_str(&object, "generateName").to_owned();
            let name = generated_name(&prefix, call.inner.random());
            meta_mut(&mut candidate).insert("name".to_owned(), json!(name));
        }
        prepare::for_create(call, &mut candidate)?;
        let by_server = set_aside(kind, &object, &mut candidate);
        own(&mut candidate, call);
        give_back(&mut candidate, by_server);
        if let Some(built_in) = &kind.built_in {
            declared::stamp(built_in, &mut candidate);
        }
        prepare::admit(call, None, &mut candidate)?;
        candidate = versions::stored(&call.storage(), candidate);
        match store(call, &candidate) {
            Err(CommitError::Exists) if generate && attempt < 7 => {}
            Err(CommitError::Exists) => {
                return Err(ApiError::already_exists(kind, meta_str(&candidate, "name")));
            }
            Err(_) => return Err(ApiError::no_such_path()),
            Ok(Stored::Real(record)) => {
                if matches!(kind.rules, Rules::Definition) {
                    definition::established(call.inner, &candidate)?;
                }
                return Ok(call.show(201, &record));
            }
            Ok(Stored::Dry) => return Ok(call.show_dry(201, &candidate, 0)),
        }
    }
    Err(ApiError::internal("no free name was found"))
}

enum Stored {
    Real(std::sync::Arc<Record>),
    Dry,
}

fn store(call: &Call<'_>, object: &Value) -> Result<Stored, CommitError> {
    let key = call
        .served
        .kind
        .key(call.namespace, meta_str(object, "name"));
    if call.is_dry_run() {
        return match call.inner.store.get(call.served.table, &key) {
            Some(_) => Err(CommitError::Exists),
            None => Ok(Stored::Dry),
        };
    }
    commit(call.inner, call.served, &key, Expect::Absent, object).map(Stored::Real)
}

fn generated_name(prefix: &str, mut random: u64) -> String {
    // 63 bytes are a name's limit here, 5 are the suffix.
    let mut name: String = prefix.chars().take(58).collect();
    for _ in 0..5 {
        let letters = SUFFIX_LETTERS.len() as u64;
        let at = usize::try_from(random % letters).unwrap_or(0);
        name.push(char::from(SUFFIX_LETTERS[at]));
        random /= letters;
    }
    name
}

fn check_namespace(call: &Call<'_>, object: &Value) -> Result<(), ApiError> {
    if !call.served.kind.namespaced {
        return Ok(());
    }
    let Some(namespaces) = call.inner.served("", "namespaces") else {
        return Ok(());
    };
    let Some(namespace) = call.inner.store.get(namespaces.table, call.namespace) else {
        return Err(ApiError::not_found(&namespaces.kind, call.namespace));
    };
    // A namespace is small; it is decoded only if the field may be there.
    if memchr_contains(&namespace.bytes, b"\"deletionTimestamp\"")
        && is_deleting(&namespace.object())
    {
        let mut error = ApiError::forbidden(
            &call.served.kind,
            meta_str(object, "name"),
            &format!(
                "unable to create new content in namespace {} because it is being terminated",
                call.namespace
            ),
        );
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {} is being terminated", call.namespace),
                "field": "metadata.namespace",
            }]);
        }
        return Err(error);
    }
    Ok(())
}

fn memchr_contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}
