//! What Tare is tested and measured against.

pub mod embedded;
