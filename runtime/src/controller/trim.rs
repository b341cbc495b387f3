//! When freed memory is given back to the kernel: every few seconds while there is work, and once after the
//! last work.
//!
//! Guarantees: pure, time comes in as milliseconds. The trim after the last work comes when idle connections
//! are closed. Leaves to others: the trim itself ([`Config::trim`](crate::controller::Config)).

use crate::http::client::IDLE;

/// From the first work after a trim to the next trim, and from the last work to the last trim, ms. A connection
/// is closed within twice the time that it may be idle.
const AFTER_MS: u64 = 2 * IDLE.as_secs() * 1_000 + 1_000;

/// The time of the next trim, where there is one.
#[derive(Debug, Default)]
pub(crate) struct TrimTimer {
    due_ms: Option<u64>,
    worked_ms: u64,
}

impl TrimTimer {
    /// A reconcile or a relist ended.
    pub fn worked(&mut self, now_ms: u64) {
        self.worked_ms = now_ms;
        self.due_ms.get_or_insert(now_ms + AFTER_MS);
    }

    /// When the next trim is due, ms.
    pub fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }

    /// Whether a trim is due; if so, the next one follows from the last work.
    pub fn is_due(&mut self, now_ms: u64) -> bool {
        if self.due_ms.is_none_or(|due_ms| now_ms < due_ms) {
            return false;
        }
        let last_ms = self.worked_ms + AFTER_MS;
        self.due_ms = (last_ms > now_ms).then_some(last_ms);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of trims, asked for every 100 ms, with work at these times.
    fn trims(work_ms: &[u64]) -> Vec<u64> {
        let mut trim_timer = TrimTimer::default();
        (0..60_000u64)
            .step_by(100)
            .filter(|now_ms| {
                if work_ms.contains(now_ms) {
                    trim_timer.worked(*now_ms);
                }
                trim_timer.is_due(*now_ms)
            })
            .collect()
    }

    #[test]
    fn the_last_trim_follows_the_last_work() {
        let burst: Vec<u64> = (0..=9_500).step_by(100).collect();
        for (work_ms, due_ms) in [
            (vec![], vec![]),
            (vec![1_000], vec![8_000]),
            (vec![1_000, 7_900], vec![8_000, 14_900]),
            (burst, vec![7_000, 14_000, 16_500]),
            (vec![1_000, 30_000], vec![8_000, 37_000]),
        ] {
            assert_eq!(trims(&work_ms), due_ms, "{work_ms:?}");
        }
    }
}
