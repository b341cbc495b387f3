//! The folder of this user's caches, by the XDG Base Directory Specification.
//!
//! Guarantees: an absolute path. Leaves to others: making it, and what is in it.

use std::path::PathBuf;

/// `$XDG_CACHE_HOME`, or `~/.cache`; `None` where neither variable has an absolute path.
pub fn cache_dir() -> Option<PathBuf> {
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}
