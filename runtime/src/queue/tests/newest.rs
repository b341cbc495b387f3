//! The newest that the queue was told of a child is what a worker has used, or work is pending: a model of server,
//! watches and workers around the queue, and random sequences of what may happen.
//!
//! A sequence ends with a drain: all events are shown, all that is due is taken and written, relists that were requested
//! run. The periodic relist does not exist. Then every child is as planned and every status says what its child says.
//! `QUEUE_SEQUENCES=100000` tries as many; `just simulate` does.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

mod model;
mod worker;

use crate::queue::tests::newest::model::{KINDS_OF_WATCHES, Model, OWNERS};

#[derive(Debug, Clone)]
enum Step {
    /// Somebody changes a child.
    Flap(usize),
    Edit(usize, usize, u8),
    Label(usize, usize),
    Delete(usize, usize),
    Make(usize, usize),
    /// A user changes a spec.
    Spec(usize),
    /// The watch of a kind shows so many events.
    Show(usize, usize),
    /// A worker takes an owner and works on it, at once or just before it returns.
    Take(bool),
    Return(usize, u8),
    Wake(u64),
    /// The watch of a kind of child loses what it has not shown, and a relist opens it again.
    Lose(usize),
    /// A relist shows an owner as it was before its last write.
    Past(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let owner = || 0..OWNERS;
    let child = || 0..KINDS_OF_WATCHES - 1;
    prop_oneof![
        4 => owner().prop_map(Step::Flap),
        2 => (owner(), child(), 0..3u8).prop_map(|(owner, child, edit)| Step::Edit(owner, child, edit)),
        1 => (owner(), child()).prop_map(|(owner, child)| Step::Label(owner, child)),
        1 => (owner(), child()).prop_map(|(owner, child)| Step::Delete(owner, child)),
        1 => (owner(), child()).prop_map(|(owner, child)| Step::Make(owner, child)),
        1 => owner().prop_map(Step::Spec),
        6 => (0..KINDS_OF_WATCHES, 1..4usize).prop_map(|(kind, events)| Step::Show(kind, events)),
        3 => any::<bool>().prop_map(Step::Take),
        3 => (0..4usize, 0..8u8).prop_map(|(which, outcome)| Step::Return(which, outcome)),
        3 => (0..2_000u64).prop_map(Step::Wake),
        1 => child().prop_map(Step::Lose),
        1 => owner().prop_map(Step::Past),
    ]
}

impl Model {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Flap(owner) => self.change_child(owner, 0, |object| object.ready = !object.ready),
            Step::Edit(owner, child, edit) => self.change_child(owner, child, |object| {
                object.edit = edit;
                object.generation += i64::from(child == 0);
            }),
            Step::Label(owner, child) => {
                self.change_child(owner, child, |object| object.marks += 1)
            }
            Step::Delete(owner, child) => {
                if self.owners[owner].children[child].is_some() {
                    self.set_child(owner, child, None);
                }
            }
            Step::Make(owner, child) => self.make(owner, child, 1),
            Step::Spec(owner) => {
                self.write_owner(owner, |owner| owner.generation += 1);
            }
            Step::Show(kind, events) => {
                for _ in 0..events {
                    self.show(kind);
                }
            }
            Step::Take(at_once) => {
                self.take(at_once);
            }
            Step::Return(which, how) => {
                if !self.workers.is_empty() {
                    self.give_back(which % self.workers.len(), how);
                }
            }
            Step::Wake(after_ms) => {
                self.now_ms += after_ms;
                self.queue.wake(self.now_ms);
            }
            Step::Lose(child) => self.relist(Some(child)),
            Step::Past(owner) => self.past_page(owner),
        }
        self.queue.entries.assert_consistent();
    }
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new();
    for step in steps {
        model.step(step);
    }
    model.drain().map_err(TestCaseError::fail)
}

fn try_sequences(cases: u32) -> Result<(), String> {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let sequence = proptest::collection::vec(step(), 1..80);
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let tried = runner.run(&sequence, |steps| run(&steps));
    tried.map_err(|error| error.to_string())
}

#[test]
fn the_newest_of_each_child_is_used_or_work_is_pending() {
    let cases = std::env::var("QUEUE_SEQUENCES").ok();
    let cases = cases.and_then(|cases| cases.parse().ok()).unwrap_or(5_000);
    if let Err(failed) = try_sequences(cases) {
        panic!("{failed}");
    }
}

/// The model finds each fault of what the queue does with a child.
#[cfg(feature = "mutants")]
#[test]
fn known_bugs_are_found() {
    use crate::mutants::{Mutant, choose};
    for mutant in [
        Mutant::ChildQueuedDropped,
        Mutant::ChildDelayedDropped,
        Mutant::ChildAwaitingDropped,
        Mutant::ChildInFlightDropped,
        Mutant::OlderContentKept,
        Mutant::GoneOutlivesRecreation,
        Mutant::RelistedInFlightIgnored,
        Mutant::ReadinessIgnored,
    ] {
        choose(Some(mutant));
        let found = try_sequences(5_000);
        choose(None);
        assert!(found.is_err(), "{mutant:?} is not found");
    }
}
