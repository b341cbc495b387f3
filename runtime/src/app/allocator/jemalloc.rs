//! jemalloc, with its own figures.

use std::ffi::{CStr, c_char, c_int, c_void};

use tikv_jemalloc_ctl::{epoch, stats};

use super::Figure;

pub const NAME: &str = "jemalloc";

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// By default freed pages stay for ten seconds, a cache of each thread keeps blocks of up to 32 KB, and
/// a large block gets a page more so that blocks begin at different lines of the CPU's cache: for one
/// thread and a small heap that is memory for little. Some of it pays: with small blocks cached and
/// freed pages kept for a moment a burst of 5,000 objects takes a quarter less CPU (4.8 -> 3.6 s), and
/// [`tidy`] gives back what is then left.
const OPTIONS: &CStr =
    c"narenas:1,tcache_max:1024,tcache_nslots_small_max:16,dirty_decay_ms:100,muzzy_decay_ms:0,cache_oblivious:false";

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

#[allow(unsafe_code)]
unsafe extern "C" {
    #[link_name = "_rjem_mallctl"]
    fn mallctl(
        name: *const c_char,
        old: *mut c_void,
        old_bytes: *mut usize,
        new: *mut c_void,
        new_bytes: usize,
    ) -> c_int;
}

/// What the cache of this thread holds, then the pages that nothing is on any more, of all arenas
/// (`MALLCTL_ARENAS_ALL` is 4096).
pub fn tidy() {
    order(c"thread.tcache.flush");
    order(c"arena.4096.purge");
}

/// Asks for something that takes and gives no value; where it is refused nothing has changed.
fn order(name: &CStr) {
    let (none, nothing) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the name ends with a zero, and `mallctl` takes null for values that there are none of
    // (jemalloc(3)).
    #[allow(unsafe_code)]
    unsafe {
        mallctl(name.as_ptr(), none, nothing, none, 0)
    };
}

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
