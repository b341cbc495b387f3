//! What Tare is tested and measured against.
//!
//! Guarantees: knows nothing of EdgeApp or of any operator; everything builds on Linux and macOS.
//! Leaves to others: which operator is run, and what its figures mean, is `loadgen`'s.

pub mod checkout;
pub mod contract;
pub mod control_plane;
pub mod embedded;
pub mod node;
pub mod process;
mod readiness;
pub mod scratch;
pub mod stand;
pub mod weigh;
