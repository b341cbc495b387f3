//! Tare.
pub mod edgeapp;
pub mod operator;
