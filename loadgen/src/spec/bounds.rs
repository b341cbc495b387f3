//! What a subject may have, by the cgroup of its processes.
//!
//! Guarantees: pure; what is parsed can be set. Leaves to others: setting it (`engine::watched_subject`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::spec::operator::quantity;

/// A process of any language needs more than this to start.
const LEAST_BYTES: f64 = 1_048_576.0;
/// The kernel takes no less; a process may take minutes to start with it.
const LEAST_CORES: f64 = 0.01;
const MOST_CORES: f64 = 1_024.0;

/// What a subject may have; without, as much as there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    pub memory_bytes: Option<u64>,
    /// CPU seconds per second.
    pub cpu_cores: Option<f64>,
}

impl Bounds {
    /// Whether there is none.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.memory_bytes.map(|bytes| match bytes as f64 / 1e6 {
            mb if mb < 100.0 => format!("{mb:.1} MB"),
            mb => format!("{mb:.0} MB"),
        });
        let cpu = self.cpu_cores.map(|cores| match cores {
            1.0 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        });
        let both: Vec<String> = memory.into_iter().chain(cpu).collect();
        f.write_str(&match both.is_empty() {
            true => "none".to_owned(),
            false => both.join(" and "),
        })
    }
}

/// # Errors
/// It is no quantity of memory that a process could start with.
pub fn memory(text: &str) -> Result<u64, String> {
    match quantity(text) {
        Some(bytes) if bytes >= LEAST_BYTES => Ok(bytes as u64),
        _ => Err("write a quantity of at least 1Mi, such as 64Mi".into()),
    }
}

/// # Errors
/// It is no quantity of cores that a kernel takes.
pub fn cores(text: &str) -> Result<f64, String> {
    match quantity(text) {
        Some(cores) if (LEAST_CORES..=MOST_CORES).contains(&cores) => Ok(cores),
        _ => Err(format!(
            "write a quantity from {LEAST_CORES} to {MOST_CORES}, such as 500m"
        )),
    }
}
