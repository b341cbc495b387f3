//! Code that the benches share: measuring figures, printing them, and comparing them with published ones.

#![allow(dead_code)] // each bench uses a part of it

pub mod canned;
pub mod effort;
pub mod exact;
pub mod figure;
pub mod image;
pub mod object;
pub mod operators;
pub mod published;
pub mod run;
pub mod server;
