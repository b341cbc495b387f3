//! How long the thread waits for more before it looks at its sockets. What comes alone costs a wake-up each, which
//! is a quarter of the CPU of a burst; what comes meanwhile is taken with it.
//!
//! Guarantees: pure, time comes in as milliseconds. Nothing waits while workers are free, and with a server that
//! answers at once. Leaves to others: the wait itself ([`Config::pause`](crate::controller::Config)).

/// The longest pause, ms. With a longer one a burst takes longer and saves little more.
const LONGEST_MS: u64 = 5;

/// The part of a reconcile that one pause is at most. Three requests, each answered half a pause later on average,
/// then take at most a tenth longer.
const PART: u64 = 16;

/// What a reconcile counts for in the average: one eighth.
const WEIGHT: u64 = 8;

/// A reconcile that took longer counts as this, ms: it waited for something else than the server.
const LONGEST_RECONCILE_MS: u64 = 1_000;

/// How long reconciles take.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Their moving average times `WEIGHT`, ms.
    weighted_ms: u64,
}

impl Pace {
    /// A reconcile took `took_ms`.
    pub fn ended(&mut self, took_ms: u64) {
        self.weighted_ms += took_ms.min(LONGEST_RECONCILE_MS);
        self.weighted_ms -= self.weighted_ms / WEIGHT;
    }

    /// How long the thread waits for more, ms. `pressure`: more owners wait than workers are free.
    pub fn pause_ms(&self, pressure: bool) -> u64 {
        match pressure {
            true => (self.weighted_ms / WEIGHT / PART).min(LONGEST_MS),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause after many reconciles that took so long.
    fn after(took_ms: u64) -> Pace {
        let mut pace = Pace::default();
        (0..100).for_each(|_| pace.ended(took_ms));
        pace
    }

    #[test]
    fn nothing_waits_while_workers_are_free() {
        assert_eq!(after(180).pause_ms(false), 0);
    }

    #[test]
    fn a_pause_is_a_small_part_of_what_a_reconcile_takes() {
        let pauses = [0, 5, 20, 40, 180, 5_000].map(|took_ms| after(took_ms).pause_ms(true));
        assert_eq!(pauses, [0, 0, 1, 2, 5, 5]);
    }

    #[test]
    fn it_follows_a_server_that_becomes_fast() {
        let mut pace = after(180);
        (0..30).for_each(|_| pace.ended(2));
        assert_eq!(pace.pause_ms(true), 0);
    }
}
