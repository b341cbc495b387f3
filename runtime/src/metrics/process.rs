//! Memory and CPU time of the process, from `/proc`; left out where there is no `/proc`.

use crate::metrics::text::{family, line};

/// Appends both metrics.
pub(crate) fn render(text: &mut String) {
    if let Some(pages) = number("/proc/self/statm", 1) {
        let name = "process_resident_memory_bytes";
        family(text, name, "gauge", "Resident memory.");
        line(text, format_args!("{name} {}", pages * page_bytes()));
    }
    if let Some(ns) = number("/proc/self/schedstat", 0) {
        let name = "process_cpu_seconds_total";
        // The main thread is the only one: the tokio runtime is `current_thread`.
        let help = "CPU time of the main thread, user and system.";
        family(text, name, "counter", help);
        let (s, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
        line(text, format_args!("{name} {s}.{rest:09}"));
    }
}

/// The number at `place` in a file of numbers that are separated by spaces.
fn number(file: &str, place: usize) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    text.split(' ').nth(place)?.parse().ok()
}

/// The size of a page from the auxiliary vector (`AT_PAGESZ` is 6); 4096 where it cannot be read.
fn page_bytes() -> u64 {
    const WORD: usize = size_of::<usize>();
    let auxv = std::fs::read("/proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    auxv.chunks_exact(2 * WORD)
        .find(|pair| word(&pair[..WORD]) == 6)
        .map_or(4096, |pair| word(&pair[WORD..]))
}
