//! The steps of a conformance scenario: what each does, one act after the other.
//!
//! Guarantees: a step ends with its first act that fails. Leaves to others: requests and waiting (`checked`), and
//! what is expected (`spec::workload::conformance`).

use std::collections::HashMap;

use http::Method;
use serde_json::Value;

use crate::engine::conformance::checked::Checked;
use crate::engine::conformance::failure;
use crate::record::conformance::{Failure, Stepped};
use crate::spec::workload::conformance::ConformanceScenario;
use crate::spec::workload::conformance::expectation::{Check, Mismatch, unchanged};
use crate::spec::workload::conformance::format::{Act, StepFile};

/// A kind and a name.
type Key = (String, String);

/// What the acts of a step know of those before them.
#[derive(Default)]
struct Before {
    remembered: HashMap<Key, Value>,
    /// Their uids.
    deleted: HashMap<Key, Value>,
}

/// Takes one step.
pub async fn run(step: &StepFile, checked: &mut Checked<'_>) -> Stepped {
    let mut before = Before::default();
    for act in &step.acts {
        run_act(act, step, checked, &mut before).await?;
    }
    Ok(())
}

async fn run_act(
    act: &Act,
    step: &StepFile,
    checked: &mut Checked<'_>,
    before: &mut Before,
) -> Stepped {
    let (scenario, deviates) = (checked.scenario, checked.deviates);
    let kind = act.kind().unwrap_or(&scenario.resource.kind);
    let name = act.name().unwrap_or(&step.name);
    let key = || (kind.to_owned(), name.to_owned());
    match act {
        Act::Create { .. } => checked.create(kind, &scenario.named(name)).await.map(drop),
        Act::CreateOther { file, .. } => {
            let other = scenario.other(file, name);
            checked.create(kind, &other).await.map(drop)
        }
        Act::Settle { .. } => settle(checked, name).await,
        Act::Patch { patch, .. } => checked.change(kind, name, patch).await.map(drop),
        Act::Delete { .. } => {
            let old = checked.get(kind, name).await?.unwrap_or_default();
            before.deleted.insert(key(), old["metadata"]["uid"].clone());
            checked.delete(kind, name).await
        }
        Act::Await { expect, .. } => {
            let owner = checked.owner(kind, name).await?;
            let is = |object: &Value| met(scenario, deviates, expect, object, &owner);
            checked.until(kind, name, is).await.map(drop)
        }
        Act::AwaitAnother { expect, .. } => {
            let owner = checked.owner(kind, name).await?;
            let deleted = before.deleted.get(&key()).cloned().unwrap_or_default();
            let is = |object: &Value| {
                if object["metadata"]["uid"] == deleted {
                    return Err(Mismatch {
                        expected: "a new one in place of the deleted".into(),
                        seen: "the deleted one".into(),
                    });
                }
                met(scenario, deviates, expect, object, &owner)
            };
            checked.until(kind, name, is).await.map(drop)
        }
        Act::Check { expect, .. } => {
            let owner = checked.owner(kind, name).await?;
            check(checked, kind, name, expect, &owner, "at once").await
        }
        Act::RefusePatch { patch, .. } => checked.refuse(Method::PATCH, kind, name, patch).await,
        Act::RefuseCreate { patch, .. } => {
            let mut bad = scenario.named(name);
            json_patch::merge(&mut bad, patch);
            checked.refuse(Method::POST, kind, name, &bad).await
        }
        Act::Remember { .. } => {
            let object = checked.get(kind, name).await?;
            let object = object.ok_or_else(|| {
                failure(&checked.called(kind, name), "to be there", "no such object")
            })?;
            before.remembered.insert(key(), object);
            Ok(())
        }
        Act::Unchanged { .. } => {
            let remembered = before.remembered.get(&key()).cloned().unwrap_or_default();
            let is = |object: &Value| unchanged(object, &remembered);
            checked.until(kind, name, is).await.map(drop)
        }
        Act::Gone { .. } => checked.until_gone(kind, name).await,
        Act::GoneAtOnce { rule, .. } if checked.deviates(rule.as_deref()) => {
            checked.until_gone(kind, name).await
        }
        Act::GoneAtOnce { .. } => checked.expect_gone(kind, name).await,
        Act::EndSubject {} => checked.stop_subject().await,
        Act::StartSubject {} => checked.start_subject().await,
    }
}

/// Waits until the object is settled; its children have to be as expected at that moment.
async fn settle(checked: &mut Checked<'_>, name: &str) -> Result<(), Failure> {
    let (scenario, deviates) = (checked.scenario, checked.deviates);
    let own = &scenario.resource.kind;
    let is_own = |kind: &Option<String>| kind.as_ref().is_none_or(|kind| kind == own);
    let (of_object, of_children): (Vec<_>, Vec<_>) =
        scenario.settled.iter().partition(|it| is_own(&it.kind));
    let is = |object: &Value| {
        let mut all = of_object.iter();
        all.try_for_each(|it| met(scenario, deviates, &it.expect, object, object))
    };
    let owner = checked.until(own, name, is).await?;
    for child in of_children {
        let kind = child.kind.as_deref().unwrap_or(own);
        let when = format!("while the {own} is settled");
        check(checked, kind, name, &child.expect, &owner, &when).await?;
    }
    Ok(())
}

/// Compares without waiting; `when` ends the sentence of a failure.
async fn check(
    checked: &Checked<'_>,
    kind: &str,
    name: &str,
    expect: &[String],
    owner: &Value,
    when: &str,
) -> Stepped {
    let called = checked.called(kind, name);
    let object = checked.get(kind, name).await?;
    let object =
        object.ok_or_else(|| failure(&called, &format!("to be there {when}"), "no such object"))?;
    met(checked.scenario, checked.deviates, expect, &object, owner).map_err(|mismatch| Failure {
        object: called,
        expected: format!("{} {when}", mismatch.expected),
        seen: mismatch.seen,
    })
}

fn met(
    scenario: &ConformanceScenario,
    deviates: &[String],
    expect: &[String],
    object: &Value,
    owner: &Value,
) -> Check {
    // The object itself has no owner.
    let owner = if owner.is_null() { object } else { owner };
    let mut all = scenario.expectations(expect, deviates);
    all.try_for_each(|expectation| expectation.check(object, owner))
}
