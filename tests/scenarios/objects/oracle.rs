//! What must hold when an operator has nothing left to do.
//!
//! Guarantees: that a child is as planned is the server's word: a dry run of a patch with the plan changes nothing.
//! An owner whose plan the server refuses is known by the same means, and is not expected to be as planned.
//! Leaves to others: how long it may take (`case`).

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use tare_runtime::api::{Child, Children, Kind, Owner, OwnerStatus, Spec, Status, Writes};
use tare_runtime::model::{ChildState, Meta, Uid};

use crate::cluster::objects::text;
use crate::cluster::user::{JSON, MERGE, User};
use crate::objects::subject::Subject;

/// Reasons of Events that nothing but another writer, or a mistake of the operator, gives a cause for.
const UNCAUSED: [&str; 5] = [
    "FieldConflict",
    "Collision",
    "Panic",
    "Conflict",
    "Undecodable",
];

const APPLY: &str = "application/apply-patch+yaml";

/// What is there when all is as planned.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct State {
    /// Owners and their children, without what differs from server to server.
    pub objects: Vec<Value>,
    /// Owners whose children the server refuses.
    pub refused: BTreeSet<String>,
}

/// Every owner, with its children, is as planned; if not, why.
pub async fn check<S: Subject>(user: &User) -> Result<State, String> {
    let mut state = State::default();
    let children = children::<S>(user).await;
    let owners = user.all(&S::resource()).await;
    for (_, child) in &children {
        let owner = text(child, "/metadata/ownerReferences/0/uid");
        if !owners.iter().any(|one| text(one, "/metadata/uid") == owner) {
            return Err(format!("its owner is gone: {child}"));
        }
    }
    for owner in &owners {
        let name = text(owner, "/metadata/name");
        let outcome = check_owner::<S>(user, owner, &children).await;
        match outcome.map_err(|why| format!("{name}: {why}; the owner is {owner}"))? {
            Outcome::AsPlanned(objects) => {
                state.objects.push(essence(owner));
                state.objects.extend(objects);
            }
            Outcome::Rejected => drop(state.refused.insert(name)),
        }
    }
    let namespaced = |object: Value| {
        let host = format!(".{}.svc", user.namespace);
        let text = object.to_string().replace(&host, ".NAMESPACE.svc");
        serde_json::from_str(&text).unwrap_or(object)
    };
    state.objects = state.objects.into_iter().map(namespaced).collect();
    for event in user.all("events").await {
        let reason = text(&event, "/reason");
        if UNCAUSED.contains(&reason.as_str()) {
            return Err(format!("an Event without a cause: {event}"));
        }
    }
    Ok(state)
}

/// The resourceVersions of everything that an operator could write.
pub async fn revisions<S: Subject>(user: &User) -> Vec<String> {
    let mut objects = user.all(&S::resource()).await;
    objects.extend(
        children::<S>(user)
            .await
            .into_iter()
            .map(|(_, child)| child),
    );
    let revision = |object: &Value| {
        let [kind, name, revision] = ["/kind", "/metadata/name", "/metadata/resourceVersion"]
            .map(|pointer| text(object, pointer));
        format!("{kind} {name} at {revision}")
    };
    objects.iter().map(revision).collect()
}

/// What is there of the kinds that the operator owns.
async fn children<S: Subject>(user: &User) -> Vec<(Kind, Value)> {
    let mut all = Vec::new();
    for kind in S::KINDS {
        for mut child in user.all(kind.plural).await {
            // The items of a list do not say what they are.
            child["kind"] = kind.kind.into();
            let is_owned = !child["metadata"]["ownerReferences"].is_null();
            all.extend(is_owned.then_some((*kind, child)));
        }
    }
    all
}

enum Outcome {
    AsPlanned(Vec<Value>),
    Rejected,
}

