//! An owner between the server and the plan: what is kept of it, and how it is decoded for the plan.
//!
//! Guarantees: the spec stays raw JSON until a worker needs it; of a status only a digest and the transition
//! times of its conditions are kept. Leaves to others: reading and writing.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use serde_json::Value;
use tracing::debug;

use crate::api::{
    Children, Condition, DeletedOwner, Kind, Operator, Owner, OwnerStatus, Plan, Spec, Status,
    UndecodableSpec, is_observed, needs_worker,
};
use crate::model::{
    Body, ChildState, Content, Finalizers, ForeignConditions, Meta, ObjectKey, OwnerObject,
    PartialObject, SeenChild, SeenChildren, StatusRecord, Transition, Triggers, hash32, hash64,
    large_bytes, rfc3339, seconds,
};
use crate::reconcile::failure;

/// Where a status has its conditions.
const CONDITIONS: &str = "conditions";

/// The finalizer that tells the garbage collector to keep the children.
const ORPHAN: &str = "orphan";

/// The transition time of a condition that has none, or one that cannot be read.
const UNKNOWN: u32 = 0;

/// The state of an owner, from an object of the API. A status that is not of the operator's type counts as one
/// that speaks of no generation: it is written anew.
pub(crate) fn decode<O: Operator>(object: &PartialObject<'_>) -> OwnerObject {
    let meta = &object.metadata;
    let status = match object.status.map_or("null", |raw| raw.get()) {
        "null" if Status::<O>::WRITTEN => StatusRecord::default(),
        json => match read_status::<O>(json) {
            Ok((mut status, foreign)) => StatusRecord {
                foreign,
                ..remember::<O>(&mut status)
            },
            Err(error) => {
                debug!(object = %meta.key(), %error, "the status cannot be decoded");
                StatusRecord {
                    digest: hash64(json.as_bytes()),
                    ..StatusRecord::default()
                }
            }
        },
    };
    let (mut body, marks) = Body::of(object, O::SEES_LABELS);
    if let (Some(body), Some(status), true) = (&mut body, object.status, is_observed::<O>()) {
        body.keep_status(status.get());
    }
    let created = meta.creation_timestamp.as_deref().and_then(seconds);
    OwnerObject {
        uid: meta.uid,
        generation: meta.generation,
        resource_version: meta.resource_version,
        deleting: meta.deleting(),
        finalizers: finalizers::<O>(&meta.finalizers),
        created_s: created.unwrap_or_default(),
        marks,
        large_bytes: large_bytes(body.as_ref().map_or(0, Body::len)),
        body,
        status,
        ..OwnerObject::default()
    }
}

/// A status, and the conditions in it that are other clients'.
fn read_status<O: Operator>(
    json: &str,
) -> Result<(Status<O>, Option<ForeignConditions>), serde_json::Error> {
    let own = Status::<O>::CONDITIONS;
    if own.is_empty() {
        return Ok((serde_json::from_str(json)?, None));
    }
    let mut status: Value = serde_json::from_str(json)?;
    let conditions = status.get_mut(CONDITIONS).and_then(Value::as_array_mut);
    let foreign: Vec<_> = conditions.map_or(Vec::new(), |conditions| {
        let is_foreign = |condition: &mut Value| {
            let type_ = condition["type"].as_str().unwrap_or_default();
            !own.contains(&type_)
        };
        conditions.extract_if(.., is_foreign).collect()
    });
    let foreign = (!foreign.is_empty()).then(|| Box::new(Value::from(foreign).to_string().into()));
    Ok((serde_json::from_value(status)?, foreign))
}

/// The status as it is written: with the conditions of other clients, which stay.
pub(crate) fn written<O: Operator>(
    status: &Status<O>,
    before: &StatusRecord,
) -> Result<Value, serde_json::Error> {
    let mut status = serde_json::to_value(status)?;
    let foreign = before.foreign.as_ref();
    let Some(foreign) = foreign.filter(|_| !Status::<O>::CONDITIONS.is_empty()) else {
        return Ok(status);
    };
    let foreign: Vec<Value> = serde_json::from_str(foreign)?;
    match status.get_mut(CONDITIONS).and_then(Value::as_array_mut) {
        Some(own) => own.extend(foreign),
        None => status[CONDITIONS] = foreign.into(),
    }
    Ok(status)
}

