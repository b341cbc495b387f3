//! One request to the API server: where to, within which bounds, as whom.

pub(crate) mod buffer;
pub mod client;
pub(crate) mod collection;
mod deadline;
pub(crate) mod paths;
pub(crate) mod permission;
pub(crate) mod request;
pub(crate) mod server_status;
