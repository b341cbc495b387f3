//! Every write of an owner's life, and a crash at it: not drawn but enumerated.
//!
//! Guarantees: the operator is killed before the write is sent, after it was executed, and after it was answered;
//! in each cache mode. As many children are made and deleted as in the calm run.

use serde_json::json;
use tare_runtime::cache::Mode;

use crate::capacity::Capacity;
use crate::run::run;
use crate::schedule::Schedule;
use crate::step::{Edit, Step, When};
use crate::subject::Subject;

const WHENS: [When; 3] = [When::Before, When::Committed, When::Answered];

/// A life: created, changed so that a child comes and one goes, edited by somebody else, deleted.
fn life(subject: Subject) -> Vec<Step> {
    let (first, second, edit, child) = match subject {
        Subject::EdgeApp => (
            json!({ "image": "web:1", "replicas": 2, "port": 8080, "headless": true }),
            json!({ "image": "web:2", "replicas": 2 }),
            Edit::Replicas,
            "deployments",
        ),
        Subject::WebApp => (
            json!({ "image": "web:1", "replicas": 3 }),
            json!({ "image": "web:2", "replicas": 2 }),
            Edit::Image,
            "deployments",
        ),
    };
    let owner = 0;
    let steps = [
        Step::Create {
            owner,
            spec: first.clone(),
        },
        Step::Change {
            owner,
            spec: second,
        },
        Step::Edit { owner, edit },
        Step::Change { owner, spec: first },
        Step::DeleteChild {
            owner,
            resource: child,
        },
        Step::Delete {
            owner,
            propagation: "Background",
        },
    ];
    let pass = || Step::Pass { ms: 20_000 };
    let with_pauses = steps.into_iter().flat_map(|step| [step, pass()]);
    std::iter::once(pass()).chain(with_pauses).collect()
}

fn schedule(subject: Subject, mode: Mode, crashes: &[(u8, When)]) -> Schedule {
    let crashes = crashes.iter().map(|&(writes, when)| Step::Crash {
        writes,
        when,
        down_ms: 0,
    });
    let steps = crashes.chain(life(subject)).enumerate().collect();
    Schedule {
        seed: 1,
        subject,
        mode,
        capacity: Capacity::Wide,
        ready_delay_ms: 1_000,
        never_ready: false,
        first_unshown: false,
        steps,
    }
}

/// Runs a life with each crash, or with each pair of them; returns how many, and what is wrong.
pub fn lives(subject: Subject, mode: Mode, in_pairs: bool) -> (usize, Vec<String>) {
    let calm = run(&schedule(subject, mode, &[]), false);
    let mut wrong = calm.violations;
    let most = u8::try_from(calm.writes).expect("a short life");
    let mut crashes: Vec<Vec<(u8, When)>> = Vec::new();
    for first in 0..most {
        for when in WHENS {
            if !in_pairs {
                crashes.push(vec![(first, when)]);
                continue;
            }
            // Writes are repeated after a crash: the second one counts from the first.
            for second in 0..most - first {
                crashes.extend(WHENS.map(|again| vec![(first, when), (second, again)]));
            }
        }
    }
    for crashes in &crashes {
        let report = run(&schedule(subject, mode, crashes), false);
        let at = || format!("{subject:?} {mode} killed at {crashes:?}");
        wrong.extend(
            report
                .violations
                .iter()
                .map(|one| format!("{}: {one}", at())),
        );
        if report.made_and_deleted != calm.made_and_deleted {
            wrong.push(format!(
                "{}: {:?} children made and deleted, in the calm run {:?}",
                at(),
                report.made_and_deleted,
                calm.made_and_deleted
            ));
        }
    }
    (crashes.len(), wrong)
}
