//! Offers objects on a timetable and observes what becomes of each.

pub mod bystanders;
pub mod generator;
pub mod journal;
pub mod look;
pub mod object;
pub mod observer;
pub mod stand_in;
pub mod timeline;
pub mod timeout;
pub mod timetable;
