//! The operator for EdgeApps that is shipped: its resource and its plan.

pub mod edgeapp;
