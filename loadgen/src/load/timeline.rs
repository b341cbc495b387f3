//! What happened to each object: T0 intended, sent, T1 acknowledged with generation g, T2 the
//! watch shows `observedGeneration >= g`, T3 Ready.
//!
//! Guarantees: an event may arrive before its acknowledgement and still counts; what never
//! converged stays in the table (censored). Leaves to others: the clock; times are nanoseconds
//! since the start of the run.

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
    /// Nobody knows: no answer, or none that is one.
    Unanswered,
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

/// All objects of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    objects: Vec<Object>,
    /// Kept by [`Timeline::change`].
    progress: Progress,
    pub canary: Object,
    /// Watch events of any object, the canary included.
    pub events: u64,
    /// What was said to requests that failed, in order of first occurrence, and how often; at
    /// most [`MOST_WORDS`], then all others together.
    pub failures: Vec<(String, u64)>,
    /// The watch has a version to start from: nothing from here on is missed.
    pub listed: bool,
    /// How often the watch was opened again.
    pub watch_restarts: u64,
    pub last_watch_error: Option<String>,
}

/// A server that says something else each time must not grow the generator.
const MOST_WORDS: usize = 10;
const OTHER_WORDS: &str = "(other words)";

/// How many objects of a wave have come how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The server has said yes, or the request has failed.
    pub answered: u64,
    pub acked: u64,
    pub observed: u64,
    pub ready: u64,
    /// Acknowledged, and its status says that it is not ready.
    pub not_ready: u64,
    pub gone: u64,
}

impl Progress {
    /// Of one object: each count is 0 or 1.
    fn of(object: &Object) -> Self {
        let acked = object.acked_ns.is_some();
        Self {
            answered: u64::from(acked || object.failed.is_some()),
            acked: u64::from(acked),
            observed: u64::from(acked && object.observed_ns().is_some()),
            ready: u64::from(acked && object.ready_ns().is_some()),
            not_ready: u64::from(object.is_not_ready()),
            gone: u64::from(object.gone_ns.is_some()),
        }
    }

    fn with(self, other: Self, sum: fn(u64, u64) -> u64) -> Self {
        Self {
            answered: sum(self.answered, other.answered),
            acked: sum(self.acked, other.acked),
            observed: sum(self.observed, other.observed),
            ready: sum(self.ready, other.ready),
            not_ready: sum(self.not_ready, other.not_ready),
            gone: sum(self.gone, other.gone),
        }
    }
}

impl Timeline {
    pub fn of(objects: usize) -> Self {
        Self {
            objects: vec![Object::default(); objects],
            ..Self::default()
        }
    }

    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The only way to change an object: the counters follow. An index beyond the last object
    /// changes nothing.
    pub fn change(&mut self, index: usize, change: impl FnOnce(&mut Object)) {
        let Some(object) = self.objects.get_mut(index) else {
            return;
        };
        let before = Progress::of(object);
        change(object);
        let after = Progress::of(object);
        let others = self.progress.with(before, u64::wrapping_sub);
        self.progress = others.with(after, u64::wrapping_add);
    }

    /// Starts a wave: neither the send times nor what was seen of the last generation count.
    pub fn begin_wave(&mut self) {
        for object in &mut self.objects {
            (object.intended_ns, object.sent_ns, object.acked_ns) = (None, None, None);
            object.failed = None;
            object.generation = object.generation.max(1) + 1;
            object.steps.clear();
        }
        self.progress = self.scan();
    }

    /// Starts a wave on the same objects: what is seen from here on counts, of any generation.
    pub fn begin_flip(&mut self) {
        self.begin_wave();
        for object in &mut self.objects {
            object.generation = 0;
        }
    }

    /// Starts a wave without objects.
    pub fn begin_again(&mut self) {
        self.objects.fill(Object::default());
        self.progress = Progress::default();
    }

    /// How far the wave has come; costs the same however many objects there are.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The same, counted object by object.
    fn scan(&self) -> Progress {
        let all = self.objects.iter().map(Progress::of);
        all.fold(Progress::default(), |sum, one| {
            sum.with(one, u64::wrapping_add)
        })
    }

    /// Whether every object has come this far.
    pub fn all(&self, reached: fn(&Progress) -> u64) -> bool {
        reached(&self.progress()) == self.objects.len() as u64
    }

    pub fn fail(&mut self, index: usize, failed: Failed, words: String) {
        self.change(index, |object| object.failed = Some(failed));
        let is_known = |words: &str| self.failures.iter().any(|(said, _)| said == words);
        let words = if is_known(&words) || self.failures.len() < MOST_WORDS {
            words
        } else {
            OTHER_WORDS.to_owned()
        };
        match self.failures.iter_mut().find(|(said, _)| *said == words) {
            Some((_, times)) => *times += 1,
            None => self.failures.push((words, 1)),
        }
    }

    /// The first acknowledgement of the wave.
    pub fn first_acked_ns(&self) -> Option<u64> {
        self.objects.iter().filter_map(|o| o.acked_ns).min()
    }

    /// What was said to the first request that failed, and how many did.
    pub fn failed(&self) -> Option<(&str, u64)> {
        let (first, _) = self.failures.first()?;
        Some((first, self.failures.iter().map(|(_, times)| times).sum()))
    }

