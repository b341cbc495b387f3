//! A Kubernetes UID in 16 bytes.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::model::Text;

/// A Kubernetes UID. They are UUIDs (RFC 4122), so 16 bytes hold one:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#uids>.
/// Its high and its low half: one `u128` would need more alignment, and so more bytes wherever it is kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Uid([u64; 2]);

impl Uid {
    /// The uid of no object.
    pub(crate) const NOBODY: Self = Self([u64::MAX; 2]);

    /// Parses the hyphenated form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 36 {
            return None;
        }
        let mut value = 0u128;
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return None;
                }
            } else {
                value = value << 4 | u128::from(char::from(*byte).to_digit(16)?);
            }
        }
        Some(Self([(value >> 64) as u64, value as u64]))
    }

    /// 32 bits that tell objects of one name apart.
    pub(crate) fn short(self) -> u32 {
        let both = self.0[0] ^ self.0[1];
        (both >> 32) as u32 ^ both as u32
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = u128::from(self.0[0]) << 64 | u128::from(self.0[1]);
        let part = |shift: u32, bits: u32| (v >> shift) & ((1 << bits) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 32),
            part(80, 16),
            part(64, 16),
            part(48, 16),
            part(0, 48)
        )
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(text) = Text::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("uid is not a UUID"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_reads_back_as_it_was_written() {
        let text = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(
            Uid::parse(text).map(|uid| uid.to_string()).as_deref(),
            Some(text)
        );
        for bad in [
            "",
            "01234567-89ab-cdef-0123-456789abcde",
            "01234567x89ab-cdef-0123-456789abcdef",
        ] {
            assert_eq!(Uid::parse(bad), None, "{bad:?}");
        }
    }
}