async fn check_owner<S: Subject>(
    user: &User,
    owner: &Value,
    children: &[(Kind, Value)],
) -> Result<Outcome, String> {
    let meta = meta(owner).ok_or("it has no identity")?;
    if meta.deleting {
        return Err("it is still being deleted".to_owned());
    }
    let spec: Spec<S> = serde_json::from_value(owner["spec"].clone())
        .map_err(|error| format!("its spec cannot be decoded: {error}"))?;
    let uid = meta.uid.to_string();
    let own: Vec<&(Kind, Value)> = children
        .iter()
        .filter(|(_, child)| text(child, "/metadata/ownerReferences/0/uid") == uid)
        .collect();
    let mut observed = Children::default();
    for (kind, child) in &own {
        observed.record(kind, &text(child, "/metadata/name"), progress(kind, child));
    }
    let planned = S::operator()
        .plan(&Owner::new(meta, spec), &observed)
        .map_err(|error| format!("it has no plan: {error}"))?;

    let named = |(kind, child): &(Kind, Value), name: &str| {
        (*kind, text(child, "/metadata/name")) == (*kind, name.to_owned())
    };
    for child in &planned.children {
        let found = own
            .iter()
            .find(|one| one.0 == child.kind && named(one, &child.name));
        if !is_as_planned::<S>(user, child, found.map(|(_, found)| found)).await? {
            return Ok(Outcome::Rejected);
        }
    }
    for (kind, found) in own.iter().copied() {
        let name = text(found, "/metadata/name");
        let is_planned = |child: &Child| child.kind == *kind && child.name == name;
        if !planned.children.iter().any(is_planned) {
            return Err(format!("{} {name} is not planned", kind.kind));
        }
    }
    check_status::<S>(owner, planned.status)?;
    let essences = own.iter().map(|(_, child)| essence(child));
    Ok(Outcome::AsPlanned(essences.collect()))
}

/// Whether it is; `false` if the server refuses what is planned.
async fn is_as_planned<S: Subject>(
    user: &User,
    child: &Child,
    found: Option<&Value>,
) -> Result<bool, String> {
    let what = format!("{} {}", child.kind.kind, child.name);
    let (body, found) = match (&child.body, found) {
        (None, None) => return Ok(true),
        (None, Some(_)) => return Err(format!("{what} is still there")),
        (Some(body), found) => (body, found),
    };
    let mut object = without_nulls(body);
    object["apiVersion"] = child.kind.api_version.into();
    object["kind"] = child.kind.kind.into();
    object["metadata"]["name"] = child.name.as_str().into();
    let all = user.path(child.kind.plural, "");
    let one = user.path(child.kind.plural, &child.name);
    let (method, path, content_type, body) = match (found, S::WRITES) {
        (None, _) => (Method::POST, format!("{all}?dryRun=All"), JSON, object),
        (Some(_), Writes::Patch) => {
            let path = format!("{one}?dryRun=All");
            (Method::PATCH, path, MERGE, body.clone())
        }
        (Some(_), Writes::Apply) => {
            let path = format!("{one}?dryRun=All&fieldManager=oracle&force=true");
            (Method::PATCH, path, APPLY, object)
        }
    };
    let tried = match user.request(method, &path, content_type, &body).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => return Ok(false),
        Err(error) => return Err(format!("a dry run of {what} fails: {error}")),
        Ok(tried) => tried,
    };
    let Some(found) = found else {
        return Err(format!("{what} is missing"));
    };
    let metadata = &found["metadata"];
    match comparable(&tried) == comparable(found) {
        true if child.kind.status.contains(&"/observedGeneration")
            && found["status"]["observedGeneration"] != metadata["generation"] =>
        {
            Err(format!("{what} is not ready yet"))
        }
        true => Ok(true),
        false => Err(format!(
            "{what} differs from its plan {body}: it is {found}"
        )),
    }
}

fn check_status<S: Subject>(owner: &Value, planned: Status<S>) -> Result<(), String> {
    if !Status::<S>::WRITTEN {
        return Ok(());
    }
    let planned = serde_json::to_value(planned).map_err(|error| error.to_string())?;
    let (planned, found) = (timeless(&planned), timeless(&owner["status"]));
    match planned == found {
        true => Ok(()),
        false => Err(format!(
            "its status differs from the planned one, {planned}"
        )),
    }
}

