//! jemalloc, with its own figures.

use tikv_jemalloc_ctl::{epoch, raw, stats};

use super::Figure;

pub const NAME: &str = "jemalloc";

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// By default freed pages stay for ten seconds and a cache of each thread keeps blocks of every size:
/// for one thread and a small heap both only cost memory.
#[allow(unsafe_code)]
pub fn init() {
    for name in [
        b"arena.0.dirty_decay_ms\0".as_slice(),
        b"arena.0.muzzy_decay_ms\0",
        b"arenas.dirty_decay_ms\0",
        b"arenas.muzzy_decay_ms\0",
    ] {
        // SAFETY: these names take an `ssize_t` (jemalloc(3)); 0 gives pages back at once. A refusal
        // leaves the default, which costs memory and breaks nothing.
        let _ = unsafe { raw::write(name, 0_isize) };
    }
    // SAFETY: this name takes a `bool` (jemalloc(3)); false empties the cache first.
    let _ = unsafe { raw::write(b"thread.tcache.enabled\0", false) };
}

/// With a decay of 0 there is nothing to give back.
pub fn tidy() {}

/// Figures are those of the last epoch, so that begins a new one.
pub fn figures() -> Vec<Figure> {
    if epoch::advance().is_err() {
        return Vec::new();
    }
    let figures = [
        ("allocated", stats::allocated::read()),
        ("active", stats::active::read()),
        ("resident", stats::resident::read()),
        ("retained", stats::retained::read()),
    ];
    let known = |(state, bytes): (_, Result<_, _>)| {
        Some(Figure {
            state,
            bytes: bytes.ok()?,
        })
    };
    figures.into_iter().filter_map(known).collect()
}
