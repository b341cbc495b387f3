//! The wall time of a run: a second that follows from the seed, advanced by the paused clock.
//!
//! Guarantees: server and operators begin at the same second, and a run has the same times on every day.

use std::cell::Cell;

use tokio::time::Instant;

use crate::rng::Rng;

/// The first second and the length of the years in which runs begin, from 2000 to 2050, s.
const FIRST_S: u64 = 946_684_800;
const YEARS_S: u64 = 1_577_836_800;

thread_local! {
    /// Seconds since 1970 at the start of the run of this thread, and when that was.
    static START: Cell<Option<(u64, Instant)>> = const { Cell::new(None) };
}

/// A run begins in this thread; returns its first second since 1970.
pub fn start(seed: u64) -> u64 {
    let start_s = FIRST_S + Rng::new(seed ^ 0x7a11_0000).below(YEARS_S);
    START.set(Some((start_s, Instant::now())));
    start_s
}

/// Seconds since 1970 in the run of this thread.
pub fn now_s() -> u32 {
    let since_1970_s = START
        .get()
        .map(|(start_s, at)| start_s + at.elapsed().as_secs());
    u32::try_from(since_1970_s.unwrap_or_default()).unwrap_or(u32::MAX)
}
