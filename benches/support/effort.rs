//! How much a bench does: a full measurement with `cargo bench`, one short try with `cargo test`.

use std::time::Duration;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Whether this is a full measurement.
    pub measures: bool,
    /// Numbers of objects at which processes are measured.
    pub sizes: &'static [usize],
    /// Processes that are measured for each figure.
    pub processes: usize,
    /// How long a process asks for nothing before it counts as idle.
    pub rest: Duration,
    /// Owners and children's sets that a relist compares.
    pub relisted: usize,
}

impl Effort {
    /// The effort that the arguments ask for: `cargo bench` passes `--bench`, `cargo test --benches` does not.
    pub fn asked_for() -> Self {
        if std::env::args().any(|argument| argument == "--bench") {
            Self {
                measures: true,
                sizes: &[0, 500, 5_000],
                processes: 10,
                // Tare returns free memory 7 s after its last work.
                rest: Duration::from_secs(9),
                relisted: 1_000,
            }
        } else {
            Self {
                measures: false,
                sizes: &[0, 10],
                processes: 1,
                rest: Duration::from_secs(1),
                relisted: 10,
            }
        }
    }
}