fn meta(owner: &Value) -> Option<Meta> {
    let metadata = &owner["metadata"];
    Some(Meta {
        name: metadata["name"].as_str()?.into(),
        namespace: metadata["namespace"].as_str()?.into(),
        uid: Uid::parse(metadata["uid"].as_str()?)?,
        generation: metadata["generation"].as_i64()?,
        deleting: !metadata["deletionTimestamp"].is_null(),
        ..Meta::default()
    })
}

/// What a plan sees of a child.
fn progress(kind: &Kind, child: &Value) -> ChildState {
    if !kind.has_status() {
        return ChildState::default();
    }
    let status = &child["status"];
    let count = |field: &str| {
        let count = status[field].as_i64().unwrap_or_default();
        i32::try_from(count).unwrap_or(i32::MAX)
    };
    let conditions = status["conditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    let has = |type_: &str, status: &str| {
        let mut conditions = conditions.clone();
        conditions.any(|one| one["type"] == type_ && one["status"] == status)
    };
    ChildState {
        generation: child["metadata"]["generation"].as_i64().unwrap_or_default(),
        observed_generation: status["observedGeneration"].as_i64().unwrap_or_default(),
        replicas: count("replicas"),
        updated_replicas: count("updatedReplicas"),
        ready_replicas: count("readyReplicas"),
        available_replicas: count("availableReplicas"),
        stalled: has("Progressing", "False"),
        refused: has("ReplicaFailure", "True"),
        ..ChildState::default()
    }
}

/// Without what a write changes by itself.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["managedFields", "resourceVersion"] {
        object["metadata"][field] = Value::Null;
    }
    for field in ["apiVersion", "kind"] {
        object[field] = Value::Null;
    }
    without_nulls(&object)
}

/// Without what differs from server to server and from run to run.
fn essence(object: &Value) -> Value {
    let mut essence = timeless(object);
    let metadata = &object["metadata"];
    let [name, labels, finalizers] =
        ["name", "labels", "finalizers"].map(|field| metadata[field].clone());
    essence["metadata"] = json!({ "name": name, "labels": labels, "finalizers": finalizers });
    // How many changes were made on the way is a matter of time.
    if let Some(observed) = essence.pointer_mut("/status/observedGeneration") {
        *observed = (*observed == metadata["generation"]).into();
    }
    let conditions = essence
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        condition["observedGeneration"] = Value::Null;
    }
    if let Some(Value::Object(spec)) = essence.get_mut("spec") {
        for field in ["clusterIP", "clusterIPs"] {
            let is_headless = spec
                .get(field)
                .is_some_and(|ip| ip.to_string().contains("None"));
            spec.retain(|key, _| key != field || is_headless);
        }
    }
    // Where no plan sets it, it follows from the first image that was written, and which one that was is a matter of
    // time. That a planned one is there is the server's word (`is_as_planned`).
    let containers = essence
        .pointer_mut("/spec/template/spec/containers")
        .and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        container["imagePullPolicy"] = Value::Null;
    }
    essence["apiVersion"] = Value::Null;
    without_nulls(&essence)
}

/// Without nulls and the times of conditions.
fn timeless(object: &Value) -> Value {
    let mut object = object.clone();
    let at = ["/conditions", "/status/conditions"];
    let at = at.into_iter().find(|at| object.pointer(at).is_some());
    let conditions = at.and_then(|at| object.pointer_mut(at)?.as_array_mut());
    for condition in conditions.into_iter().flatten() {
        for time in ["lastTransitionTime", "lastUpdateTime"] {
            condition[time] = Value::Null;
        }
    }
    without_nulls(&object)
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(key, value)| (key.clone(), without_nulls(value)));
            Value::Object(kept.collect())
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
