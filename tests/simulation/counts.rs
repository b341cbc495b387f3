//! The oracle of counts: faults add no CREATE and no DELETE of a child. The calm run of a schedule has its steps of users
//! and none of its faults; where no step or fault can add such writes, both make and delete as many children.
//!
//! Guarantees: it says nothing of a schedule with a step outside that set. In the set are
//!
//! - time that passes, owners that are created, and changes of a spec by which no child leaves the plan or has to be made
//!   again (a Service whose `clusterIP` comes or goes): what a fault delays is then made later, and once;
//! - edits of a child, which are set back by patches, pods that fail for a while and the end of all readiness;
//! - every fault of requests, events, watches, history and processes: a CREATE that is repeated makes nothing.
//!
//! Outside are a second replica (one that has an older spec deletes a child of a newer one), the deletion of an owner or a
//! child (whether a child is there depends on what was done before), what others take or occupy (it is made anew once it is
//! free), a child without its owners (with an edited label it is nobody's), a restore and a removed CRD (objects are lost),
//! and changes by which a child goes (work that is late skips a child that came and went).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::run::{Report, run};
use crate::schedule::Schedule;
use crate::step::{Edit, Step};
use crate::subject::{NAMESPACE, Subject};
use crate::world::name;

/// Runs a schedule, and its calm run where both have to make and delete as many children.
pub fn run_and_count(schedule: &Schedule, traced: bool) -> Report {
    let mut report = run(schedule, traced);
    let calm = schedule.only(&users(schedule));
    if steady(schedule).len() < schedule.steps.len() || calm.steps.len() == schedule.steps.len() {
        return report;
    }
    let expected = run(&calm, false).made_and_deleted;
    if report.made_and_deleted != expected {
        report.violations.push(format!(
            "{:?} children made and deleted, in the calm run {expected:?}",
            report.made_and_deleted
        ));
    }
    report
}

/// The numbers of the steps that are in the set.
pub fn steady(schedule: &Schedule) -> Vec<usize> {
    let mut plans: BTreeMap<u16, Children> = BTreeMap::new();
    let mut is_steady = |step: &Step| match step {
        Step::Create { owner, spec } => {
            // One that is there stays as it is.
            let plan = || children(schedule.subject, *owner, spec);
            plans.entry(*owner).or_insert_with(plan);
            true
        }
        Step::CreateMany { first, count, spec } => {
            for owner in *first..*first + *count {
                let plan = || children(schedule.subject, owner, spec);
                plans.entry(owner).or_insert_with(plan);
            }
            true
        }
        Step::Change { owner, spec } => {
            let Some(plan) = plans.get_mut(owner) else {
                return true;
            };
            let next = children(schedule.subject, *owner, spec);
            let stays = plan.iter().all(|(child, of)| next.get(child) == Some(of));
            if stays {
                *plan = next;
            }
            stays
        }
        Step::Delete { .. }
        | Step::Recreate { .. }
        | Step::DeleteChild { .. }
        | Step::MakeAgain { .. }
        | Step::TakeOver { .. }
        | Step::Occupy { .. }
        | Step::Restore
        | Step::RemoveCrd { .. }
        | Step::Edit {
            edit: Edit::Owners, ..
        }
        | Step::SecondStarts => false,
        Step::Pass { .. }
        | Step::FailPods { .. }
        | Step::StopReadiness
        | Step::Edit { .. }
        | Step::EditAfterWrite { .. }
        | Step::Vacate
        | Step::Request { .. }
        | Step::Event { .. }
        | Step::FailCleanups { .. }
        | Step::CloseWatches
        | Step::Compact
        | Step::Backup
        | Step::Outage { .. }
        | Step::Suspend { .. }
        | Step::Kill { .. }
        | Step::Crash { .. }
        | Step::SecondEnds => true,
    };
    let steps = schedule.steps.iter();
    let kept = steps.filter(|(_, step)| is_steady(step));
    kept.map(|(number, _)| *number).collect()
}

/// The numbers of the steps that are no fault.
fn users(schedule: &Schedule) -> Vec<usize> {
    let is_users = |step: &Step| {
        matches!(
            step,
            Step::Pass { .. }
                | Step::Create { .. }
                | Step::CreateMany { .. }
                | Step::FailPods { .. }
                | Step::StopReadiness
                | Step::Change { .. }
                | Step::Edit { .. }
                | Step::EditAfterWrite { .. }
        )
    };
    let steps = schedule.steps.iter();
    let kept = steps.filter(|(_, step)| is_users(step));
    kept.map(|(number, _)| *number).collect()
}

/// Planned children by plural and name, each with the field for which it has to be made again.
type Children = BTreeMap<(&'static str, String), Value>;

fn children(subject: Subject, owner: u16, spec: &Value) -> Children {
    let owner = json!({
        "metadata": { "name": name(owner), "namespace": NAMESPACE, "generation": 1 }, "spec": spec,
    });
    let planned = subject.wanted(&owner, |_, _| None).children.into_iter();
    let there = planned.filter_map(|child| {
        let body = child.body?;
        let key = (child.kind.plural, child.name.to_string());
        Some((key, body["spec"]["clusterIP"].clone()))
    });
    there.collect()
}
