//! The oracle of the end: children equal the plan of their owner, the status equals the plan, and there is nothing
//! else.
//!
//! Guarantees: it compares objects of the server with what the operator's own plan says, without the runtime.

use kubesim::Server;
use serde_json::Value;

use crate::subject::Subject;
use crate::writes::{controller, object};

/// What differs from the plan; nothing where everything is as planned.
///
/// # Errors
/// The first difference.
pub fn check(server: &Server, subject: Subject) -> Result<(), String> {
    let owners = server.objects(subject.plural());
    for owner in &owners {
        check_owner(server, subject, owner).map_err(|error| format!("{}: {error}", name(owner)))?;
    }
    for kind in subject.kinds() {
        for child in server.objects(kind.plural) {
            let what = || format!("{} {}", kind.plural, name(&child));
            let Some(reference) = controller(&child) else {
                return Err(format!("{} has no owner", what()));
            };
            let is_owner = |owner: &&Value| owner["metadata"]["uid"] == reference["uid"];
            let Some(owner) = owners.iter().find(is_owner) else {
                return Err(format!("{} is left of an owner that is gone", what()));
            };
            let wanted = subject.wanted(owner, |_, _| None);
            let is_planned = wanted.children.iter().any(|one| {
                one.body.is_some() && one.kind.plural == kind.plural && one.name == name(&child)
            });
            if !is_planned {
                return Err(format!("{} is not planned", what()));
            }
        }
    }
    Ok(())
}

fn check_owner(server: &Server, subject: Subject, owner: &Value) -> Result<(), String> {
    if owner["metadata"]["deletionTimestamp"].is_string() {
        return Err("it is still being deleted".to_owned());
    }
    if let Some(finalizer) = subject.finalizer() {
        let all = owner["metadata"]["finalizers"].as_array();
        if !all.is_some_and(|all| all.iter().any(|one| one == finalizer)) {
            return Err("it has no finalizer".to_owned());
        }
    }
    let ours = |child: &Value| {
        controller(child).is_some_and(|reference| reference["uid"] == owner["metadata"]["uid"])
    };
    let wanted = subject.wanted(owner, |kind, name| {
        object(server, kind.plural, name).filter(ours)
    });
    for child in &wanted.children {
        let what = format!("{} {}", child.kind.plural, child.name);
        let found = object(server, child.kind.plural, &child.name).filter(ours);
        match (&child.body, found) {
            (None, None) => {}
            (None, Some(_)) => return Err(format!("{what} should be absent")),
            (Some(_), None) => return Err(format!("{what} is missing")),
            (Some(body), Some(found)) => {
                covers(body, &found, &what)?;
                let selector = &body["spec"]["selector"];
                if selector.is_object() && *selector != found["spec"]["selector"] {
                    return Err(format!("{what}: selector is {}", found["spec"]["selector"]));
                }
            }
        }
    }
    let found = timeless(&owner["status"]);
    let wanted = timeless(&wanted.status);
    match found == wanted {
        true => Ok(()),
        false => Err(format!("status is {found} and should be {wanted}")),
    }
}

/// Everything that is planned is there. Zero values and `null` may be absent.
fn covers(planned: &Value, found: &Value, at: &str) -> Result<(), String> {
    match (planned, found) {
        (Value::Object(planned), _) => planned.iter().try_for_each(|(key, value)| {
            covers(value, &found[key.as_str()], &format!("{at}/{key}"))
        }),
        (Value::Array(planned), Value::Array(found)) if planned.len() == found.len() => {
            let pairs = planned.iter().zip(found);
            pairs
                .enumerate()
                .try_for_each(|(n, (planned, found))| covers(planned, found, &format!("{at}/{n}")))
        }
        (planned, found) if planned == found => Ok(()),
        (planned, Value::Null) if is_zero(planned) => Ok(()),
        (planned, found) => Err(format!("{at} is {found} and should be {planned}")),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.is_empty(),
    }
}

fn timeless(status: &Value) -> Value {
    let mut status = status.clone();
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        condition["lastTransitionTime"] = Value::Null;
    }
    status
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