    /// One line per object, microseconds: what the evidence keeps of every sample.
    pub fn samples(&self) -> String {
        let us = |ns: Option<u64>| ns.map_or_else(String::new, |ns| (ns / 1_000).to_string());
        let mut text =
            String::from("index\tintended_us\tsent_us\tacked_us\tobserved_us\tready_us\n");
        for (index, o) in self.objects.iter().enumerate() {
            let times = [
                o.intended_ns,
                o.sent_ns,
                o.acked_ns,
                o.observed_ns(),
                o.ready_ns(),
            ];
            text.push_str(&format!("{index}\t{}\n", times.map(us).join("\t")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(observed_generation: i64, ready: bool) -> Observation {
        Observation {
            observed_generation,
            ready,
        }
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
    fn an_event_before_the_acknowledgement_counts() {
        let mut timeline = Timeline::of(1);
        timeline.change(0, |o| o.record(5, seen(1, true)));
        assert_eq!(timeline.progress().ready, 0, "not acknowledged yet");
        timeline.change(0, |o| o.acknowledge(6, 1));
        assert_eq!(
            timeline.progress(),
            Progress {
                answered: 1,
                acked: 1,
                observed: 1,
                ready: 1,
                ..Progress::default()
            }
        );
    }

    #[test]
    fn a_new_wave_does_not_count_the_last_one() {
        let mut timeline = Timeline::of(1);
        timeline.change(0, |o| o.record(5, seen(1, true)));
        timeline.change(0, |o| o.acknowledge(6, 1));
        timeline.begin_wave();
        timeline.change(0, |o| o.record(7, seen(1, true)));
        timeline.change(0, |o| o.acknowledge(8, 2));
        assert_eq!(
            timeline.progress(),
            Progress {
                answered: 1,
                acked: 1,
                ..Progress::default()
            }
        );
        timeline.change(0, |o| o.record(9, seen(2, true)));
        assert_eq!(timeline.objects[0].ready_ns(), Some(9));
    }

    #[test]
    fn failures_are_counted_by_what_was_said_and_stay_bounded() {
        let mut timeline = Timeline::of(30);
        timeline.fail(0, Failed::Unanswered, "no answer".into());
        (1..4).for_each(|i| timeline.fail(i, Failed::Rejected, "quota".into()));
        assert_eq!(timeline.failed(), Some(("no answer", 4)));
        assert_eq!(timeline.failures[1], ("quota".to_owned(), 3));
        (4..30).for_each(|i| timeline.fail(i, Failed::Rejected, format!("reason {i}")));
        assert_eq!(timeline.failures.len(), MOST_WORDS + 1);
        assert_eq!(timeline.failures[MOST_WORDS], (OTHER_WORDS.to_owned(), 18));
        assert_eq!(timeline.failed(), Some(("no answer", 30)));
    }

    #[test]
    fn a_flapping_object_stays_bounded() {
        let mut object = Object::default();
        (0..10_000).for_each(|at| object.record(at, seen(1, at % 2 == 0)));
        assert!(object.steps.len() <= MOST_STEPS);
        assert_eq!(object.ready_ns(), Some(0));
    }

    /// Something that happens to a timeline.
    #[derive(Debug, Clone)]
    enum Act {
        Send(usize),
        Acknowledge(usize, i64),
        Fail(usize),
        See(usize, i64, bool),
        Gone(usize),
        Wave,
        Flip,
        Again,
    }

    fn act() -> impl Strategy<Value = Act> {
        // One index is beyond the last object.
        let index = 0..OBJECTS + 1;
        prop_oneof![
            index.clone().prop_map(Act::Send),
            (index.clone(), 0i64..4).prop_map(|(i, g)| Act::Acknowledge(i, g)),
            (0..OBJECTS).prop_map(Act::Fail),
            (index.clone(), 0i64..4, any::<bool>()).prop_map(|(i, g, r)| Act::See(i, g, r)),
            index.prop_map(Act::Gone),
            Just(Act::Wave),
            Just(Act::Flip),
            Just(Act::Again),
        ]
    }

    const OBJECTS: usize = 4;

    proptest! {
        #[test]
        fn counters_equal_a_scan_of_all_objects(acts in prop::collection::vec(act(), 0..200)) {
            let mut timeline = Timeline::of(OBJECTS);
            for (at, act) in (1..).zip(acts) {
                match act {
                    Act::Send(i) => timeline.change(i, |o| o.sent_ns = Some(at)),
                    Act::Acknowledge(i, generation) => {
                        timeline.change(i, |o| o.acknowledge(at, generation));
                    }
                    Act::Fail(i) => timeline.fail(i, Failed::Rejected, "quota".into()),
                    Act::See(i, generation, ready) => {
                        timeline.change(i, |o| o.record(at, seen(generation, ready)));
                    }
                    Act::Gone(i) => timeline.change(i, |o| o.gone_ns = Some(at)),
                    Act::Wave => timeline.begin_wave(),
                    Act::Flip => timeline.begin_flip(),
                    Act::Again => timeline.begin_again(),
                }
                prop_assert_eq!(timeline.progress(), timeline.scan());
            }
        }
    }
}
