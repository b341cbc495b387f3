//! Preparing an object before it is stored: server fields, defaults, validation,
//! generation, and the isolation of status from the rest.
//!
//! Follows `rest.BeforeCreate`, `rest.BeforeUpdate` and the strategies of each kind in v0.36.4.

use serde_json::{Map, Value, json};

use crate::admission::AdmissionFacts;
use crate::api::call::Call;
use crate::api::{definition, scale_rules};
use crate::defaults::{
    configmap, declared, empty, event, namespace, pod, secret, service, typed, zero,
};
use crate::model::json::{generation, map_at, meta, meta_mut, meta_str};
use crate::model::kind::{Kind, Rules};
use crate::model::metadata;
use crate::model::record::Uid;
use crate::model::status::ApiError;
use crate::schema;
use crate::schema::Schema;
use crate::schema::field_error::FieldError;

pub(crate) fn for_create(call: &Call<'_>, object: &mut Value) -> Result<(), ApiError> {
    let kind = &call.served.kind;
    metadata::normalise(kind, object)?;
    let uid = Uid::random_text(call.inner.random(), call.inner.random());
    metadata::stamp_new(kind, object, uid, call.inner.clock.now());
    if kind.has_status
        && let Value::Object(map) = &mut *object
    {
        map.remove("status");
    }
    let mut errors = shape(call, kind, object, None)?;
    errors.extend(metadata::validate(kind, object, None));
    refuse(kind, meta_str(object, "name"), &errors)
}

pub(crate) fn for_update(call: &Call<'_>, old: &Value, new: &mut Value) -> Result<(), ApiError> {
    let kind = &call.served.kind;
    metadata::normalise(kind, new)?;
    metadata::keep_server_fields(old, new);
    if call.subresource == Some("status") {
        keep_all_but_status(kind, old, new);
    } else if kind.has_status {
        copy_field(old, new, "status");
    }
    let mut errors = shape(call, kind, new, Some(old))?;
    errors.extend(metadata::validate(kind, new, Some(old)));
    refuse(kind, meta_str(old, "name"), &errors)?;
    let is_status = call.subresource == Some("status");
    let moves =
        moves_generation(kind, old, new) || (!is_status && annotates_replica_sets(kind, old, new));
    if kind.has_generation() && moves {
        meta_mut(new).insert("generation".to_owned(), json!(generation(old) + 1));
    }
    Ok(())
}

/// What a policy makes of an object that is about to be written. The fields are owned already.
pub(crate) fn admit(call: &Call<'_>, old: Option<&Value>, new: &mut Value) -> Result<(), ApiError> {
    let facts = AdmissionFacts {
        manager: &call.manager,
        resource: &call.served.kind.plural,
        namespace: call.namespace,
    };
    if call.subresource.is_some() || !call.inner.admission.admit(&facts, new) {
        return Ok(());
    }
    match old {
        Some(old) => for_update(call, old, new),
        None => {
            let errors = shape(call, &call.served.kind, new, None)?;
            refuse(&call.served.kind, meta_str(new, "name"), &errors)
        }
    }
}

fn refuse(kind: &Kind, name: &str, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(kind, name, errors))
    }
}

/// A status write changes status; built-in kinds let it change metadata too, and some of them keep the labels.
fn keep_all_but_status(kind: &Kind, old: &Value, new: &mut Value) {
    let status = new.get("status").cloned();
    let sent_meta = meta(new).cloned().unwrap_or_default();
    let mut kept = old.clone();
    match status {
        Some(status) if !status.is_null() => kept["status"] = status,
        _ => {
            if let Value::Object(map) = &mut kept {
                map.remove("status");
            }
        }
    }
    if kind.is_custom() {
        // Only managedFields change, which the write itself records.
        if let Some(managed) = sent_meta.get("managedFields") {
            meta_mut(&mut kept).insert("managedFields".to_owned(), managed.clone());
        }
    } else {
        kept["metadata"] = Value::Object(sent_meta);
        if kind.is_built_in_that(|kind| kind.status_keeps_labels) {
            let labels = meta(old).and_then(|meta| meta.get("labels")).cloned();
            let meta = meta_mut(&mut kept);
            match labels {
                Some(labels) => meta.insert("labels".to_owned(), labels),
                None => meta.remove("labels"),
            };
        }
    }
    *new = kept;
}

fn copy_field(old: &Value, new: &mut Value, field: &str) {
    if let Value::Object(map) = new {
        match old.get(field) {
            Some(value) => map.insert(field.to_owned(), value.clone()),
            None => map.remove(field),
        };
    }
}

