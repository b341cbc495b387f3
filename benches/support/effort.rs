//! How much a bench does: all of it when it is run as one, next to nothing when it is tested.

use std::time::Duration;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Whether figures are taken, and not only tried.
    pub measures: bool,
    /// Numbers of objects at which processes are measured.
    pub sizes: &'static [usize],
    /// Processes that are measured for each figure.
    pub processes: usize,
    /// How long a process asks for nothing before it counts as idle.
    pub rest: Duration,
    /// Owners and children's sets that a relist compares.
    pub joined: usize,
}

impl Effort {
    /// As cargo asks for it: `cargo bench` says `--bench`, `cargo test --benches` does not.
    pub fn asked_for() -> Self {
        if std::env::args().any(|argument| argument == "--bench") {
            Self {
                measures: true,
                sizes: &[0, 500, 5_000],
                processes: 10,
                // Tare gives memory back 7 s after the last work.
                rest: Duration::from_secs(9),
                joined: 1_000,
            }
        } else {
            Self {
                measures: false,
                sizes: &[0, 10],
                processes: 1,
                rest: Duration::from_secs(1),
                joined: 10,
            }
        }
    }
}
