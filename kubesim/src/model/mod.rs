//! The nouns: kinds, objects as JSON and as stored records, metadata, selectors, errors of the API.
//!
//! Pure: no clock, no lock, no I/O.

pub(crate) mod built_in;
pub(crate) mod built_ins;
pub(crate) mod event_view;
pub(crate) mod json;
pub(crate) mod kind;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod record;
pub(crate) mod selector;
pub(crate) mod status;
pub(crate) mod versions;
