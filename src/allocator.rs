//! The allocator of the binary, and what it is asked to give back after a burst.
//!
//! Leaves to a later choice by measurement which allocator that is.

/// Its name, for `/metrics` and `tare version`.
pub const NAME: &str = if cfg!(target_env = "musl") {
    "musl"
} else {
    "glibc"
};

/// Gives memory that is free inside the heap back to the kernel.
///
/// glibc keeps what a burst has freed below the top of its heap until it is asked (`malloc_trim(3)`);
/// musl gives back by itself, so there is nothing to do.
pub fn tidy() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: glibc documents `malloc_trim` as thread-safe; it takes a number and touches only
        // memory that the allocator itself holds as free.
        unsafe { malloc_trim(0) };
    }
}
