//! Sleeps for a moment before the thread waits for its sockets, as the controller says.
//!
//! Guarantees: a few milliseconds at most, and none while workers are free.
//! Leaves to others: how long (`controller`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long, ms. A process has one thread that waits, and one operator.
static PAUSE_MS: AtomicU64 = AtomicU64::new(0);

/// Each wait begins with a sleep of so many ms.
pub fn set(pause_ms: u64) {
    PAUSE_MS.store(pause_ms, Relaxed);
}

/// Called before the thread waits.
pub fn sleep() {
    match PAUSE_MS.load(Relaxed) {
        0 => {}
        pause_ms => std::thread::sleep(Duration::from_millis(pause_ms)),
    }
}
