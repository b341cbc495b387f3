//! The EdgeApp plan.
pub struct EdgeApps;
