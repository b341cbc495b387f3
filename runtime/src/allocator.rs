//! The allocator of the binary: which one, its options, and how it returns free memory to the kernel.
//!
//! Guarantees: a binary has one allocator. With musl it is jemalloc, because musl's own allocator does
//! not return what a burst has freed; elsewhere it is that of the C library. A cargo feature (`alloc-c-library`,
//! `alloc-mimalloc`, `alloc-jemalloc`) chooses another.
//! Leaves to others: when memory is returned (`controller::trim`).

#[cfg(any(
    all(feature = "alloc-mimalloc", feature = "alloc-jemalloc"),
    all(feature = "alloc-c-library", feature = "alloc-jemalloc"),
    all(feature = "alloc-c-library", feature = "alloc-mimalloc"),
))]
compile_error!(
    "features alloc-c-library, alloc-mimalloc and alloc-jemalloc: a binary has one allocator; choose one, or none for the default"
);

#[cfg_attr(feature = "alloc-mimalloc", path = "allocator/mimalloc.rs")]
#[cfg_attr(
    all(
        not(feature = "alloc-mimalloc"),
        any(
            feature = "alloc-jemalloc",
            all(target_env = "musl", not(feature = "alloc-c-library"))
        )
    ),
    path = "allocator/jemalloc.rs"
)]
#[cfg_attr(
    not(any(
        feature = "alloc-mimalloc",
        feature = "alloc-jemalloc",
        all(target_env = "musl", not(feature = "alloc-c-library"))
    )),
    path = "allocator/c_library.rs"
)]
mod chosen;

/// Name of the allocator, for `/metrics` and `--version`.
pub const NAME: &str = chosen::NAME;

/// Sets the allocator's options for one thread and a small heap. Call it before anything else.
pub fn init() {
    no_huge_pages();
    chosen::init();
}

/// Switches transparent huge pages off for this process. A huge page has 2 MB (512 MB where pages have
/// 64 KB) and so is larger than the whole heap; a node set to `always` would back the heap with one.
fn no_huge_pages() {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    {
        use std::ffi::{c_int, c_ulong};

        const PR_SET_THP_DISABLE: c_int = 41;
        unsafe extern "C" {
            fn prctl(option: c_int, ...) -> c_int;
        }
        let (on, unused): (c_ulong, c_ulong) = (1, 0);
        // SAFETY: this option takes four numbers (`prctl(2)`) and accesses no memory of the process. A kernel
        // without huge pages returns an error and changes nothing.
        unsafe { prctl(PR_SET_THP_DISABLE, on, unused, unused, unused) };
    }
}

/// Returns free memory of the heap to the kernel.
pub fn trim() {
    chosen::trim();
}

/// The allocator's statistics as lines of the metrics page. Only with the feature `alloc-statistics`, which is in nothing
/// that ships.
#[cfg(feature = "alloc-statistics")]
pub(crate) fn statistics() -> String {
    match chosen::statistics() {
        Ok(figures) => figures
            .map(|(state, bytes)| {
                let name = format!("jemalloc_{state}_bytes");
                format!("# TYPE {name} gauge\n{name} {bytes}\n")
            })
            .concat(),
        Err(error) => format!("# jemalloc has no statistics: {error}\n"),
    }
}

#[cfg(all(test, feature = "alloc-statistics"))]
mod tests {
    use super::*;

    #[test]
    fn live_blocks_are_on_active_pages_and_those_are_resident() {
        let held = vec![1_u8; 1 << 20];
        let page = statistics();
        let bytes: Vec<usize> = page
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(' ')?.1.parse().ok())
            .collect();
        assert_eq!(bytes.len(), 3, "{page}");
        assert!(bytes.is_sorted() && bytes[0] >= held.len(), "{page}");
    }
}
