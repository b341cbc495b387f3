//! An operator that runs in a cluster, seen through the API server: its pods, their memory, their log.
//!
//! Guarantees: reads only, but for `restart`. Leaves to others: when it is read, and what the figures mean.

pub mod memory;
pub mod pods;
pub mod restart;
