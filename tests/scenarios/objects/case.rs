//! One case: a sequence of operations, an operator, and what must follow.
//!
//! Guarantees: the same steps on a simulated and on a real server.
//! Leaves to others: which sequences (`operation`), how they are found and made smaller (`simulated`).

use std::time::Duration;

use proptest::test_runner::TestCaseError;
use tare_runtime::controller::Config;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::cluster::simulated::{Running, config};
use crate::objects::operation::{Answer, Hand, Operation};
use crate::objects::oracle::{self, State};
use crate::objects::subject::Subject;

/// An operator that has written nothing for so long has finished, also on a server that is slow.
const SETTLED: Duration = Duration::from_secs(3);
/// On the simulated server. The real garbage collector needs 30 s to discover a new kind.
const CONVERGES_WITHIN: Duration = Duration::from_secs(60);
/// Later than everything but the relist.
const RELIST_PERIOD: Duration = Duration::from_secs(3_600);
/// A tenth is the jitter of the period.
const UNTIL_RELIST: Duration = Duration::from_secs(4_000);

/// How a case ended.
pub struct Ended {
    pub answers: Vec<Answer>,
    pub state: State,
}

/// Works through the sequence while an operator runs, and checks what follows.
pub async fn run<S: Subject>(
    cluster: &Cluster,
    operations: &[Operation],
) -> Result<Ended, TestCaseError> {
    let ended = try_run::<S>(cluster, operations).await;
    ended.map_err(TestCaseError::fail)
}

async fn try_run<S: Subject>(cluster: &Cluster, operations: &[Operation]) -> Result<Ended, String> {
    let operator = start::<S>(cluster).await;
    let mut hand = Hand::of::<S>(cluster);
    if cluster.as_simulated().is_none() {
        hand.longest_wait = Duration::from_millis(20);
    }
    hand.run(operations).await?;
    let state = until_as_planned::<S>(cluster).await?;
    // What the server refuses is tried again for ever, and can be deleted.
    for name in &state.refused {
        cluster.delete(&S::resource(), name).await;
    }
    let left = until_as_planned::<S>(cluster).await?;
    if !left.refused.is_empty() {
        return Err(format!("not deleted: {:?}", left.refused));
    }
    check_metrics(&operator)?;
    check_that_nothing_is_written::<S>(cluster, operator).await?;
    Ok(Ended {
        answers: hand.answers,
        state,
    })
}

/// An operator in this process, on either kind of cluster.
async fn start<S: Subject>(cluster: &Cluster) -> Running {
    let client = match cluster.as_simulated() {
        Some(simulated) => simulated.server.client("tare"),
        None => cluster.client.clone(),
    };
    let config = Config {
        namespaces: vec![cluster.namespace.clone()],
        resync: Some(RELIST_PERIOD),
        ..config()
    };
    let running = Running::start(S::operator(), cluster.mode, cluster.timeout, client, config);
    running.until_ready().await;
    running
}

async fn until_as_planned<S: Subject>(cluster: &Cluster) -> Result<State, String> {
    let deadline = Instant::now() + CONVERGES_WITHIN.max(cluster.timeout);
    loop {
        sleep(SETTLED).await;
        match oracle::check::<S>(cluster).await {
            Err(why) if Instant::now() > deadline => return Err(why),
            Err(_) => {}
            ended => return ended,
        }
    }
}

/// No object was unreadable, and nothing failed without a cause.
fn check_metrics(operator: &Running) -> Result<(), String> {
    if !operator.is_alive() {
        return Err("the operator ended".to_owned());
    }
    let metrics = operator.rendered_metrics();
    let is_amiss = |line: &&str| {
        let value = line.rsplit(' ').next();
        let counts = [
            "undecodable_total ",
            "dropped_events_total ",
            "reason=\"Panic\"",
            "reason=\"Undecodable\"",
            "reason=\"Collision\"",
        ];
        !line.starts_with('#')
            && value.is_some_and(|value| value != "0")
            && counts.iter().any(|count| line.contains(count))
    };
    match metrics.lines().find(is_amiss) {
        Some(line) => Err(format!("the operator counts {line}")),
        None => Ok(()),
    }
}

/// Neither with a relist, nor when another operator starts.
async fn check_that_nothing_is_written<S: Subject>(
    cluster: &Cluster,
    operator: Running,
) -> Result<(), String> {
    let before = oracle::revisions::<S>(cluster).await;
    if let Some(simulated) = cluster.as_simulated() {
        let writes = simulated.writes();
        sleep(UNTIL_RELIST).await;
        let written = simulated.writes() - writes;
        if written > 0 {
            return Err(format!("{written} writes after all was as planned"));
        }
    }
    operator.stop().await;
    let operator = start::<S>(cluster).await;
    sleep(SETTLED).await;
    check_metrics(&operator)?;
    operator.stop().await;
    let after = oracle::revisions::<S>(cluster).await;
    match before == after {
        true => Ok(()),
        false => Err(format!("a start has changed {before:?} to {after:?}")),
    }
}
