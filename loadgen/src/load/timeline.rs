//! All objects of a run, wave by wave.
//!
//! Guarantees: an event may arrive before its acknowledgement and still counts; what never
//! converged stays in the table (censored); how far a wave has come costs the same to ask however
//! many objects there are. Leaves to others: a single object (`object`), and the clock; times are
//! nanoseconds since the start of the run.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::load::generator::Act;
use crate::load::object::{Failed, Object, Observation};
use crate::record::samples::{Sample, Samples};
use crate::spec::workload::{CANARY, canary};

/// All objects of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    objects: Vec<Object>,
    /// Those of the wave: the others are not touched and do not count.
    part: Range<usize>,
    /// Kept by [`Timeline::change`].
    progress: Progress,
    /// The waves that have ended.
    ended: Samples,
    wave_ended: bool,
    /// Whether nothing is kept of a wave once the next one begins.
    pub forgets_ended: bool,
    pub canary: Object,
    /// How many canaries there are beside the first; the last one is [`Timeline::canary`].
    further_canaries: usize,
    /// Watch events of any object, the canary included.
    pub events: u64,
    /// Those of canaries.
    canary_events: u64,
    /// When the last of them came.
    pub last_event_ns: u64,
    /// What was said to requests that failed, in order of first occurrence, and how often; at
    /// most `MOST_WORDS`, then all others together.
    pub failures: Vec<(String, u64)>,
    /// Answers that disturbed the measurement: by HTTP status how often, in all waves.
    pub disturbances: BTreeMap<u16, u64>,
    /// Watches that have a version to start from: nothing of theirs is missed from there on.
    pub listed: usize,
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
            part: 0..objects,
            ..Self::default()
        }
    }

    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The indices of those of the wave.
    pub fn part(&self) -> Range<usize> {
        self.part.clone()
    }

    /// Those of the wave.
    pub fn in_wave(&self) -> &[Object] {
        self.objects.get(self.part.clone()).unwrap_or(&[])
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
        if !self.part.contains(&index) {
            return;
        }
        let others = self.progress.with(before, u64::wrapping_sub);
        self.progress = others.with(after, u64::wrapping_add);
    }

    /// Another canary takes the place of the last one; its name.
    pub fn next_canary(&mut self) -> String {
        self.further_canaries += 1;
        self.canary = Object::default();
        canary(self.further_canaries)
    }

    /// What was seen of the canary.
    pub fn record_canary(&mut self, now_ns: u64, seen: Observation) {
        self.canary_events += 1;
        self.canary.record(now_ns, seen);
    }

    /// Watch events of the objects that are measured.
    pub fn events_of_objects(&self) -> u64 {
        self.events - self.canary_events
    }

    /// The name of the canary.
    pub fn canary_name(&self) -> String {
        canary(self.further_canaries)
    }

    /// Whether the canary has this name.
    pub fn is_canary(&self, name: &str) -> bool {
        // Most objects are none, and every event asks.
        name.starts_with(CANARY) && name == canary(self.further_canaries)
    }

    /// How many have been created.
    pub fn canaries(&self) -> usize {
        1 + self.further_canaries
    }

    pub fn count_event(&mut self, now_ns: u64) {
        self.events += 1;
        self.last_event_ns = now_ns;
    }

    /// Starts a wave of what is done to some of the objects: only what is seen from here on counts.
    pub fn begin(&mut self, act: Act, part: Range<usize>) {
        let begin = match act {
            // Neither the send times nor what was seen of the last generation count.
            Act::Update(_) => Object::begin_wave,
            // What is seen counts, of any generation.
            Act::Child(_) => Object::begin_flip,
            Act::Create | Act::Delete => |object: &mut Object| *object = Object::default(),
        };
        self.end_wave();
        if self.forgets_ended {
            self.ended.waves.clear();
        }
        self.wave_ended = false;
        self.part = part;
        let objects = self.objects.get_mut(self.part.clone());
        objects.into_iter().flatten().for_each(begin);
        self.progress = self.scan();
    }

    /// How far the wave has come; costs the same however many objects there are.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The same, counted object by object.
    fn scan(&self) -> Progress {
        let all = self.in_wave().iter().map(Progress::of);
        all.fold(Progress::default(), |sum, one| {
            sum.with(one, u64::wrapping_add)
        })
    }

    /// Whether every object of the wave has come this far.
    pub fn all(&self, reached: fn(&Progress) -> u64) -> bool {
        reached(&self.progress()) == self.in_wave().len() as u64
    }

    pub fn fail(&mut self, index: usize, failed: Failed, words: String) {
        self.change(index, |object| object.failed = Some(failed));
        if let Failed::Disturbed { status } = failed {
            *self.disturbances.entry(status).or_default() += 1;
        }
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
        self.in_wave().iter().filter_map(|o| o.acked_ns).min()
    }

    /// What was said to the first request that failed, and how many did.
    pub fn failed(&self) -> Option<(&str, u64)> {
        let (first, _) = self.failures.first()?;
        Some((first, self.failures.iter().map(|(_, times)| times).sum()))
    }

    /// The times of the wave that is under way, in whole microseconds.
    pub fn wave(&self) -> Vec<Sample> {
        let us = |ns: Option<u64>| ns.map(|ns| ns / 1_000);
        let sample = |object: &Object| Sample {
            intended_us: us(object.intended_ns),
            sent_us: us(object.sent_ns),
            acked_us: us(object.acked_ns),
            observed_us: us(object.observed_ns()),
            ready_us: us(object.ready_ns()),
        };
        self.in_wave().iter().map(sample).collect()
    }

    /// Ends the wave for the evidence: what is seen from here on is not among its samples. Returns
    /// them; does nothing where the wave has ended already, or nothing was sent.
    pub fn end_wave(&mut self) -> &[Sample] {
        let sent = |object: &Object| object.sent_ns.is_some();
        if !self.wave_ended && self.in_wave().iter().any(sent) {
            self.ended.waves.push(self.wave());
            self.wave_ended = true;
        }
        self.ended.waves.last().map_or(&[], Vec::as_slice)
    }

    /// Ends the wave; all waves, as the evidence keeps them.
    pub fn samples(&mut self) -> &Samples {
        self.end_wave();
        &self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::object::tests::seen;
    use proptest::prelude::*;

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
    fn what_is_seen_of_a_canary_before_the_last_does_not_count() {
        let mut timeline = Timeline::of(1);
        assert!(timeline.is_canary("canary"));
        timeline.canary.acknowledge(1, 1);
        timeline.canary.record(2, seen(1, true));
        let name = timeline.next_canary();
        assert!(timeline.is_canary(&name) && !timeline.is_canary("canary"));
        assert_eq!(timeline.canary.observed_ns(), None);
        assert_eq!(timeline.canaries(), 2);
    }

    #[test]
    fn a_new_wave_does_not_count_the_last_one() {
        let mut timeline = Timeline::of(1);
        timeline.change(0, |o| o.record(5, seen(1, true)));
        timeline.change(0, |o| o.acknowledge(6, 1));
        timeline.begin(super::Act::Update(1), 0..timeline.objects.len());
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
    fn a_wave_of_some_objects_leaves_the_others_alone() {
        let mut timeline = Timeline::of(4);
        (0..4).for_each(|index| timeline.change(index, |o| o.acknowledge(1, 1)));
        (0..4).for_each(|index| timeline.change(index, |o| o.record(2, seen(1, true))));
        timeline.begin(super::Act::Create, 1..3);
        assert_eq!(timeline.progress(), Progress::default());
        timeline.change(0, |o| o.gone_ns = Some(3));
        timeline.change(2, |o| o.gone_ns = Some(4));
        assert_eq!(timeline.progress().gone, 1, "only those of the wave count");
        assert_eq!((timeline.in_wave().len(), timeline.wave().len()), (2, 2));
        assert!(timeline.objects()[3].ready_ns().is_some(), "as it was");
        timeline.begin(super::Act::Update(1), 0..timeline.objects.len());
        assert_eq!(timeline.in_wave().len(), 4);
    }

    #[test]
    fn every_wave_is_kept_and_what_comes_after_its_end_is_not_in_it() {
        let mut timeline = Timeline::of(1);
        timeline.change(0, |o| o.sent_ns = Some(1_500));
        assert_eq!(timeline.end_wave()[0].sent_us, Some(1));
        timeline.change(0, |o| o.sent_ns = Some(9_000));
        timeline.begin(super::Act::Update(1), 0..timeline.objects.len());
        timeline.change(0, |o| o.sent_ns = Some(12_000));
        let waves = &timeline.samples().waves;
        let sent: Vec<_> = waves.iter().map(|wave| wave[0].sent_us).collect();
        assert_eq!(sent, [Some(1), Some(12)]);
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

    /// Something that happens to a timeline.
    #[derive(Debug, Clone)]
    enum Act {
        Send(usize),
        Acknowledge(usize, i64),
        Fail(usize),
        See(usize, i64, bool),
        Gone(usize),
        Wave,
        WaveOf(usize),
        Flip,
        Again,
        AgainOf(usize),
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
            (0..OBJECTS).prop_map(Act::WaveOf),
            Just(Act::Flip),
            Just(Act::Again),
            (0..OBJECTS).prop_map(Act::AgainOf),
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
                    Act::Wave => timeline.begin(super::Act::Update(1), 0..OBJECTS),
                    Act::WaveOf(from) => timeline.begin(super::Act::Update(1), from..OBJECTS),
                    Act::AgainOf(to) => timeline.begin(super::Act::Create, 0..to),
                    Act::Flip => timeline.begin(super::Act::Child(true), 0..OBJECTS),
                    Act::Again => timeline.begin(super::Act::Create, 0..OBJECTS),
                }
                prop_assert_eq!(timeline.progress(), timeline.scan());
            }
        }
    }
}
