//! HelmCharts of k3s, by a controller without a store.

pub mod chart;
pub mod digest;
pub mod go_duration;
pub mod job;
pub mod yaml;
