//! mimalloc.

use super::Figure;

pub const NAME: &str = "mimalloc";

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Places in `enum mi_option_e` of mimalloc 3 (`include/mimalloc.h`), which the crate does not name.
const PURGE_DELAY: i32 = 15;
const PAGE_FULL_RETAIN: i32 = 36;
const PAGE_COMMIT_ON_DEMAND: i32 = 40;
const MINIMAL_PURGE_SIZE: i32 = 44;

/// By default freed memory is kept for a while, pages of a size class that are empty too, and memory
/// is committed in large steps: good for speed, and megabytes in a heap of one.
#[allow(unsafe_code)]
pub fn init() {
    for (option, value) in [
        (PURGE_DELAY, 0),
        (PAGE_FULL_RETAIN, 0),
        (PAGE_COMMIT_ON_DEMAND, 1),
        (MINIMAL_PURGE_SIZE, 4),
    ] {
        // SAFETY: `mi_option_set` takes two numbers; one that is out of range is ignored.
        unsafe { libmimalloc_sys::mi_option_set(option, value) };
    }
}

/// Collects what this thread's heap holds as free, arenas included.
#[allow(unsafe_code)]
pub fn tidy() {
    // SAFETY: `mi_collect` touches only memory that the allocator itself holds as free.
    unsafe { libmimalloc_sys::mi_collect(true) };
}

/// mimalloc counts only in its debug builds.
pub fn figures() -> Vec<Figure> {
    Vec::new()
}

/// There is nothing to write.
pub fn end() {}
