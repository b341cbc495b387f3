//! One request to the API server: where to, within which bounds, as whom.

pub mod client;
pub(crate) mod paths;
pub(crate) mod permission;
pub(crate) mod request;
