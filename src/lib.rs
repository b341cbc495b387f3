//! Tare.
pub mod drift;
pub mod edgeapp;
pub mod operator;
pub mod queue;
pub mod object;
