//! dhat: a heap profile that says which calls hold memory at the peak. Used by `scripts/heap.sh` only;
//! no shipped binary has it.

use std::sync::{Mutex, PoisonError};

pub const NAME: &str = "dhat";

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

static PROFILER: Mutex<Option<dhat::Profiler>> = Mutex::new(None);

/// Starts the profile.
pub fn init() {
    let prefix = std::env::var("TARE_DHAT").unwrap_or_else(|_| "dhat-heap".into());
    // The process id in the name keeps processes from overwriting each other's file.
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

/// dhat keeps no free memory.
pub fn trim() {}

/// None: the profile has them.
pub fn figures() -> Vec<Figure> {
    Vec::new()
}
