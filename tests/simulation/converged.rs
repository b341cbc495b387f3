//! The oracle of the end: children equal the plan of their owner, the status equals the plan, and there is nothing
//! else.
//!
//! Guarantees: it compares objects of the server with what the operator's own plan says, without the runtime.
//! Leaves to others: what a plan wants and how it differs (`planned`), how long it may take (`run`).

use std::collections::HashMap;

use kubesim::Server;
use serde_json::Value;
use tare_runtime::api::Kind;

use crate::planned::{Wanted, controller};
use crate::subject::Subject;
use crate::writes::labelled_owner;

/// Children by plural and name.
type Found = HashMap<(&'static str, String), Value>;

/// What differs from the plan; nothing where everything is as planned.
///
/// # Errors
/// The first difference.
pub fn check(server: &Server, subject: Subject) -> Result<(), String> {
    let mut found = Found::new();
    for kind in subject.kinds() {
        let objects = server.objects(kind.plural).into_iter();
        found.extend(objects.map(|object| ((kind.plural, name(&object).to_owned()), object)));
    }
    let mut wanted = HashMap::new();
    let mut owners = Vec::new();
    for owner in server.objects(subject.plural()) {
        let one = check_owner(&found, subject, &owner);
        let one = one.map_err(|error| format!("{}: {error}", name(&owner)))?;
        wanted.insert(uid(&owner).to_owned(), one);
        owners.push(name(&owner).to_owned());
    }
    let mut all: Vec<_> = found.iter().collect();
    // A run that is repeated tells the same difference.
    all.sort_unstable_by_key(|(key, _)| *key);
    for ((plural, name), child) in all {
        let what = || format!("{plural} {name}");
        let Some(reference) = controller(child) else {
            // One that its owner plans is missed with that owner. Another one is nobody's.
            match labelled_owner(child) {
                Some(owner) if owners.iter().any(|name| name == owner) => continue,
                _ => return Err(format!("{} has no owner", what())),
            }
        };
        let owner = reference["uid"].as_str().unwrap_or_default();
        let Some(wanted) = wanted.get(owner) else {
            return Err(format!("{} is left of an owner that is gone", what()));
        };
        let mut kinds = subject.kinds().iter();
        let kind = kinds.find(|kind| kind.plural == *plural);
        if !kind.is_some_and(|kind| wanted.plans(kind, name)) {
            return Err(format!("{} is not planned", what()));
        }
    }
    Ok(())
}

fn check_owner(found: &Found, subject: Subject, owner: &Value) -> Result<Wanted, String> {
    if owner["metadata"]["deletionTimestamp"].is_string() {
        return Err("it is still being deleted".to_owned());
    }
    if let Some(finalizer) = subject.finalizer() {
        let all = owner["metadata"]["finalizers"].as_array();
        if !all.is_some_and(|all| all.iter().any(|one| one == finalizer)) {
            return Err("it has no finalizer".to_owned());
        }
    }
    let own = |kind: &Kind, name: &str| {
        let child = found.get(&(kind.plural, name.to_owned()))?;
        let is_own = controller(child).is_some_and(|one| one["uid"] == uid(owner));
        is_own.then(|| child.clone())
    };
    let wanted = subject.wanted(owner, own);
    match wanted.check(owner, own) {
        Ok(()) => Ok(wanted),
        Err(difference) => Err(difference.text),
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}
