//! The operator for EdgeApps: its resource and its plan, on the library `tare_runtime`.

pub mod edgeapp;

/// Version and commit of this build, for example `0.1.0+1a2b3c4d5e6f`.
pub const VERSION: &str = env!("TARE_VERSION");
