//! Patches as pure functions from an object to an object.

pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;
