//! How a server behaves: what a test sets before it starts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Whether the object of this namespace and name becomes ready.
pub type Decide = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// When workloads and claims become ready.
#[derive(Clone, Default)]
pub enum Readiness {
    /// Every one, after the delay.
    #[default]
    All,
    /// None: their status says what they wait for.
    Never,
    /// Those for which the closure answers true; it is given namespace and name.
    When(Decide),
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Readiness::All => "All",
            Readiness::Never => "Never",
            Readiness::When(_) => "When(…)",
        })
    }
}

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time from a change of the spec of a workload to its status.
    pub ready_delay: Duration,
    /// Which workloads and claims become ready.
    pub ready: Readiness,
    /// The time between bookmarks on an otherwise silent watch.
    pub bookmark_every: Duration,
    /// How many changes are remembered, over all resources.
    pub history_events: usize,
    /// How many bytes of changes are remembered, over all resources.
    pub history_bytes: usize,
    /// Larger request bodies are refused with 413.
    pub max_body_bytes: usize,
    /// The user who may use the paths below `/kubesim` over HTTP.
    pub admin_user: String,
    /// For uids, generated names and tokens. A server that others can reach needs a secret one.
    pub seed: u64,
    /// Seconds since 1970 at the start. `None`: by the clock of the system.
    pub start_s: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ready_delay: Duration::ZERO,
            ready: Readiness::All,
            bookmark_every: Duration::from_secs(60),
            history_events: 200_000,
            history_bytes: 256 * 1024 * 1024,
            // MaxRequestBodyBytes of kube-apiserver.
            max_body_bytes: 3 * 1024 * 1024,
            admin_user: "admin".to_owned(),
            seed: 0,
            start_s: None,
        }
    }
}
