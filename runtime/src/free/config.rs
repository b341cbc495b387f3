//! What an author may set.

use std::time::Duration;

/// Reconciles at once where the author says nothing.
const CONCURRENCY: u16 = 32;

/// Options of a controller. Made as in kube.
#[derive(Debug, Clone, Default)]
pub struct Config {
    debounce: Duration,
    concurrency: u16,
}

impl Config {
    /// How long an object is left alone after each change, so that several changes are one reconcile. Without it a
    /// change is reconciled at once.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// Reconciles at once, of different objects. 0 stands for 32: kube has no bound there, and memory has none either.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u16) -> Self {
        self.concurrency = concurrency;
        self
    }

    pub(super) fn merged_for(&self) -> Duration {
        self.debounce
    }

    pub(super) fn workers(&self) -> usize {
        usize::from(match self.concurrency {
            0 => CONCURRENCY,
            concurrency => concurrency,
        })
    }
}
