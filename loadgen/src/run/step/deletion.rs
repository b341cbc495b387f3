//! Deleting all objects, until their children are gone too.
//!
//! Guarantees: whoever deletes the children (the subject, or the garbage collector of
//! kube-controller-manager), the time and the CPU last until the last of them is gone. Leaves to
//! others: memory after a deletion (`step::delete`).

use std::time::{Duration, Instant};

use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::model::record::Deletion;
use crate::model::step::Step;
use crate::model::workload::child::COLLECTIONS;
use crate::run::cpu_trace::CpuTrace;
use crate::run::session::{Reason, Session};
use crate::run::step::create::offer;

/// Between two looks at the children.
const POLL: Duration = Duration::from_millis(200);
pub async fn run(session: &mut Session<'_>) -> Result<(), Reason> {
    session.work().await;
    let started = Instant::now();
    let mut trace = CpuTrace::new(session.cpu_sample());
    let gone = offer(
        session,
        Act::Delete,
        Pace::Burst,
        Step::Deletion.name(),
        |t| t.all(|p| p.gone),
    );
    if !gone.await? {
        return Err("not every object was gone after its deletion".into());
    }
    let deadline = session.setting.timeout(session.cell.objects, Pace::Burst);
    session.say("waiting for the garbage collector");
    while !children_gone(session).await? {
        session.check_alive()?;
        if started.elapsed() > deadline.deadline {
            let s = deadline.deadline.as_secs();
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

/// Whether no child is left but those of the canary, which stays.
async fn children_gone(session: &Session<'_>) -> Result<bool, Reason> {
    let scenario = session.setting.scenario_of(session.subject);
    for (root, plural) in COLLECTIONS {
        let namespace = &scenario.resource.namespace;
        let collection = format!("{root}/namespaces/{namespace}/{plural}");
        let left = session.cluster.count(&collection, 2).await;
        if left.map_err(|error| error.to_string())? > 1 {
            return Ok(false);
        }
    }
    Ok(true)
}
