//! What runs have shown, as files: one for each piece, so that a report is written from all of them.
//!
//! Guarantees: nothing is written where `SIMULATION_RECORDS` names no folder. A record names the commit that ran.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How often, by kind.
pub type Counts = BTreeMap<String, u64>;

/// Schedules of a range of seeds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seeds {
    pub commit: String,
    /// `release` or `debug`.
    pub profile: String,
    pub from: u64,
    pub count: u64,
    pub failed: Vec<u64>,
    pub threads: usize,
    pub seconds: f64,
    pub steps: Counts,
    /// Faults that met something.
    pub faults: Counts,
}

/// The lives that are enumerated for one operator in one cache mode.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lives {
    pub commit: String,
    pub profile: String,
    pub subject: String,
    pub mode: String,
    pub in_pairs: bool,
    pub count: usize,
    pub failed: usize,
    pub seconds: f64,
}

/// A known bug.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bug {
    pub commit: String,
    pub profile: String,
    pub name: String,
    /// Seeds that were tried until it was found; nothing where it was not.
    pub seeds: Option<u64>,
    /// What was tried at most.
    pub most: u64,
    /// Steps that are enough to find it.
    pub steps: usize,
    pub line: String,
    pub violation: String,
}

/// The version and the commit of what runs.
pub fn commit() -> String {
    env!("TARE_VERSION").to_owned()
}

pub fn profile() -> String {
    let profile = match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    };
    profile.to_owned()
}

/// Adds to counts.
pub fn add(all: &mut Counts, more: &Counts) {
    for (kind, count) in more {
        *all.entry(kind.clone()).or_default() += count;
    }
}

/// Writes a record under this name.
pub fn write(name: &str, record: &impl Serialize) {
    let Some(folder) = folder() else {
        return;
    };
    let text = serde_json::to_string_pretty(record).expect("a record is JSON");
    std::fs::create_dir_all(&folder).expect("a folder for records");
    std::fs::write(folder.join(format!("{name}.json")), text + "\n").expect("a record is written");
}

/// The records whose names begin so, in order of their names.
pub fn read<R: DeserializeOwned>(folder: &Path, prefix: &str) -> Result<Vec<R>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{folder:?}: {error}"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_meant = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix) && name.ends_with(".json"))
    };
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path:?}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{path:?}: {error}"))
    };
    paths.iter().filter(is_meant).map(read).collect()
}

/// The folder of the records.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("SIMULATION_RECORDS").map(PathBuf::from)
}
