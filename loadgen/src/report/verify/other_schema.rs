//! Who reads a folder that this version does not.

use std::fmt;

use serde_json::Value;

use crate::record::SCHEMA;
use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::report::title::short;

/// Where schema 1 has the commit of loadgen, and where later ones have it.
const COMMIT: [&str; 3] = ["/environment/loadgen_commit", "/commit", "/tare_revision"];

/// Who reads a folder that this version does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSchema {
    pub schema: u64,
    /// The loadgen that wrote it.
    pub commit: Option<String>,
}

impl OtherSchema {
    /// Of a bench that a loadgen with another schema has written.
    pub fn of(evidence: &Evidence) -> Option<Self> {
        let experiment: Value = evidence.read_json(EXPERIMENT).ok()?;
        let schema = experiment["schema"].as_u64()?;
        let commit = COMMIT
            .iter()
            .find_map(|at| experiment.pointer(at)?.as_str());
        let commit = commit.map(|commit| short(commit).to_owned());
        (schema != u64::from(SCHEMA)).then_some(Self { schema, commit })
    }
}

impl fmt::Display for OtherSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, commit } = self;
        match commit {
            Some(commit) => write!(f, "schema {schema}, which loadgen at {commit} reads"),
            None => write!(f, "schema {schema}, which the loadgen that wrote it reads"),
        }
    }
}
