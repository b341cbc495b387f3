//! The restart of an operator in a cluster: its pods are deleted, and others come in their place.
//!
//! Guarantees: only the pods that were listed are deleted; it ends once as many new ones are ready, or in time.
//! Leaves to others: what they cost (`memory`).

use std::time::Duration;

use crate::spec::operator::OperatorName;
use crate::target::cluster::{Cluster, Error};
use crate::target::operator::pods;
use crate::target::operator::pods::{NotFound, Pod};

/// Between two lists of the pods.
const POLL: Duration = Duration::from_millis(500);

/// Why an operator was not restarted.
#[derive(Debug, thiserror::Error)]
pub enum NotRestarted {
    #[error(transparent)]
    NotFound(#[from] NotFound),
    #[error("pod {name} cannot be deleted: {}", source.words())]
    NotDeleted { name: String, source: Error },
    #[error("{operator}: {ready} of {of} new pods were ready within {} s", within.as_secs())]
    OutOfTime {
        operator: OperatorName,
        ready: usize,
        of: usize,
        within: Duration,
    },
}

/// How many pods were replaced.
///
/// # Errors
/// As the variants say.
pub async fn restart(
    cluster: &Cluster,
    operator: &OperatorName,
    selector: &str,
    within: Duration,
) -> Result<usize, NotRestarted> {
    let old = pods::list(cluster, operator, selector).await?;
    for pod in &old {
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}",
            operator.namespace, pod.name
        );
        let deleted = cluster.delete_this(&path, &pod.uid).await;
        deleted.map_err(|source| NotRestarted::NotDeleted {
            name: pod.name.clone(),
            source,
        })?;
    }
    let deadline = tokio::time::Instant::now() + within;
    loop {
        let now = match pods::list(cluster, operator, selector).await {
            // Between the old ones and the new ones.
            Err(NotFound::NoPod(_)) => Vec::new(),
            other => other?,
        };
        let ready = new_and_ready(&old, &now);
        if ready >= old.len() {
            return Ok(old.len());
        }
        if tokio::time::Instant::now() > deadline {
            return Err(NotRestarted::OutOfTime {
                operator: operator.clone(),
                ready,
                of: old.len(),
                within,
            });
        }
        tokio::time::sleep(POLL).await;
    }
}

fn new_and_ready(old: &[Pod], now: &[Pod]) -> usize {
    let is_new = |pod: &&Pod| old.iter().all(|it| it.uid != pod.uid);
    now.iter().filter(is_new).filter(|pod| pod.ready).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_pod_that_is_ready_takes_the_place_of_one() {
        let pod = |uid: &str, ready: bool| Pod {
            uid: uid.into(),
            ready,
            ..Pod::default()
        };
        let old = [pod("u1", true)];
        for (now, want) in [
            (vec![], 0),
            (vec![pod("u1", true)], 0),
            (vec![pod("u2", false)], 0),
            (vec![pod("u1", true), pod("u2", true)], 1),
        ] {
            assert_eq!(new_and_ready(&old, &now), want, "{now:?}");
        }
    }
}
