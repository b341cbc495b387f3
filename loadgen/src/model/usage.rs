//! Input that a user has to correct.

/// Input that cannot be used: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
