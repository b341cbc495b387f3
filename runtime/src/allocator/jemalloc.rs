//! jemalloc. What ships is without its statistics: they keep 120 KB resident once `mallctl` is called. The feature
//! `alloc-statistics` adds them, for benches.

use std::ffi::{CStr, c_char};

pub const NAME: &str = "jemalloc";

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// By default jemalloc keeps freed pages for 10 s, caches blocks of up to 32 KB per thread, and adds a
/// page to large blocks so that they begin at different lines of the CPU cache. For one thread and a
/// small heap this costs memory and gains little. Two of the defaults are kept in a smaller form,
/// because they save CPU time in a burst: the cache of small blocks, and freed pages for 100 ms. [`trim`]
/// returns what is then left. Blocks from 128 KB on, which only large objects need, are given back at once.
/// Small blocks lie together on one or two pages in place of up to seven, so that the few that outlive a burst
/// hold fewer pages.
const OPTIONS: &CStr =
    c"narenas:1,tcache_max:1024,tcache_nslots_small_max:16,dirty_decay_ms:100,muzzy_decay_ms:0,cache_oblivious:false,oversize_threshold:131072,slab_sizes:1-1024:1|1025-4096:2";

#[repr(transparent)]
pub struct Text(*const c_char);

// SAFETY: the pointer leads to a constant, which is never written.
#[allow(unsafe_code)]
unsafe impl Sync for Text {}

/// jemalloc reads this before it gives out the first block (`malloc_conf` in jemalloc(3)).
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static MALLOC_CONF: Text = Text(OPTIONS.as_ptr());

/// Does nothing: jemalloc reads its options from [`MALLOC_CONF`].
pub fn init() {}

/// Empties the cache of this thread, then returns the unused pages of all arenas
/// (`MALLCTL_ARENAS_ALL` is 4096).
pub fn trim() {
    command(c"thread.tcache.flush");
    command(c"arena.4096.purge");
}

/// Runs a `mallctl` command that takes no value. Where jemalloc does not know it, nothing happens.
///
/// `tikv_jemalloc_ctl::raw` has no such call: it reads or writes a value, which jemalloc refuses here with `EPERM`.
fn command(name: &CStr) {
    let (none, nothing) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the name ends with a zero, and `mallctl` accepts null for absent values
    // (jemalloc(3)).
    #[allow(unsafe_code)]
    unsafe {
        tikv_jemalloc_sys::mallctl(name.as_ptr(), none, nothing, none, 0)
    };
}

/// Bytes of the heap by state: live blocks, the pages that they are on, all resident pages of jemalloc.
///
/// # Errors
/// jemalloc does not know a statistic.
#[cfg(feature = "alloc-statistics")]
pub fn statistics() -> Result<[(&'static str, usize); 3], tikv_jemalloc_ctl::Error> {
    use tikv_jemalloc_ctl::{epoch, stats};

    // Statistics are as of the last epoch.
    epoch::advance()?;
    Ok([
        ("allocated", stats::allocated::read()?),
        ("active", stats::active::read()?),
        ("resident", stats::resident::read()?),
    ])
}

/// Takes the place of jemalloc's printer of statistics where the linker is told so
/// (`--wrap=_rjem_je_stats_print`, scripts/dist.sh): 20 KB of a binary that nothing calls.
#[allow(unsafe_code)]
#[unsafe(export_name = "__wrap__rjem_je_stats_print")]
pub extern "C" fn print_nothing() {}
