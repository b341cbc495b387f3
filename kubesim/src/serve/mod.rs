//! HTTP: connections, paths, request counts, faults, and the bytes of the answer.
//!
//! Leaves to others: what a verb does ([`crate::api`]).

mod access_review;
pub(crate) mod https;
pub(crate) mod in_process;
pub(crate) mod request;
pub(crate) mod route;
pub(crate) mod websocket;
