//! dhat: who holds the heap when it is largest. For a profile (`scripts/heap.sh`), never shipped.

use std::sync::{Mutex, PoisonError};

use super::Figure;

pub const NAME: &str = "dhat";

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

static PROFILER: Mutex<Option<dhat::Profiler>> = Mutex::new(None);

/// Counts from here on.
pub fn init() {
    let prefix = std::env::var("TARE_DHAT").unwrap_or_else(|_| "dhat-heap".into());
    // One that is started again writes a file of its own.
    let file = format!("{prefix}-{}.json", std::process::id());
    let profiler = dhat::Profiler::builder().file_name(file).build();
    *PROFILER.lock().unwrap_or_else(PoisonError::into_inner) = Some(profiler);
}

/// Writes the file.
pub fn end() {
    drop(
        PROFILER
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(),
    );
}

/// It keeps nothing that is free.
pub fn tidy() {}

/// They are in the file.
pub fn figures() -> Vec<Figure> {
    Vec::new()
}
