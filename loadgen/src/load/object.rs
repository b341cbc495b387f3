//! What happened to one object: T0 intended, sent, T1 acknowledged with generation g, T2 the watch
//! shows `observedGeneration >= g`, T3 Ready.
//!
//! Guarantees: what is kept of an object is bounded, however often its status changes. Leaves to
//! others: the waves of all objects (`timeline`).

/// What one watch event says about convergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    pub observed_generation: i64,
    pub ready: bool,
}

/// One object's life within a wave (a creation or an update of everything).
#[derive(Debug, Clone, Default)]
pub struct Object {
    pub intended_ns: Option<u64>,
    pub sent_ns: Option<u64>,
    pub acked_ns: Option<u64>,
    pub gone_ns: Option<u64>,
    pub failed: Option<Failed>,
    /// The generation to converge to: 1 until the acknowledgement says otherwise.
    generation: i64,
    /// The generation before this wave, and what was seen last of it.
    before: Option<(i64, Observation)>,
    /// The newest generation that was seen to be observed, in whatever wave.
    newest_observed: i64,
    /// Distinct things seen, in order of time; bounded, see [`Object::record`].
    steps: Vec<(u64, Observation)>,
}

/// Why a request of ours brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// The server said no.
    Rejected,
    /// The server was overloaded or failing, and said nothing about the object: 429, or 500 and above.
    Disturbed { status: u16 },
    /// Nobody knows: no answer, or none that is one.
    Unanswered,
}

impl Failed {
    /// By the HTTP status of the answer, where there was one.
    pub fn of(status: Option<u16>) -> Self {
        match status {
            Some(status @ (429 | 500..)) => Failed::Disturbed { status },
            Some(_) => Failed::Rejected,
            None => Failed::Unanswered,
        }
    }
}

/// An object's latest step replaces the one before it once this many were seen: a subject that
/// flaps must not grow the generator.
const MOST_STEPS: usize = 16;

impl Object {
    pub fn record(&mut self, now_ns: u64, seen: Observation) {
        self.newest_observed = self.newest_observed.max(seen.observed_generation);
        if self.steps.last().is_some_and(|(_, last)| *last == seen) {
            return;
        }
        if self.steps.len() == MOST_STEPS {
            self.steps.pop();
        }
        self.steps.push((now_ns, seen));
    }

    pub fn acknowledge(&mut self, now_ns: u64, generation: i64) {
        self.acked_ns = Some(now_ns);
        self.generation = generation;
        // The update has changed nothing: no event will come, and what was seen last holds.
        if let Some((_, seen)) = self.before.filter(|(before, _)| *before == generation)
            && self.steps.is_empty()
        {
            self.steps.push((now_ns, seen));
        }
    }

    /// A wave begins: neither the send times nor what was seen of the last generation count.
    pub fn begin_wave(&mut self) {
        (self.intended_ns, self.sent_ns, self.acked_ns) = (None, None, None);
        self.failed = None;
        let last = self.steps.last().map(|(_, seen)| (self.generation, *seen));
        // Without a generation nothing says whether it was changed.
        self.before = last.filter(|(generation, _)| *generation > 0);
        self.generation = self.generation.max(1) + 1;
        self.steps.clear();
    }

    /// A wave begins on the same object: what is seen from here on counts, of any generation.
    pub fn begin_flip(&mut self) {
        self.begin_wave();
        self.before = None;
        self.generation = 0;
    }

    /// Generations that were acknowledged and not yet observed.
    pub fn behind(&self) -> u64 {
        (self.generation - self.newest_observed)
            .max(0)
            .unsigned_abs()
    }

    /// Whether it was told that its child is not ready, and now says so.
    pub fn is_not_ready(&self) -> bool {
        let latest = self.steps.last();
        self.acked_ns.is_some() && latest.is_some_and(|(_, seen)| !seen.ready)
    }

