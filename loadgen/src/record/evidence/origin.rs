//! `origin.json`: where a folder of results comes from that no bench has written.
//!
//! Guarantees: read as it was written, or an error that names the field. Leaves to others: writing it
//! (`scripts/campaign.py`), and what is in the folder.

use serde::{Deserialize, Serialize};

/// The file.
pub const ORIGIN: &str = "origin.json";

/// What wrote the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// As it is typed in a checkout of the commit.
    pub command: String,
    pub commit: String,
    /// When it ended, RFC 3339.
    pub date: String,
    pub host_label: String,
    pub machine: Machine,
}

/// Where it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub cpu_model: String,
    pub cores: usize,
}
