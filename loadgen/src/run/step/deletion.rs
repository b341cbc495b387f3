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
use crate::run::session::{Reason, Session};
use crate::run::step::create::offer;

/// Between two looks at the children.
const POLL: Duration = Duration::from_millis(200);
/// Children of EdgeApps; a namespace of a bench holds nothing else.
const CHILDREN: [(&str, &str); 2] = [("/apis/apps/v1", "deployments"), ("/api/v1", "services")];

/// CPU time spent so far.
struct Spent {
    cpu_s: Option<f64>,
    api_server_cpu_s: Option<f64>,
    controllers_cpu_s: Option<f64>,
}

impl Spent {
    fn now(session: &Session<'_>) -> Self {
        Self {
            cpu_s: tare_procstat::cpu_seconds(session.running.process.pid()).ok(),
            api_server_cpu_s: session.server.cpu_s(),
            controllers_cpu_s: session.server.controllers_cpu_s(),
        }
    }
}

pub async fn run(session: &mut Session<'_>) -> Result<(), Reason> {
    session.work().await;
    let (started, before) = (Instant::now(), Spent::now(session));
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
    let after = Spent::now(session);
    let spent = |of: fn(&Spent) -> Option<f64>| Some(of(&after)? - of(&before)?);
    session.run.deletion = Some(Deletion {
        gone_s: started.elapsed().as_secs_f64(),
        cpu_s: spent(|s| s.cpu_s),
        api_server_cpu_s: spent(|s| s.api_server_cpu_s),
        controllers_cpu_s: spent(|s| s.controllers_cpu_s),
    });
    Ok(())
}

/// Whether no child is left but those of the canary, which stays.
async fn children_gone(session: &Session<'_>) -> Result<bool, Reason> {
    let scenario = session.setting.scenario_of(session.subject);
    for (root, plural) in CHILDREN {
        let namespace = &scenario.resource.namespace;
        let collection = format!("{root}/namespaces/{namespace}/{plural}");
        let left = session.cluster.count(&collection, 2).await;
        if left.map_err(|error| error.to_string())? > 1 {
            return Ok(false);
        }
    }
    Ok(true)
}
