//! Statistics, noise, comparison, limits. Pure.

pub mod compare;
pub mod judge;
pub mod limits;
pub mod noise;
pub mod saturation;
pub mod statistics;
