//! Starts processes, watches and measures them, and reads the facts of the machine.
//!
//! Guarantees: knows nothing of Kubernetes; builds on Linux and macOS, where a figure that cannot be read is an
//! error or `None`. Leaves to others: what the figures mean.

pub mod checkout;
pub mod process;
pub mod scratch;
pub mod stand;
pub mod weigh;