    /// T2.
    pub fn observed_ns(&self) -> Option<u64> {
        self.first(|seen| seen.observed_generation >= self.generation.max(1))
    }

    /// T3.
    pub fn ready_ns(&self) -> Option<u64> {
        self.first(|seen| seen.ready && seen.observed_generation >= self.generation.max(1))
    }

    fn first(&self, holds: impl Fn(&Observation) -> bool) -> Option<u64> {
        self.steps
            .iter()
            .find(|(_, seen)| holds(seen))
            .map(|(at, _)| *at)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn seen(observed_generation: i64, ready: bool) -> Observation {
        Observation {
            observed_generation,
            ready,
        }
    }

    #[test]
    fn an_update_that_changes_nothing_is_not_waited_for() {
        let mut object = Object::default();
        object.acknowledge(1, 1);
        object.record(2, seen(1, true));
        object.begin_wave();
        assert_eq!(object.ready_ns(), None);
        object.acknowledge(5, 1);
        assert_eq!(
            (object.observed_ns(), object.ready_ns()),
            (Some(5), Some(5))
        );
        // One that changes something is.
        object.begin_wave();
        object.acknowledge(7, 2);
        assert_eq!(object.ready_ns(), None);
        object.record(8, seen(2, true));
        assert_eq!(object.ready_ns(), Some(8));
        // What is seen of a flip is of any generation, and has to be new.
        object.begin_flip();
        object.acknowledge(9, 0);
        assert_eq!(object.ready_ns(), None);
    }

    #[test]
    fn an_object_converges() {
        struct Case {
            name: &'static str,
            generation: i64,
            steps: Vec<(u64, Observation)>,
            want: (Option<u64>, Option<u64>),
        }
        let cases = [
            Case {
                name: "nothing seen",
                generation: 1,
                steps: vec![],
                want: (None, None),
            },
            Case {
                name: "created, not observed",
                generation: 1,
                steps: vec![(1, seen(0, false))],
                want: (None, None),
            },
            Case {
                name: "observed, then ready",
                generation: 1,
                steps: vec![(1, seen(0, false)), (2, seen(1, false)), (3, seen(1, true))],
                want: (Some(2), Some(3)),
            },
            Case {
                name: "ready of an older generation does not count",
                generation: 2,
                steps: vec![(1, seen(1, true)), (2, seen(2, false)), (5, seen(2, true))],
                want: (Some(2), Some(5)),
            },
            Case {
                name: "both at once",
                generation: 3,
                steps: vec![(4, seen(3, true))],
                want: (Some(4), Some(4)),
            },
            Case {
                name: "the first time counts, whatever follows",
                generation: 1,
                steps: vec![(2, seen(1, true)), (3, seen(1, false)), (4, seen(1, true))],
                want: (Some(2), Some(2)),
            },
        ];
        for case in cases {
            let mut object = Object::default();
            case.steps
                .iter()
                .for_each(|(at, step)| object.record(*at, *step));
            object.acknowledge(0, case.generation);
            assert_eq!(
                (object.observed_ns(), object.ready_ns()),
                case.want,
                "{}",
                case.name
            );
        }
    }

    #[test]
    fn an_overloaded_or_failing_server_has_said_nothing_about_the_object() {
        for (status, want) in [
            (Some(429), Failed::Disturbed { status: 429 }),
            (Some(500), Failed::Disturbed { status: 500 }),
            (Some(503), Failed::Disturbed { status: 503 }),
            (Some(403), Failed::Rejected),
            (Some(422), Failed::Rejected),
            (None, Failed::Unanswered),
        ] {
            assert_eq!(Failed::of(status), want, "{status:?}");
        }
    }

    #[test]
    fn a_flapping_object_stays_bounded() {
        let mut object = Object::default();
        (0..10_000).for_each(|at| object.record(at, seen(1, at % 2 == 0)));
        assert!(object.steps.len() <= MOST_STEPS);
        assert_eq!(object.ready_ns(), Some(0));
    }
}
