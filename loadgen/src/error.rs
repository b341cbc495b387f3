//! Input that cannot be used.
//!
//! Guarantees: the message is one line that says what is wrong, where, and what to do. Leaves to
//! others: printing it and the exit code (`cli`).

use crate::record::evidence;

/// Bad input: the program ends with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

impl Usage {
    /// What an error of input says.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A folder that cannot be used is bad input when another folder is the remedy.
pub fn no_folder(error: evidence::Error) -> anyhow::Error {
    match error.is_of_usage() {
        true => Usage::of(error).into(),
        false => error.into(),
    }
}
