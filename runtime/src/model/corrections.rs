//! How often the children of an owner were set back to their plan, and which of them somebody keeps changing.
//!
//! Guarantees: pure; time comes in as ms since the start. A child that is changed back more than [`LIMIT`] times
//! in a minute is in a field conflict. It is set back again after a pause that doubles, and for as long as the
//! conflict lasts; the conflict ends when the child is found as planned a while after that.
//! Leaves to others: comparing and writing (`reconcile`).

use crate::model::ChildId;

/// How often a child is set back within [`WINDOW_MS`] before that is a field conflict.
const LIMIT: u8 = 3;
const WINDOW_MS: u64 = 60_000;

/// Pause before the first correction in a conflict. A few edits by hand are set back within 10 s.
const FIRST_PAUSE_MS: u64 = 5_000;
/// With the jitter of the queue, which adds up to half of it, 5 minutes.
const LONGEST_PAUSE_MS: u64 = 200_000;

/// The children of an owner that were set back lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corrections {
    children: Vec<Corrected>,
    /// Its conflicts were told by an Event and a line in the log.
    told: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Corrected {
    id: ChildId,
    since_ms: u64,
    count: u8,
    conflict: Option<Conflict>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Conflict {
    message: Box<str>,
    pause_ms: u64,
    /// When the child may be set back again.
    correct_ms: u64,
    /// When it is looked at again: in a minute at the latest, to see whether the conflict is over.
    look_ms: u64,
}

impl Corrections {
    /// Whether the child is in a conflict and is not to be written yet.
    pub fn is_paused(&self, id: ChildId, now_ms: u64) -> bool {
        let child = self.children.iter().find(|child| child.id == id);
        let conflict = child.and_then(|child| child.conflict.as_ref());
        conflict.is_some_and(|conflict| now_ms < conflict.look_ms)
    }

    /// Whether a child in a conflict is to be looked at.
    pub fn are_due(&self, now_ms: u64) -> bool {
        self.conflicts().any(|conflict| now_ms >= conflict.look_ms)
    }

    /// What is in conflict, and in how many ms it is looked at again.
    pub fn conflict(&self, now_ms: u64) -> Option<(&str, u64)> {
        let next_ms = self.conflicts().map(|conflict| conflict.look_ms).min()?;
        let first = self.conflicts().next()?;
        Some((&first.message, next_ms.saturating_sub(now_ms)))
    }

    /// Whether the conflicts were not told yet. They are from then on.
    pub fn tell(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// The child differs from its plan: whether it may be set back at once. If not, it is in a conflict, which
    /// `message` describes.
    pub fn permit(&mut self, id: ChildId, now_ms: u64, message: impl FnOnce() -> String) -> bool {
        let Some(child) = self.child(id) else {
            return true;
        };
        if let Some(conflict) = &mut child.conflict {
            conflict.look_ms = conflict.correct_ms;
            return now_ms >= conflict.correct_ms;
        }
        if now_ms.saturating_sub(child.since_ms) > WINDOW_MS {
            child.count = 0;
        }
        if child.count < LIMIT {
            return true;
        }
        child.conflict = Some(Conflict::new(now_ms, message()));
        false
    }

    /// The child was set back to its plan.
    pub fn corrected(&mut self, id: ChildId, now_ms: u64) {
        let Some(child) = self.child(id) else {
            return self.children.push(Corrected {
                id,
                since_ms: now_ms,
                count: 1,
                conflict: None,
            });
        };
        match &mut child.conflict {
            Some(conflict) => conflict.corrected(now_ms),
            None if child.count == 0 => (child.since_ms, child.count) = (now_ms, 1),
            None => child.count = child.count.saturating_add(1),
        }
    }

    /// All children were compared at `now_ms` or later. A conflict that was due then and was not found to last is
    /// over: the child is as planned, or not planned any more. Whether something was set back lately.
    pub fn compared(&mut self, now_ms: u64) -> bool {
        self.children.retain(|child| {
            let conflict = child.conflict.as_ref();
            conflict.is_none_or(|conflict| conflict.look_ms > now_ms)
        });
        if self.conflicts().next().is_none() {
            self.told = false;
        }
        !self.children.is_empty()
    }

    fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.children
            .iter()
            .filter_map(|child| child.conflict.as_ref())
    }

    fn child(&mut self, id: ChildId) -> Option<&mut Corrected> {
        self.children.iter_mut().find(|child| child.id == id)
    }
}

impl Conflict {
    fn new(now_ms: u64, message: String) -> Self {
        Self {
            message: message.into(),
            pause_ms: FIRST_PAUSE_MS,
            correct_ms: now_ms + FIRST_PAUSE_MS,
            look_ms: now_ms + FIRST_PAUSE_MS,
        }
    }

    fn corrected(&mut self, now_ms: u64) {
        self.pause_ms = (self.pause_ms * 2).min(LONGEST_PAUSE_MS);
        self.correct_ms = now_ms + self.pause_ms;
        self.look_ms = now_ms + self.pause_ms.min(WINDOW_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::KindId;

    const WEB: ChildId = (KindId::OWNER, 7);

    fn permit(corrections: &mut Corrections, now_ms: u64) -> bool {
        let permitted = corrections.permit(WEB, now_ms, || "replicas".to_owned());
        if permitted {
            corrections.corrected(WEB, now_ms);
        }
        permitted
    }

    #[test]
    fn a_fourth_correction_within_a_minute_is_a_conflict_and_one_after_it_is_not() {
        let mut corrections = Corrections::default();
        for now_ms in [0, 4_000, 8_000] {
            assert!(permit(&mut corrections, now_ms));
            assert_eq!(corrections.conflict(now_ms), None);
        }
        let mut later = corrections.clone();
        assert!(permit(&mut later, 61_000), "the minute is over");
        assert!(!permit(&mut corrections, 12_000));
        assert_eq!(corrections.conflict(12_000), Some(("replicas", 5_000)));
        assert!(corrections.is_paused(WEB, 16_999) && !corrections.are_due(16_999));
        assert!(!corrections.is_paused(WEB, 17_000) && corrections.are_due(17_000));
        assert!(
            !corrections.is_paused((KindId::OWNER, 8), 12_000),
            "another child"
        );
    }

    #[test]
    fn pauses_double_up_to_their_limit_and_it_is_never_given_up() {
        let mut corrections = Corrections::default();
        for _ in 0..LIMIT {
            assert!(permit(&mut corrections, 0));
        }
        let (mut now_ms, mut corrected_at_ms) = (0, Vec::new());
        while now_ms < 3_600_000 {
            if permit(&mut corrections, now_ms) {
                corrected_at_ms.push(now_ms);
            }
            let (_, wait_ms) = corrections.conflict(now_ms).expect("it lasts");
            assert!(wait_ms > 0, "it is looked at again at once");
            now_ms += wait_ms;
        }
        let mut pauses_ms = corrected_at_ms.windows(2).map(|two| two[1] - two[0]);
        for want in [10_000, 20_000, 40_000, 80_000, 160_000, 200_000] {
            assert_eq!(pauses_ms.next(), Some(want));
        }
        assert!(pauses_ms.all(|pause_ms| pause_ms == LONGEST_PAUSE_MS));
    }

    #[test]
    fn a_conflict_is_told_once_and_ends_when_the_child_is_as_planned() {
        let mut corrections = Corrections::default();
        for _ in 0..=LIMIT {
            permit(&mut corrections, 0);
        }
        assert!(corrections.tell() && !corrections.tell());
        corrections.compared(4_999);
        assert!(
            corrections.conflict(4_999).is_some(),
            "it was not looked at"
        );
        let any = corrections.compared(5_000);
        assert!(!any && corrections.conflict(5_000).is_none());
        for _ in 0..=LIMIT {
            permit(&mut corrections, 60_000);
        }
        assert!(corrections.tell(), "another one is told again");
    }
}
