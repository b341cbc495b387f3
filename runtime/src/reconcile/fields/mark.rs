//! The annotation on each child that says which plan it was written from: `<group>/plan`.
//!
//! It holds a digest of the planned body, the generation that the write led to, and a digest of those planned fields
//! that only a new object can change: `9f3c…-3-51d0…`. Where the generation is still that one, nobody has changed the
//! spec since.
//!
//! Guarantees: pure; what somebody else wrote there is no mark, or that of another plan.
//! Leaves to others: what follows from it (`fields`).

use std::fmt;

/// Which plan a child was written from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Of the planned body.
    pub digest: u64,
    /// The generation that the write of this mark led to. Without a meaning where the kind has none.
    pub generation: i64,
    /// Of the planned fields that only a new object can change; 0 where there are none.
    pub immutable: u64,
}

impl Mark {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let digest = parts.next().and_then(number)?;
        let generation = parts.next()?.parse().ok()?;
        let immutable = parts.next().map_or(Some(0), number)?;
        parts.next().is_none().then_some(Self {
            digest,
            generation,
            immutable,
        })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.digest, self.generation)?;
        match self.immutable {
            0 => Ok(()),
            immutable => write!(f, "-{immutable:x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        for (immutable, text) in [(0, "abc-7"), (0x12, "abc-7-12")] {
            let mark = Mark {
                digest: 0xabc,
                generation: 7,
                immutable,
            };
            assert_eq!(mark.to_string(), text);
            assert_eq!(Mark::parse(text), Some(mark));
        }
        for other in ["", "abc", "x-1", "abc-", "abc-1-2-3", "abc-1-", "-1"] {
            assert_eq!(Mark::parse(other), None, "{other:?}");
        }
    }
}
