//! Whether the objects of a run ask for pods.
//!
//! Guarantees: pure; on a cluster with nodes pods are asked for only where the user says so. Leaves to others:
//! how many fit (`capacity`).

use crate::cli::run::capacity::Nodes;

/// Whether objects ask for pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pods {
    /// They do, and none runs: the cluster is local and has no nodes.
    NoneRun,
    /// They do: `--pods` was given.
    Asked,
    /// They have `replicas: 0`.
    NotAsked,
    /// The workload does not say that they do.
    Unknown,
}

impl Pods {
    pub fn of(local: bool, nodes: &Nodes, asked: bool) -> Self {
        match nodes {
            Nodes::Absent if local => Pods::NoneRun,
            _ if asked => Pods::Asked,
            _ => Pods::NotAsked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_asked_for_where_none_will_run_or_where_the_user_says_so() {
        use Nodes::{Absent, Present, Unknown};
        for (local, nodes, asked, want) in [
            (true, Absent, false, Pods::NoneRun),
            (true, Present, false, Pods::NotAsked),
            (true, Present, true, Pods::Asked),
            (true, Unknown, false, Pods::NotAsked),
            (false, Absent, false, Pods::NotAsked),
            (false, Absent, true, Pods::Asked),
            (false, Present, false, Pods::NotAsked),
        ] {
            let got = Pods::of(local, &nodes, asked);
            assert_eq!(got, want, "local {local}, {nodes:?}, --pods {asked}");
        }
    }
}
