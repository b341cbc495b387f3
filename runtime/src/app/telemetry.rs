//! The log, on standard error: text on a terminal, JSON elsewhere.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;

/// Starts logging at `level`.
pub fn init(level: LevelFilter) {
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false);
    if std::io::stderr().is_terminal() {
        log.init();
    } else {
        log.json()
            .flatten_event(true)
            .with_current_span(false)
            .init();
    }
}
