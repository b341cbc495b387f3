//! The operators of `examples/`, on the embedded server, in every cache mode.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod echo;
mod inference_service;
mod myservice;
mod webapp;
