//! Tare.
