//! Deployments whose status has yet to be written: their keys and their last state.
//!
//! Guarantees: a Deployment is held once, from the event that shows a difference until one shows
//! none; two writes of one Deployment never overlap. Pure: time comes in as a value.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use kubesim::readiness::Observed;

/// `namespace/name`.
pub(crate) type Key = Arc<str>;

pub(crate) struct Pending {
    delay: Duration,
    /// A write that failed is tried again after this.
    retry: Duration,
    entries: HashMap<Key, Entry>,
    due: BTreeSet<(Instant, Key)>,
}

struct Entry {
    seen: Observed,
    state: State,
}

enum State {
    Waiting {
        due: Instant,
    },
    /// A write of this generation is on its way.
    Writing {
        generation: i64,
    },
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    /// There is no such Deployment any more.
    Gone,
    Failed,
}

impl Pending {
    pub(crate) fn new(delay: Duration, retry: Duration) -> Pending {
        Pending {
            delay,
            retry,
            entries: HashMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Takes note of a Deployment as it is now. What is due keeps its time.
    pub(crate) fn observe(&mut self, key: Key, seen: Observed, now: Instant) {
        if !seen.differs(&seen.wanted(true, "")) {
            self.forget(&key);
        } else if let Some(entry) = self.entries.get_mut(&key) {
            entry.seen = seen;
        } else {
            let due = now + self.delay;
            self.due.insert((due, key.clone()));
            let state = State::Waiting { due };
            self.entries.insert(key, Entry { seen, state });
        }
    }

    /// The Deployment is gone, or nothing is left to do for it.
    pub(crate) fn forget(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key)
            && let State::Waiting { due } = entry.state
        {
            self.due.remove(&(due, key.clone()));
        }
    }

    /// Drops what waits: a list is to follow that shows all there is.
    pub(crate) fn restart(&mut self) {
        self.due.clear();
        self.entries
            .retain(|_, entry| matches!(entry.state, State::Writing { .. }));
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// One Deployment whose time has come; its write begins.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(Key, Observed)> {
        if self.next_due()? > now {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        let entry = self.entries.get_mut(&key)?;
        let generation = entry.seen.generation;
        entry.state = State::Writing { generation };
        Some((key, entry.seen.clone()))
    }

    /// A write has ended. The event that it causes, not its answer, says that nothing is left to do;
    /// but a change that came during the write starts its delay now.
    pub(crate) fn written(&mut self, key: &Key, how: Written, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let State::Writing { generation } = entry.state else {
            return;
        };
        let due = match how {
            Written::Failed => now + self.retry,
            Written::Done if entry.seen.generation > generation => now + self.delay,
            Written::Done | Written::Gone => {
                self.entries.remove(key);
                return;
            }
        };
        entry.state = State::Waiting { due };
        self.due.insert((due, key.clone()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const DELAY: Duration = Duration::from_millis(500);
    const RETRY: Duration = Duration::from_millis(100);

    struct Fixture {
        pending: Pending,
        start: Instant,
    }

    impl Fixture {
        fn new() -> Fixture {
            Fixture {
                pending: Pending::new(DELAY, RETRY),
                start: Instant::now(),
            }
        }

        fn at(&self, ms: u64) -> Instant {
            self.start + Duration::from_millis(ms)
        }

        fn sees(&mut self, ms: u64, generation: i64, status: Value) {
            let seen = Observed {
                name: "web".to_owned(),
                generation,
                replicas: 1,
                status,
            };
            let now = self.at(ms);
            self.pending.observe("d/web".into(), seen, now);
        }

        fn takes(&mut self, ms: u64) -> Option<i64> {
            let now = self.at(ms);
            self.pending.take_due(now).map(|(_, seen)| seen.generation)
        }

        fn ends(&mut self, ms: u64, how: Written) {
            let now = self.at(ms);
            self.pending.written(&"d/web".into(), how, now);
        }

        fn is_empty(&self) -> bool {
            self.pending.entries.is_empty() && self.pending.due.is_empty()
        }
    }

    fn ready(generation: i64) -> Value {
        let observed = Observed {
            name: "web".to_owned(),
            generation,
            replicas: 1,
            status: Value::Null,
        };
        observed.wanted(true, "T")
    }

    #[test]
    fn a_new_deployment_is_written_after_the_delay_and_then_forgotten() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 1, Value::Null);
        assert_eq!(fixture.takes(499), None);
        assert_eq!(fixture.takes(500), Some(1));
        assert_eq!(fixture.takes(501), None);
        fixture.sees(502, 1, ready(1));
        fixture.ends(503, Written::Done);
        assert!(fixture.is_empty());
    }

    #[test]
    fn the_answer_may_come_before_the_event() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 1, Value::Null);
        assert_eq!(fixture.takes(500), Some(1));
        fixture.ends(501, Written::Done);
        fixture.sees(502, 1, ready(1));
        assert!(fixture.is_empty());
    }

    #[test]
    fn a_change_while_waiting_is_part_of_the_write() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 1, Value::Null);
        fixture.sees(400, 2, Value::Null);
        assert_eq!(fixture.takes(500), Some(2));
    }

    #[test]
    fn a_change_during_the_write_has_a_delay_of_its_own() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 1, Value::Null);
        assert_eq!(fixture.takes(500), Some(1));
        fixture.sees(501, 2, Value::Null);
        fixture.ends(510, Written::Done);
        fixture.sees(511, 2, ready(1));
        assert_eq!(fixture.takes(1_009), None);
        assert_eq!(fixture.takes(1_010), Some(2));
    }

    #[test]
    fn a_failed_write_is_tried_again_and_a_gone_one_is_not() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 1, Value::Null);
        assert_eq!(fixture.takes(500), Some(1));
        fixture.ends(510, Written::Failed);
        assert_eq!(fixture.takes(609), None);
        assert_eq!(fixture.takes(610), Some(1));
        fixture.ends(620, Written::Gone);
        assert!(fixture.is_empty());
    }

    #[test]
    fn what_is_ready_is_never_written() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 3, ready(3));
        assert!(fixture.is_empty());
    }

    #[test]
    fn a_list_starts_anew_and_leaves_writes_alone() {
        let mut fixture = Fixture::new();
        fixture.sees(0, 1, Value::Null);
        assert_eq!(fixture.takes(500), Some(1));
        let now = fixture.at(500);
        let other = Observed {
            name: "other".to_owned(),
            generation: 1,
            replicas: 1,
            status: Value::Null,
        };
        fixture.pending.observe("d/other".into(), other, now);
        fixture.pending.restart();
        assert_eq!(fixture.pending.next_due(), None);
        fixture.sees(501, 1, Value::Null);
        assert_eq!(fixture.takes(5_000), None, "two writes at once");
    }
}
