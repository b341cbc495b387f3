//! What should exist for an owner by its operator's own plan, and what of it is not there.
//!
//! Guarantees: computed from objects of a server and the author's plan, without the runtime. A field that the plan does
//! not name is nobody's concern here, but for keys of a selector, which is the plan's as a whole.
//! Leaves to others: where the objects come from, and children of owners that are gone.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tare_runtime::api::{Child, Children, Kind, Operator, Owner, Plan, Spec, Status};
use tare_runtime::model::{ChildState, Meta};

/// What should exist for an owner.
pub struct Wanted {
    pub children: Vec<Child>,
    pub status: Value,
}

/// The first thing that is not as planned.
#[allow(dead_code)] // the simulation tells the text alone
#[derive(Debug)]
pub struct Difference {
    /// The plural of a child's kind, or `status`.
    pub of: &'static str,
    pub text: String,
}

/// What should exist for `owner`; `child` finds the children that are there and are its own.
pub fn wanted<O: Operator>(
    operator: &O,
    owner: &Value,
    child: impl Fn(&Kind, &str) -> Option<Value>,
) -> Wanted
where
    Spec<O>: DeserializeOwned,
    Status<O>: Serialize,
{
    let text = |pointer: &str| owner.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    let number = |pointer: &str| owner.pointer(pointer).and_then(Value::as_i64);
    let meta = Meta {
        name: text("/metadata/name").into(),
        namespace: text("/metadata/namespace").into(),
        generation: number("/metadata/generation").unwrap_or_default(),
        observed_generation: number("/status/observedGeneration"),
        ..Meta::default()
    };
    let owner = Owner::<O>::new(
        meta,
        serde_json::from_value(owner["spec"].clone()).expect("a valid spec"),
    );
    let plan = |children: &Children| operator.plan(&owner, children).expect("a plan");
    let mut seen = Children::default();
    for planned in plan(&Children::default()).children {
        if let Some(object) = child(&planned.kind, &planned.name) {
            let state = state(&object, planned.kind.has_status());
            seen.record(&planned.kind, &planned.name, state);
        }
    }
    let Plan {
        mut children,
        status,
        ..
    } = plan(&seen);
    for body in children.iter_mut().filter_map(|child| child.body.as_mut()) {
        body["metadata"]["labels"][&*O::owner_label()] = (&*owner.meta.name).into();
    }
    Wanted {
        children,
        status: serde_json::to_value(status).expect("a status is JSON"),
    }
}

impl Wanted {
    /// Whether children and status of `owner` are so; `child` finds the children that are there and are its own.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(
        &self,
        owner: &Value,
        child: impl Fn(&Kind, &str) -> Option<Value>,
    ) -> Result<(), Difference> {
        for planned in &self.children {
            let of = planned.kind.plural;
            let what = format!("{of} {}", planned.name);
            let found = child(&planned.kind, &planned.name);
            check_child(planned, found, &what).map_err(|text| Difference { of, text })?;
        }
        check_status(&owner["status"], &self.status)
            .map_err(|text| Difference { of: "status", text })
    }

    /// Whether an object of this kind and name is planned.
    pub fn plans(&self, kind: &Kind, name: &str) -> bool {
        self.children
            .iter()
            .any(|one| one.body.is_some() && one.kind.plural == kind.plural && *one.name == *name)
    }
}

/// The reference to the controller of an object.
pub fn controller(object: &Value) -> Option<&Value> {
    let references = object["metadata"]["ownerReferences"].as_array()?;
    references.iter().find(|one| one["controller"] == true)
}

fn check_child(planned: &Child, found: Option<Value>, what: &str) -> Result<(), String> {
    match (&planned.body, found) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(format!("{what} should be absent")),
        (Some(_), None) => Err(format!("{what} is missing")),
        (Some(body), Some(found)) => {
            covers(body, &found, what)?;
            let selector = &body["spec"]["selector"];
            match selector.is_object() && *selector != found["spec"]["selector"] {
                true => Err(format!("{what}: selector is {}", found["spec"]["selector"])),
                false => Ok(()),
            }
        }
    }
}

/// Both are equal, but for times. Conditions are told where nothing else differs.
fn check_status(found: &Value, wanted: &Value) -> Result<(), String> {
    let (found, wanted) = (timeless(found), timeless(wanted));
    if found == wanted {
        return Ok(());
    }
    let fields = [&found, &wanted].map(|status| status.as_object().into_iter().flatten());
    let fields: BTreeSet<&String> = fields.into_iter().flatten().map(|(key, _)| key).collect();
    let mut differ: Vec<&str> = fields.into_iter().map(String::as_str).collect();
    differ.retain(|key| found[*key] != wanted[*key]);
    if differ.len() > 1 {
        differ.retain(|key| *key != "conditions");
    }
    let told = differ.iter().map(|key| {
        let (found, wanted) = (&found[*key], &wanted[*key]);
        format!("status/{key} is {found} and should be {wanted}")
    });
    Err(told.collect::<Vec<_>>().join(", "))
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

/// A child's progress, from its object.
fn state(object: &Value, has_status: bool) -> ChildState {
    let status = |field: &str| match has_status {
        true => object["status"][field].as_i64().unwrap_or_default(),
        false => 0,
    };
    let count = |field: &str| i32::try_from(status(field)).unwrap_or(i32::MAX);
    ChildState {
        generation: object["metadata"]["generation"]
            .as_i64()
            .unwrap_or_default(),
        observed_generation: status("observedGeneration"),
        replicas: count("replicas"),
        updated_replicas: count("updatedReplicas"),
        ready_replicas: count("readyReplicas"),
        available_replicas: count("availableReplicas"),
        ..ChildState::default()
    }
}
