//! When memory that the work has freed is given back to the kernel: every few seconds of work, and once
//! more when it has been quiet for as long.
//!
//! Guarantees: pure, time comes in as milliseconds; after the last work there is one turn, at which
//! connections that work no more are closed. Leaves to others: giving back (`allocator`).

use crate::http::client::IDLE;

/// After the first work since the last turn, and after the last work of all, ms: a connection is
/// closed within twice the time that one may be idle.
const AFTER_MS: u64 = 2 * IDLE.as_secs() * 1_000 + 1_000;

/// The next turn, if there is one.
#[derive(Debug, Default)]
pub struct TrimTimer {
    due_ms: Option<u64>,
    worked_ms: u64,
}

impl TrimTimer {
    /// Something was worked off.
    pub fn worked(&mut self, now_ms: u64) {
        self.worked_ms = now_ms;
        self.due_ms.get_or_insert(now_ms + AFTER_MS);
    }

    pub fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }

    /// Whether it is time; then the next turn follows from the last work.
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

    /// When it is due, asked every 100 ms, with work at these times.
    fn turns(work_ms: &[u64]) -> Vec<u64> {
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
    fn the_last_turn_is_a_while_after_the_last_work() {
        let burst: Vec<u64> = (0..=9_500).step_by(100).collect();
        for (work_ms, due_ms) in [
            (vec![], vec![]),
            (vec![1_000], vec![8_000]),
            (vec![1_000, 7_900], vec![8_000, 14_900]),
            (burst, vec![7_000, 14_000, 16_500]),
            (vec![1_000, 30_000], vec![8_000, 37_000]),
        ] {
            assert_eq!(turns(&work_ms), due_ms, "{work_ms:?}");
        }
    }
}
