//! The allocator of the binary, and what it is asked to give back after a burst.
//!
//! Guarantees: one of them: jemalloc where the C library is musl, whose own keeps what a burst has
//! freed, and elsewhere the C library's; cargo features (`alloc-c-library`, `alloc-mimalloc`,
//! `alloc-jemalloc`) choose another. Leaves to measurement which one that should be.

#[cfg(any(
    all(feature = "alloc-mimalloc", feature = "alloc-jemalloc"),
    all(feature = "alloc-c-library", feature = "alloc-jemalloc"),
    all(feature = "alloc-c-library", feature = "alloc-mimalloc"),
    all(
        feature = "alloc-dhat",
        any(
            feature = "alloc-c-library",
            feature = "alloc-jemalloc",
            feature = "alloc-mimalloc"
        )
    ),
))]
compile_error!(
    "features alloc-c-library, alloc-dhat, alloc-mimalloc and alloc-jemalloc: a binary has one allocator; choose one, or none for the default"
);

#[cfg_attr(feature = "alloc-dhat", path = "allocator/dhat.rs")]
#[cfg_attr(feature = "alloc-mimalloc", path = "allocator/mimalloc.rs")]
#[cfg_attr(
    all(
        not(any(feature = "alloc-dhat", feature = "alloc-mimalloc")),
        any(
            feature = "alloc-jemalloc",
            all(target_env = "musl", not(feature = "alloc-c-library"))
        )
    ),
    path = "allocator/jemalloc.rs"
)]
#[cfg_attr(
    not(any(
        feature = "alloc-dhat",
        feature = "alloc-mimalloc",
        feature = "alloc-jemalloc",
        all(target_env = "musl", not(feature = "alloc-c-library"))
    )),
    path = "allocator/c_library.rs"
)]
mod chosen;

/// Its name, for `/metrics` and `tare version`.
pub const NAME: &str = chosen::NAME;

/// A figure of the allocator's own.
pub struct Figure {
    /// What is counted, as a label: `allocated`, `active`, `resident`, `retained`.
    pub state: &'static str,
    /// How much of it there is.
    pub bytes: usize,
}

/// Sets the allocator up for one thread and a small heap; to be called before anything else.
pub fn init() {
    no_huge_pages();
    chosen::init();
}

/// The end of the program: a profile is written.
pub fn end() {
    chosen::end();
}

/// A huge page is 2 MB, or half a gigabyte where pages are of 64 KB: one of them is more than the whole
/// heap. Nodes that have them `always` on would back it with one.
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
        // SAFETY: this option takes four numbers (`prctl(2)`) and touches no memory of ours; a kernel
        // without huge pages refuses it, and nothing is lost.
        unsafe { prctl(PR_SET_THP_DISABLE, on, unused, unused, unused) };
    }
}

/// Gives memory that is free inside the heap back to the kernel.
pub fn tidy() {
    chosen::tidy();
}

/// What the allocator says of itself; nothing where it does not tell.
pub fn figures() -> Vec<Figure> {
    chosen::figures()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_order_of_size() {
        init();
        let held = vec![1u8; 1 << 20];
        tidy();
        let bytes: Vec<usize> = figures().iter().map(|figure| figure.bytes).collect();
        assert_eq!(bytes.is_empty(), NAME != "jemalloc");
        // Live bytes, their pages, all pages with memory behind them. Retained ones have none.
        assert!(bytes.iter().take(3).is_sorted(), "{bytes:?}");
        assert!(
            bytes.first().is_none_or(|live| *live >= held.len()),
            "{bytes:?}"
        );
    }
}
