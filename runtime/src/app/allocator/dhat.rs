//! dhat: which calls hold the heap at its peak. For a profile (`scripts/heap.sh`); never shipped.

use std::sync::{Mutex, PoisonError};

use super::Figure;

pub const NAME: &str = "dhat";

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

static PROFILER: Mutex<Option<dhat::Profiler>> = Mutex::new(None);

/// Starts the profile.
pub fn init() {
    let prefix = std::env::var("TARE_DHAT").unwrap_or_else(|_| "dhat-heap".into());
    // Every process writes a file of its own.
    let file = format!("{prefix}-{}.json", std::process::id());
    let profiler = dhat::Profiler::builder().file_name(file).build();
    *PROFILER.lock().unwrap_or_else(PoisonError::into_inner) = Some(profiler);
}

/// Writes the profile.
pub fn end() {
    drop(
        PROFILER
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(),
    );
}

/// It keeps no free memory.
pub fn trim() {}

/// They are in the profile.
pub fn figures() -> Vec<Figure> {
    Vec::new()
}
