//! The end of an outage: the cause of many failures is gone, and owners that wait for their back-off need not.
//!
//! Guarantees: pure, time comes in as milliseconds; at most once a minute, so that a cause that comes and goes does not
//! undo back-off. Leaves to others: what is an outage and what shows its end (`engine`), trying again (`queue`),
//! relists (`schedule`).

/// Between two recoveries, ms.
const PAUSE_MS: u64 = 60_000;

/// Whether an outage is to end, and when the last one did.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// One owner after the other has failed since the last recovery, or a watch could not be opened.
    pub awaited: bool,
    last_ms: Option<u64>,
}

impl Recovery {
    /// An owner that had failed succeeds, or a watch is open that could not be opened. Whether the owners that failed
    /// are tried at once.
    pub fn begins(&mut self, now_ms: u64) -> bool {
        let lately = self
            .last_ms
            .is_some_and(|last_ms| now_ms < last_ms + PAUSE_MS);
        if !self.awaited || lately {
            return false;
        }
        (self.awaited, self.last_ms) = (false, Some(now_ms));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_once_for_an_outage_and_once_a_minute_at_most() {
        let mut recovery = Recovery::default();
        assert!(!recovery.begins(0), "nothing had failed");
        recovery.awaited = true;
        assert_eq!([1, 2].map(|now_ms| recovery.begins(now_ms)), [true, false]);
        recovery.awaited = true;
        let later = [60_000, 60_001].map(|now_ms| recovery.begins(now_ms));
        assert_eq!(later, [false, true]);
    }
}
