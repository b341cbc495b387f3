//! What is kept of owners between events: the seam between the cache modes.
//!
//! Guarantees: a mode decides only what is kept; what is right does not depend on it.
//! Leaves to others: the queue of owners with work, which every mode has.

mod none;

use std::fmt;
use std::str::FromStr;

pub use none::Storeless;

use crate::queue::Work;

/// A cache mode at work. Every call comes from the one task that runs the loop.
pub trait Cache: Send {
    /// An owner was shown by a watch or a page. A mode that keeps specs takes `work.spec` over.
    fn seen(&mut self, key: &str, work: &mut Work);
    /// An owner is gone.
    fn gone(&mut self, key: &str);
    /// A worker is about to take `work`: fills in what is kept here.
    fn complete(&self, key: &str, work: &mut Work);
}

/// How much is kept, as `--cache` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing.
    #[default]
    None,
}

/// The mode does not exist (yet).
#[derive(Debug, thiserror::Error)]
#[error("cache mode {0:?} is not in this version; it has: none")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "none" => Ok(Self::None),
            other => Err(UnknownMode(other.to_owned())),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
        })
    }
}
