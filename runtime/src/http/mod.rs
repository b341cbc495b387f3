//! One request to the API server: where to, within which bounds, as whom.

pub mod client;
pub mod paths;
pub mod permission;
pub mod request;
