//! The programs that a node and its control plane consist of, and kubectl to use it with.
//!
//! Guarantees: what this machine lacks is one line, with the command that makes or installs it.
//! Leaves to others: starting them ([`crate::node::Node::start`]).

use std::path::PathBuf;

use crate::build::binaries::{Binaries, NodeBinaries};
use crate::node::error::Error;
use crate::node::tools;

#[derive(Clone, Debug)]
pub struct Programs {
    pub plane: Binaries,
    pub node: NodeBinaries,
    pub kubectl: PathBuf,
}

impl Programs {
    /// # Errors
    /// There can be no node on this machine, or a program is not built.
    pub fn find() -> Result<Programs, Error> {
        tools::check()?;
        let node = NodeBinaries::find()?;
        let plane = Binaries::find()?;
        Ok(Programs {
            kubectl: plane.kubectl()?.to_owned(),
            plane,
            node,
        })
    }
}
