//! Deleting all objects, until their children are gone too.
//!
//! Guarantees: whoever deletes the children (the subject, or the garbage collector of
//! kube-controller-manager), the time and the CPU last until the last of them is gone. Leaves to
//! others: memory after a deletion (`step::settle`).

use std::time::{Duration, Instant};

use crate::engine::cpu_trace::CpuTrace;
use crate::engine::session::{Reason, Session};
use crate::engine::step::on_objects;
use crate::record::Deletion;
use crate::spec::step::Step;
use crate::spec::workload::{ChildKind, FoundBy, Scenario, label_selector};
use crate::target::cluster::Meta;

/// Between two looks at the children.
const POLL: Duration = Duration::from_millis(200);

pub async fn run(session: &mut Session<'_>, step: &Step) -> Result<(), Reason> {
    session.work().await;
    let started = Instant::now();
    let mut trace = CpuTrace::new(session.cpu_sample());
    on_objects(session, step).await?;
    let within = session.load.patience();
    session.load.say("waiting until their children are gone");
    while !children_gone(session).await? {
        session.check_alive()?;
        if started.elapsed() > within {
            let s = within.as_secs();
            return Err(format!("children were left {s} s after the deletion began"));
        }
        tokio::time::sleep(POLL).await;
    }
    let gone_s = started.elapsed().as_secs_f64();
    let last = session.cpu_sample();
    trace.add(last);
    let spent = trace.until(last.at_ns);
    session.run.deletion = Some(Deletion {
        gone_s,
        cpu_s: spent.cpu_s,
        api_server_cpu_s: spent.server_cpu_s,
        controllers_cpu_s: spent.controllers_cpu_s,
    });
    Ok(())
}

/// Whether no child is left but those of the canaries, which stay.
async fn children_gone(session: &Session<'_>) -> Result<bool, Reason> {
    let scenario = &session.load.scenario;
    let canaries = session.load.journal.timeline().canaries();
    for kind in &scenario.children {
        let of_canaries = kind.per_object * canaries;
        if left(session, kind, scenario, of_canaries + 1).await? > of_canaries {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Children of a kind, counted until there are this many.
async fn left(
    session: &Session<'_>,
    kind: &ChildKind,
    scenario: &Scenario,
    most: usize,
) -> Result<usize, Reason> {
    let collection = kind.path(&scenario.resource.namespace);
    let cluster = &session.load.cluster;
    let left = match &kind.found_by {
        FoundBy::Namespace => cluster.count(&collection, "", most).await,
        FoundBy::Label(label) => {
            let selector = label_selector(label);
            cluster.count(&collection, &selector, most).await
        }
        FoundBy::Owner => {
            let ours = |kind: &str| scenario.parts().any(|part| part.resource.kind == kind);
            let is_owned = |meta: &Meta| meta.owner_references.iter().any(|o| ours(&o.kind));
            cluster.count_those(&collection, is_owned, most).await
        }
        FoundBy::Name(part) => {
            let is_named = |meta: &Meta| meta.name.contains(part.as_str());
            cluster.count_those(&collection, is_named, most).await
        }
    };
    left.map_err(|error| error.to_string())
}
