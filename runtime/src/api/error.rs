//! Why an owner failed, and when it is retried.

use std::time::Duration;

/// An error of a plan or of a cleanup, from the author's own code.
pub trait PlanError: std::error::Error + Send + Sync {
    /// One word in CamelCase: the reason of the condition and of the Event, and the label of the metric.
    fn reason(&self) -> &'static str;
    /// Whether and when to retry.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

/// For operators whose plan cannot fail.
impl PlanError for std::convert::Infallible {
    fn reason(&self) -> &'static str {
        match *self {}
    }
}

/// Whether and when a failed owner is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// With exponential back-off of its own.
    Backoff,
    /// First after this time, then with exponential back-off from there.
    From(Duration),
    /// Only after an event of the owner or its children, or with the periodic relist, which is hours away.
    AwaitChange,
}

/// Why the plan of an owner failed or could not be applied, as its conditions and Events say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One word in CamelCase: `Collision`, `Forbidden`, `Rejected`, `Timeout`, ...
    pub reason: &'static str,
    /// What happened, to which object, and what to do.
    pub message: String,
    /// Whether and when it is retried.
    pub retry: Retry,
}
