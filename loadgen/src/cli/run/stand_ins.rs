//! Who stands in, during a run, for what a cluster lacks: `[[stand_in]]` of a workload.
//!
//! Guarantees: only on a cluster that loadgen has started on this machine; anywhere else nothing pretends, and that is
//! said. Leaves to others: what is said of a child (`load::stand_in`).

use tokio::task::JoinSet;

use crate::cli::run::ClusterRun;
use crate::load::stand_in::Agent;
use crate::spec::workload::StandIn;

impl ClusterRun {
    /// Until it is dropped. An operator may need them while its objects are removed.
    pub(super) fn stand_in(&self) -> JoinSet<()> {
        match self.target.local {
            true => Agent::all(&self.cluster, &self.scenario),
            false => JoinSet::new(),
        }
    }

    /// Whether somebody does; `None` where the workload needs nobody.
    pub(super) fn stand_in_intent(&self) -> Option<String> {
        intent(
            &self.scenario.stand_in,
            self.target.local,
            self.target.whereabouts(),
        )
    }
}

fn intent(stand_ins: &[StandIn], local: bool, whereabouts: &str) -> Option<String> {
    let kinds: Vec<&str> = stand_ins.iter().map(|it| it.plural.as_str()).collect();
    let kinds = kinds.join(", ");
    match (stand_ins, local) {
        ([], _) => None,
        (_, true) => Some(format!(
            "loadgen writes the status of {kinds}, which nothing runs here"
        )),
        (_, false) => Some(format!(
            "nobody stands in for {kinds}: the cluster is {whereabouts}, and its own controllers have to write their status"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_stands_in_on_a_cluster_of_somebody_else() {
        let jobs = StandIn {
            api_version: "batch/v1".into(),
            plural: "jobs".into(),
            delay_ms: 0,
            status: serde_json::json!({}),
        };
        let jobs = [jobs];
        for (stand_ins, local, want) in [
            (&[][..], true, None),
            (&[], false, None),
            (
                &jobs,
                true,
                Some("loadgen writes the status of jobs, which nothing runs here"),
            ),
            (
                &jobs,
                false,
                Some(
                    "nobody stands in for jobs: the cluster is not local, and its own controllers have to write their status",
                ),
            ),
        ] {
            let said = intent(stand_ins, local, "not local");
            assert_eq!(said.as_deref(), want);
        }
    }
}
