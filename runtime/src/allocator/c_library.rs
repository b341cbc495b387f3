//! The C library's allocator: glibc's, or musl's.

pub const NAME: &str = if cfg!(target_env = "musl") {
    "musl"
} else if cfg!(target_env = "gnu") {
    "glibc"
} else {
    "system"
};

/// glibc raises its threshold for `mmap` with every large block that is freed, and then keeps the bodies
/// of lists and watch lines in its heap. A fixed threshold returns them at once (`mallopt(3)`).
pub fn init() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    {
        const M_TRIM_THRESHOLD: i32 = -1;
        const M_MMAP_THRESHOLD: i32 = -3;
        const M_ARENA_MAX: i32 = -8;
        unsafe extern "C" {
            fn mallopt(param: i32, value: i32) -> i32;
        }
        for (param, value) in [
            (M_ARENA_MAX, 1),
            (M_MMAP_THRESHOLD, 32 << 10),
            (M_TRIM_THRESHOLD, 64 << 10),
        ] {
            // SAFETY: `mallopt` takes two numbers; an unknown one is refused and changes nothing.
            unsafe { mallopt(param, value) };
        }
    }
}

/// glibc keeps memory that was freed below the top of its heap until `malloc_trim(3)` is called. musl
/// has no such call.
pub fn trim() {
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
