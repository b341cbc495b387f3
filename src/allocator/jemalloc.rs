//! jemalloc, with its own figures.

use std::ffi::c_char;

use tikv_jemalloc_ctl::{epoch, stats};

use super::Figure;

pub const NAME: &str = "jemalloc";

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// By default freed pages stay for ten seconds, a cache of each thread keeps blocks of every size, and
/// a large block gets a page more so that blocks begin at different lines of the CPU's cache: for one
/// thread and a small heap all three only cost memory.
const OPTIONS: &std::ffi::CStr =
    c"narenas:1,tcache:false,dirty_decay_ms:0,muzzy_decay_ms:0,cache_oblivious:false";

#[repr(transparent)]
pub struct Text(*const c_char);

// SAFETY: it points to a constant.
#[allow(unsafe_code)]
unsafe impl Sync for Text {}

/// jemalloc reads this before it gives out the first block (`malloc_conf` in jemalloc(3)).
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static MALLOC_CONF: Text = Text(OPTIONS.as_ptr());

/// It is set up by then.
pub fn init() {}

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

/// There is nothing to write.
pub fn end() {}
