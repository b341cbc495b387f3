//! The nouns: objects, keys and what is remembered of them. No I/O, no clock.

pub mod object;
pub mod timestamp;
