//! The cases, by what goes wrong.

pub mod admin;
pub mod broken;
pub mod gone;
pub mod half_open;
pub mod hanging;
pub mod killed;
pub mod large;
pub mod leader;
pub mod rotated;
pub mod selector;
pub mod slow_link;
pub mod storm;
pub mod unavailable;
