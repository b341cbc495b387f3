//! The processes that `up` has started: a control plane alone, or one with a node.
//!
//! Guarantees: all processes end when it is dropped. Leaves to others: folders and credentials.

use std::path::Path;
use std::process::ExitStatus;

use controlplane::node;
use controlplane::node::Node;
use controlplane::{Binaries, ControlPlane, NodeBinaries, Options};

use crate::cli::command_line::quoted;

/// The programs, and those of a node where one is asked for.
pub(crate) type Programs = (Binaries, Option<NodeBinaries>);

pub(crate) enum Started {
    ControlPlane(Box<ControlPlane>),
    Node(Box<Node>),
}

impl Started {
    pub(crate) async fn start(programs: &Programs, options: Options) -> anyhow::Result<Started> {
        let (binaries, node_binaries) = programs;
        let Some(node_binaries) = node_binaries else {
            let plane = ControlPlane::start(binaries, options).await?;
            return Ok(Started::ControlPlane(Box::new(plane)));
        };
        let options = node::Options {
            datastore: options.datastore,
            dir: options.dir,
            logs: options.logs,
            users: options.users,
            crds: options.crds,
            family: node::IpFamily::V4,
            port: options.port,
            start_within: options.start_within,
        };
        let node = Node::start(binaries, node_binaries, options).await?;
        Ok(Started::Node(Box::new(node)))
    }

    pub(crate) fn plane(&self) -> &ControlPlane {
        match self {
            Started::ControlPlane(plane) => plane,
            Started::Node(node) => node.plane(),
        }
    }

    pub(crate) fn exited(&mut self) -> anyhow::Result<Option<(String, ExitStatus)>> {
        Ok(match self {
            Started::ControlPlane(plane) => plane.exited()?,
            Started::Node(node) => node.exited()?,
        })
    }
}

/// The text that says how to import images into the node and how to run commands in it.
pub(crate) fn hints(enter: &Path) -> String {
    let (enter, pause) = (quoted(enter), node::PAUSE);
    format!(
        "One node, {}, is Ready. Images are not pulled: {pause} is there, others are imported:\n\
         \n  {enter} ctr -n k8s.io images import FILE.tar\n\
         \n{enter} runs any command with the node's mounts, processes and network; pods and Services\n\
         are reached from there only. There is no DNS, and no kube-proxy: the addresses of Services are not reachable.",
        node::NAME
    )
}