/// For kinds with status: anything but metadata and status. Without: anything but metadata.
fn moves_generation(kind: &Kind, old: &Value, new: &Value) -> bool {
    let spec = |object: &Value| -> Map<String, Value> {
        object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| {
                key.as_str() != "metadata" && !(kind.has_status && key.as_str() == "status")
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    old != new && spec(old) != spec(new)
}

/// A Deployment's annotations are copied to its ReplicaSets (Kubernetes v1.36.4,
/// `pkg/registry/apps/deployment/strategy.go`).
fn annotates_replica_sets(kind: &Kind, old: &Value, new: &Value) -> bool {
    let annotations = |object| meta(object).and_then(|meta| meta.get("annotations"));
    kind.is_built_in_that(|kind| kind.counts_annotations) && annotations(old) != annotations(new)
}

/// Defaults and validation by kind.
fn shape(
    call: &Call<'_>,
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Vec<FieldError>, ApiError> {
    let mut errors = Vec::new();
    if let Some(built_in) = &kind.built_in {
        if kind.has_status && built_in.typed.is_some() && !matches!(kind.rules, Rules::Namespace) {
            // A struct without omitempty.
            map_at(object, "status");
        }
        let unknown = typed::typed(kind, object)?;
        refuse_unknown(call, &unknown)?;
        if built_in.has_typed_zeros {
            zero::drop_zeros(object);
        }
        empty::drop_empty(object);
        errors = declared::shape(built_in, object, old);
    }
    errors.extend(match &kind.rules {
        Rules::Custom(schema) => custom(call, schema, object, old)?,
        Rules::Service => service::shape(&call.inner.addresses, object, old),
        Rules::Pod => pod::shape(object),
        Rules::ConfigMap => configmap::shape(object, old),
        Rules::Secret => secret::shape(object, old),
        Rules::Namespace => {
            namespace::shape(object, old);
            Vec::new()
        }
        Rules::Event | Rules::EventView => event::validate(object),
        Rules::Data => Vec::new(),
        Rules::Definition => {
            definition::shape(&call.inner.clock.now(), object, old)?;
            Vec::new()
        }
    });
    Ok(errors)
}

fn custom(
    call: &Call<'_>,
    schema: &Schema,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Vec<FieldError>, ApiError> {
    let (type_fields, mut rest) = take_type(object);
    let unknown = schema::prune::prune(schema, &mut rest, "");
    schema::default::default(schema, &mut rest);
    let mut errors = schema::validate::validate(schema, &rest, "");
    errors.extend(scale_rules::validate(&call.served.kind, &rest));
    schema::whole::whole_numbers(&mut rest);
    put_type(object, type_fields, rest);
    refuse_unknown(call, &unknown)?;
    if let Some(rules) = &schema.rules {
        match errors.iter().any(FieldError::blocks_rules) {
            true => errors.push(FieldError::rules_not_checked()),
            false => errors.extend(rules.check(schema, object, old)),
        }
    }
    Ok(errors)
}

/// `fieldValidation=Strict`. Unknown fields of metadata are dropped all the same.
fn refuse_unknown(call: &Call<'_>, unknown: &[String]) -> Result<(), ApiError> {
    if unknown.is_empty() || call.query.field_validation.as_deref() != Some("Strict") {
        return Ok(());
    }
    let list: Vec<String> = unknown
        .iter()
        .map(|field| format!("unknown field \"{field}\""))
        .collect();
    let Kind { kind, version, .. } = &*call.served.kind;
    Err(ApiError::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {kind}: {STRICT}: {}",
        list.join(", ")
    )))
}

/// In the message of a refused field that is not known.
const STRICT: &str = "strict decoding error";

/// The same refusal of a patch: the server decodes what the patch has made, `patched`, and shows all of it.
pub(crate) fn refused_patch(patched: &Value, error: ApiError) -> ApiError {
    let Some(at) = error.message.find(STRICT) else {
        return error;
    };
    let patched = Value::from(patched.to_string());
    let refused = FieldError::invalid("patch", &patched, &error.message[at..]);
    ApiError::invalid_patch(&refused)
}

/// apiVersion, kind and metadata are the server's own and not the schema's.
fn take_type(object: &mut Value) -> (Map<String, Value>, Value) {
    let mut rest = match object {
        Value::Object(map) => std::mem::take(map),
        _ => Map::new(),
    };
    let mut own = Map::new();
    for field in ["apiVersion", "kind", "metadata"] {
        if let Some(value) = rest.remove(field) {
            own.insert(field.to_owned(), value);
        }
    }
    (own, Value::Object(rest))
}

fn put_type(object: &mut Value, own: Map<String, Value>, rest: Value) {
    let mut map = match rest {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.extend(own);
    *object = Value::Object(map);
}