/// What the runtime needs of a list of finalizers.
pub(crate) fn finalizers<O: Operator>(all: &[Cow<'_, str>]) -> Finalizers {
    let place = |wanted: &dyn Fn(&str) -> bool| {
        let place = all.iter().position(|finalizer| wanted(finalizer));
        place.and_then(|place| u8::try_from(place).ok())
    };
    Finalizers {
        ours: place(&|finalizer| O::FINALIZER == Some(finalizer)),
        retired: place(&|finalizer| O::RETIRED_FINALIZERS.contains(&finalizer)),
        count: u8::try_from(all.len()).unwrap_or(u8::MAX),
        orphan: all.iter().any(|finalizer| finalizer == ORPHAN),
    }
}

/// Whether nothing was ever written for the owner, by all that it shows. A write of its children then begins
/// with their creation, which needs no newer state of the owner than the one that is known.
pub(crate) fn never_seen<O: Operator>(object: &OwnerObject) -> bool {
    match Status::<O>::WRITTEN {
        true => object.status.digest == 0,
        false => object.lacks_finalizer(O::FINALIZER.is_some()),
    }
}

/// The owner as its plan sees it.
///
/// # Errors
/// The spec is not of the operator's type, or it is not kept any more.
pub(crate) fn rebuild<O: Operator>(
    key: &ObjectKey,
    object: &OwnerObject,
) -> Result<Owner<O>, serde_json::Error> {
    let spec: Spec<O> = serde_json::from_str(spec_json(object))?;
    Ok(Owner::new(meta(key, object), spec))
}

/// The owner as its cleanup sees it.
pub(crate) fn deleted<O: Operator>(key: &ObjectKey, object: &OwnerObject) -> DeletedOwner<O> {
    let json = spec_json(object);
    DeletedOwner {
        meta: meta(key, object),
        spec: serde_json::from_str(json).map_err(|error| UndecodableSpec {
            json: json.into(),
            cause: error.to_string().into(),
        }),
        orphaned: object.finalizers.orphan,
    }
}

fn spec_json(object: &OwnerObject) -> &str {
    object.body.as_ref().map_or("{}", |body| &*body.spec)
}

fn meta(key: &ObjectKey, object: &OwnerObject) -> Meta {
    let marks = object.body.as_ref().map(Body::labels_and_annotations);
    let [labels, annotations] = marks.unwrap_or_default();
    Meta {
        name: key.name().into(),
        namespace: key.namespace().into(),
        uid: object.uid,
        resource_version: object.resource_version,
        generation: object.generation,
        observed_generation: object.status.observed_generation,
        deleting: object.deleting,
        created_s: object.created_s.into(),
        labels,
        annotations,
    }
}

/// The children as the plan sees them: of a kind that declares nothing of its status, only that they exist.
/// `of_owner`: the namespace of their owner.
pub(crate) fn children<O: Operator>(of_owner: &str, all: &SeenChildren) -> Children {
    let mut children = Children::of_owner_in(of_owner);
    let exists = |seen: &&SeenChild| seen.content != Content::Gone;
    for seen in all.iter().filter(exists) {
        let Some(kind) = seen.kind.of(O::KINDS) else {
            continue;
        };
        children.set(kind, seen.place_hash, told(kind, &seen.state));
    }
    children
}

/// The state of a child as a plan sees it.
pub(crate) fn told(kind: &Kind, state: &ChildState) -> ChildState {
    match kind.has_status() {
        true => state.clone(),
        false => ChildState::default(),
    }
}

/// The plan of an owner, from what is known of it; `None` where there is none that can be applied, whose cause a worker
/// then finds and reports, and where it needs more, which only a worker reads.
pub(crate) fn plan<O: Operator>(
    operator: &O,
    key: &ObjectKey,
    object: &OwnerObject,
    seen: &SeenChildren,
) -> Option<(Owner<O>, Plan<Status<O>>)> {
    if needs_worker::<O>() {
        return None;
    }
    let owner = rebuild::<O>(key, object).ok()?;
    let plan = AssertUnwindSafe(|| operator.plan(&owner, &children::<O>(key.namespace(), seen)));
    let mut plan = std::panic::catch_unwind(plan).ok()?.ok()?;
    failure::declare_children::<O>(&owner.meta, &mut plan.children).ok()?;
    Some((owner, plan))
}

/// The triggers of an owner whose children are compared as well: without what only the children can tell.
pub(crate) fn triggers_beside_children<O: Operator>(object: &OwnerObject) -> Triggers {
    let own = object.own_triggers(O::FINALIZER.is_some());
    match Status::<O>::OBSERVES || object.lacks_finalizer(O::FINALIZER.is_some()) {
        true => own,
        false => own.without(Triggers::SPEC),
    }
}

/// Takes the transition times out of `status` and keeps them beside a digest of the rest.
pub(crate) fn remember<O: Operator>(status: &mut Status<O>) -> StatusRecord {
    let transitions = status
        .conditions()
        .iter_mut()
        .map(|condition| Transition {
            type_hash: hash32(&condition.type_),
            status: condition.status.bytes().next().unwrap_or(b'U'),
            since_s: condition
                .last_transition_time
                .take()
                .and_then(|text| seconds(&text))
                .unwrap_or(UNKNOWN),
        })
        .collect();
    let json = match Status::<O>::WRITTEN {
        true => serde_json::to_vec(status).ok(),
        false => None,
    };
    StatusRecord {
        // Serialising our own types into memory cannot fail; if it did, the digest would differ
        // and the status be written.
        digest: json.map_or(0, |json| hash64(&json)),
        observed_generation: status.observed_generation(),
        ready: status.ready(),
        transitions,
        foreign: None,
    }
}

/// Whether a status would be written.
pub(crate) fn differs<O: Operator>(object: &OwnerObject, status: &mut Status<O>) -> bool {
    Status::<O>::WRITTEN && remember::<O>(status).digest != object.status.digest
}

/// Fills in the transition times: an unchanged condition keeps its own where that is known, any other gets `now_s`.
pub(crate) fn stamp(
    conditions: &mut [Condition],
    before: &StatusRecord,
    now: &mut StatusRecord,
    now_s: u32,
) {
    for (condition, transition) in conditions.iter_mut().zip(now.transitions.iter_mut()) {
        let kept = before
            .transitions
            .iter()
            .find(|t| (t.type_hash, t.status) == (transition.type_hash, transition.status))
            .filter(|t| t.since_s != UNKNOWN);
        transition.since_s = kept.map_or(now_s, |t| t.since_s);
        condition.last_transition_time = Some(rfc3339(transition.since_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_operator::Sites;

    fn status(json: &str) -> Result<Status<Sites>, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_transition_time_moves_only_with_its_status() -> Result<(), serde_json::Error> {
        let mut old = status(
            r#"{"conditions":[
            {"type":"Ready","status":"False","reason":"A","lastTransitionTime":"1970-01-01T00:00:05Z"},
            {"type":"Degraded","status":"False","reason":"A","lastTransitionTime":"1970-01-01T00:00:06Z"}]}"#,
        )?;
        let before = remember::<Sites>(&mut old);
        let mut new = status(
            r#"{"conditions":[{"type":"Ready","status":"True","reason":"B"},
            {"type":"Degraded","status":"False","reason":"B"},{"type":"New","status":"True","reason":"B"}]}"#,
        )?;
        let mut now = remember::<Sites>(&mut new);
        stamp(new.conditions(), &before, &mut now, 9);
        let times: Vec<_> = new
            .conditions
            .iter()
            .filter_map(|c| c.last_transition_time.as_deref())
            .collect();
        assert_eq!(
            times,
            [
                "1970-01-01T00:00:09Z",
                "1970-01-01T00:00:06Z",
                "1970-01-01T00:00:09Z"
            ]
        );
        Ok(())
    }

    #[test]
    fn a_condition_without_a_legible_transition_time_gets_one() -> Result<(), serde_json::Error> {
        for time in ["", r#","lastTransitionTime":"yesterday""#] {
            let json = |time: &str| {
                format!(
                    r#"{{"conditions":[{{"type":"Ready","status":"True","reason":"A"{time}}}]}}"#
                )
            };
            let before = remember::<Sites>(&mut status(&json(time))?);
            let mut new = status(&json(""))?;
            let mut now = remember::<Sites>(&mut new);
            stamp(new.conditions(), &before, &mut now, 1_795_237_632);
            let told = new.conditions[0].last_transition_time.as_deref();
            assert_eq!(told, Some("2026-11-21T05:07:12Z"), "{time}");
            assert_eq!(now.transitions[0].since_s, 1_795_237_632);
        }
        Ok(())
    }

    #[test]
    fn a_digest_does_not_see_transition_times() -> Result<(), serde_json::Error> {
        let mut a = status(
            r#"{"conditions":[{"type":"Ready","status":"True","reason":"A",
            "lastTransitionTime":"2026-11-21T05:07:12Z"}]}"#,
        )?;
        let mut b = status(r#"{"conditions":[{"type":"Ready","status":"True","reason":"A"}]}"#)?;
        let mut c = status(r#"{"conditions":[{"type":"Ready","status":"True","reason":"B"}]}"#)?;
        let [a, b, c] = [&mut a, &mut b, &mut c].map(|status| remember::<Sites>(status).digest);
        assert_eq!(a, b);
        assert_ne!(b, c);
        Ok(())
    }
}
