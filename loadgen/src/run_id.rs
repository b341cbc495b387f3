//! The name of a run on a cluster that others use too: the value of its label, and a part of its namespace.
//!
//! Guarantees: 6 hexadecimal digits, unlike those of runs that go on at the same time, but for one in 16
//! million. Leaves to others: what bears it.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A new one; the keys of a `RandomState` are the system's.
pub fn new() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{:06x}", random & 0xff_ffff)
}

/// The namespace that a run makes for itself.
pub fn namespace(run: &str) -> String {
    format!("loadgen-{run}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_names_of_their_own() {
        let (one, other) = (new(), new());
        assert_ne!(one, other);
        assert_eq!(one.len(), 6);
        assert!(one.chars().all(|c| c.is_ascii_hexdigit()), "{one}");
        assert_eq!(namespace("3f9c1b"), "loadgen-3f9c1b");
    }
}
