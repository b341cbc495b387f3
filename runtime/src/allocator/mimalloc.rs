//! mimalloc.

pub const NAME: &str = "mimalloc";

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Indices in `enum mi_option_e` of mimalloc 3 (`include/mimalloc.h`), which the crate does not name.
const PURGE_DELAY: i32 = 15;
const PAGE_FULL_RETAIN: i32 = 36;
const PAGE_COMMIT_ON_DEMAND: i32 = 40;
const MINIMAL_PURGE_SIZE: i32 = 44;

/// By default mimalloc keeps freed memory and empty pages for a while, and commits memory in large
/// steps. That saves time and costs megabytes.
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

/// Returns the free memory of this thread's heap, arenas included.
#[allow(unsafe_code)]
pub fn trim() {
    // SAFETY: `mi_collect` touches only memory that the allocator itself holds as free.
    unsafe { libmimalloc_sys::mi_collect(true) };
}
