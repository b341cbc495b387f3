//! Statistics, noise, comparison, limits. Pure.

pub mod at_rate;
pub mod change;
pub mod claim;
pub mod compare;
pub mod convergence;
pub mod envelope;
pub mod judge;
pub mod knee;
pub mod limits;
pub mod noise;
pub mod saturation;
pub mod statistics;
pub mod suggest;
