//! The user's terminal: progress on standard error, and Ctrl-C. Imports no other room.

pub mod interrupt;
pub mod progress;
