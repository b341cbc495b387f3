//! Scenes: steps that have to come together, in this order and at nearly the same time, to lead where no single step
//! does.
//!
//! Guarantees: a scene follows from random numbers alone, and each of its steps is possible without the others.
//! Leaves to others: where it stands among the other steps (`schedule`).

use crate::schedule::Draw;
use crate::step::{Edit, EventFault, RequestFault, Resource, Step, When};

impl Draw {
    /// One scene.
    pub fn scene(&mut self, steps: &mut Vec<Step>) {
        let owner = self.owner();
        match self.rng.below(20) {
            0..2 => self.relist_beside_work(owner, steps),
            2..4 => self.child_that_comes_and_goes(owner, steps),
            4..6 => self.failure_while_watches_are_lost(owner, steps),
            6..8 => self.answers_that_break_off(owner, steps),
            8..10 => self.take_over_and_back(owner, steps),
            10..12 => self.crash_between_specs(owner, steps),
            12..14 => self.more_work_than_room(steps),
            14..18 => self.made_again_unseen(owner, steps),
            _ => self.crd_removed_beside_work(owner, steps),
        }
        self.wait(steps, &[1, 1_000, 20_000]);
    }

    /// History is forgotten or the operator is started, the server is slow, and an owner is made between the first pages
    /// of the relist.
    fn relist_beside_work(&mut self, owner: u16, steps: &mut Vec<Step>) {
        self.absent(owner, steps);
        let ms = self.rng.pick(&[100, 400, 1_500]);
        let resource = self.mostly_deployments();
        steps.push(request("list", resource, RequestFault::Slow { ms }, 1));
        if self.rng.one_in(2) {
            steps.push(Step::Kill { down_ms: 0 });
        } else {
            let of = self.owner();
            let fault = EventFault::Error410;
            steps.push(Step::Event { resource, fault });
            steps.push(Step::DeleteChild {
                owner: of,
                resource,
            });
        }
        self.slow_status(ms, steps);
        self.wait(steps, &[50, 100]);
        let spec = self.spec();
        steps.push(Step::Create { owner, spec });
        if self.rng.one_in(2) {
            self.wait(steps, &[60, 150]);
            self.disturb(owner, steps);
        }
    }

    /// A child is made while a watch is late, another one is deleted before the status is written, and the first one
    /// leaves the plan later.
    fn child_that_comes_and_goes(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let spec = self.subject.spec_with(&mut self.rng, false);
        steps.push(Step::Create {
            owner,
            spec: spec.clone(),
        });
        steps.push(Step::Change { owner, spec });
        self.wait(steps, &[20_000, 60_000]);
        let ms = self.rng.pick(&[400, 1_500]);
        let resource = match self.rng.one_in(4) {
            true => self.subject.plural(),
            false => self.subject.optional_child(),
        };
        let fault = EventFault::Delay { ms };
        steps.push(Step::Event { resource, fault });
        self.slow_status(ms, steps);
        let spec = self.subject.spec_with(&mut self.rng, true);
        steps.push(Step::Change { owner, spec });
        let ms = 20 + self.rng.below(150);
        steps.push(Step::Pass { ms });
        if self.rng.one_in(4) {
            self.disturb(owner, steps);
        } else {
            let resource = "deployments";
            steps.push(Step::DeleteChild { owner, resource });
        }
        self.wait(steps, &[20_000, 60_000]);
        let spec = self.subject.spec_with(&mut self.rng, false);
        steps.push(Step::Change { owner, spec });
    }

    /// The status of an owner is refused while what happens to its children is on the pages of a relist alone.
    fn failure_while_watches_are_lost(&mut self, owner: u16, steps: &mut Vec<Step>) {
        self.present(owner, steps);
        let code = self.rng.pick(&[429, 500, 503, 504]);
        let (fault, times) = (RequestFault::Refuse(code), self.rng.pick(&[3, 5, 8]));
        steps.push(request("patch", self.subject.plural(), fault, times));
        for _ in 0..1 + self.rng.below(2) {
            let fault = EventFault::Error410;
            let resource = self.mostly_deployments();
            steps.push(Step::Event { resource, fault });
        }
        self.work(owner, steps);
        self.wait(steps, &[1_000, 5_000]);
        if self.rng.one_in(4) {
            self.disturb(owner, steps);
        }
    }

    /// Something is read or written about an owner, and the answer ends early or cannot be decoded.
    fn answers_that_break_off(&mut self, owner: u16, steps: &mut Vec<Step>) {
        self.present(owner, steps);
        let verb = self.rng.pick(&["get", "get", "get", "create", "patch"]);
        let resource = match self.rng.one_in(4) {
            true => self.child(),
            false => self.subject.plural(),
        };
        let fault = match self.rng.below(4) {
            0 if verb == "get" => RequestFault::Garbage,
            1 => RequestFault::Unanswered,
            _ => RequestFault::Cut {
                bytes: self.rng.below(600) as u16,
                error: false,
            },
        };
        let times = self.rng.pick(&[1, 1, 2]);
        steps.push(request(verb, resource, fault, times));
        if self.rng.one_in(3) {
            self.work(owner, steps);
            self.wait(steps, &[60, 150]);
        }
        self.disturb(owner, steps);
    }

    /// Another controller takes a child over, somebody deletes it, and the spec changes after it was made again.
    fn take_over_and_back(&mut self, owner: u16, steps: &mut Vec<Step>) {
        if !self.rng.one_in(4) {
            self.absent(owner, steps);
        }
        self.present(owner, steps);
        let resource = self.mostly_deployments();
        steps.push(Step::TakeOver { owner, resource });
        self.wait(steps, &[500, 5_000]);
        let ms = self.rng.pick(&[100, 400, 1_500]);
        self.slow_status(ms, steps);
        steps.push(Step::DeleteChild { owner, resource });
        self.wait(steps, &[20_000, 90_000]);
        let spec = self.spec();
        steps.push(Step::Change { owner, spec });
    }

    /// A process ends within the work for the first spec, and the next one finds a spec with fewer children.
    fn crash_between_specs(&mut self, owner: u16, steps: &mut Vec<Step>) {
        self.absent(owner, steps);
        steps.push(Step::Crash {
            writes: 1 + self.rng.below(3) as u8,
            when: self
                .rng
                .pick(&[When::Before, When::Committed, When::Answered]),
            down_ms: self.rng.pick(&[500, 2_000, 30_000]),
        });
        let spec = self.subject.spec_with(&mut self.rng, true);
        steps.push(Step::Create { owner, spec });
        self.wait(steps, &[200, 1_000]);
        let spec = self.subject.spec_with(&mut self.rng, false);
        steps.push(Step::Change { owner, spec });
    }

    /// While a worker has the owner, its optional child is deleted, the watch of it is lost, somebody makes the child again,
    /// and the next spec leaves it out.
    fn made_again_unseen(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let spec = self.subject.spec_with(&mut self.rng, true);
        steps.push(Step::Create { owner, spec });
        self.wait(steps, &[20_000, 60_000]);
        let ms = self.rng.pick(&[400, 1_500, 8_000]);
        let written = match self.rng.one_in(2) {
            true => self.subject.plural(),
            false => "deployments",
        };
        let times = self.rng.pick(&[1, 2]);
        steps.push(request("patch", written, RequestFault::Slow { ms }, times));
        let spec = self.subject.spec_with(&mut self.rng, true);
        steps.push(Step::Change { owner, spec });
        self.wait(steps, &[50, 150]);
        let resource = self.subject.optional_child();
        steps.push(Step::DeleteChild { owner, resource });
        // The deletion is shown first, mostly.
        self.wait(steps, &[20, 100]);
        let fault = self.rng.pick(&[EventFault::Error410, EventFault::Close]);
        steps.push(Step::Event { resource, fault });
        steps.push(Step::MakeAgain { owner, resource });
        self.wait(steps, &[60, 400, 1_500]);
        let spec = self.subject.spec_with(&mut self.rng, false);
        steps.push(Step::Change { owner, spec });
    }

    /// While a worker has the owner or right after it, somebody frees a child of its owner, or deletes the owner so that the
    /// children stay.
    pub fn disowned_child(&mut self, steps: &mut Vec<Step>) {
        let owner = self.owner();
        self.present(owner, steps);
        let ms = self.rng.pick(&[100, 400, 1_500]);
        self.slow_status(ms, steps);
        if !self.rng.one_in(3) {
            let spec = self.spec();
            steps.push(Step::Change { owner, spec });
            self.wait(steps, &[20, 100, 400]);
        }
        if self.rng.one_in(2) {
            let edit = Edit::Owners;
            steps.push(Step::Edit { owner, edit });
        } else {
            let resource = self.subject.plural();
            let ms = self.rng.pick(&[200, 1_500]);
            let fault = EventFault::Delay { ms };
            steps.push(Step::Event { resource, fault });
            let propagation = "Orphan";
            steps.push(Step::Delete { owner, propagation });
        }
        self.wait(steps, &[100, 1_000, 20_000]);
    }

    /// All owners are made at once, and all get work at once while writes are slow: more of them than a queue has room
    /// for.
    fn more_work_than_room(&mut self, steps: &mut Vec<Step>) {
        for is_new in [true, false] {
            let resource = match self.rng.one_in(2) {
                true => self.subject.plural(),
                false => "deployments",
            };
            let (ms, times) = (
                self.rng.pick(&[400, 1_500, 8_000]),
                self.rng.pick(&[0, 2, 5]),
            );
            if times > 0 {
                steps.push(request("patch", resource, RequestFault::Slow { ms }, times));
            }
            for owner in 0..self.owners {
                let spec = self.spec();
                match is_new {
                    true => steps.push(Step::Create { owner, spec }),
                    false => self.work(owner, steps),
                }
            }
            self.wait(steps, &[1_000, 20_000, 60_000]);
        }
    }

    /// The CRD goes with its owners while there is work for one of them, and comes back at once or later; a child of
    /// another one is deleted at the same time, or its deletion is seen late.
    fn crd_removed_beside_work(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let other = self.owner();
        self.present(other, steps);
        self.present(owner, steps);
        self.work(owner, steps);
        self.wait(steps, &[60, 150, 1_000]);
        if self.rng.one_in(2) {
            self.disturb(owner, steps);
            self.wait(steps, &[60, 150]);
        }
        let seconds = self.rng.pick(&[0, 0, 1, 100]);
        steps.push(Step::RemoveCrd { seconds });
        let spec = self.spec();
        steps.push(Step::Create { owner, spec });
        if self.rng.one_in(2) {
            self.wait(steps, &[1, 60]);
            let resource = self.child();
            steps.push(Step::DeleteChild {
                owner: other,
                resource,
            });
        }
    }

    /// The owner is there, and its work is done where nothing fails.
    fn present(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let spec = self.spec();
        steps.push(Step::Create { owner, spec });
        self.wait(steps, &[20_000, 60_000]);
    }

    /// The owner is not there, and so are its children where nothing fails.
    fn absent(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let propagation = "Background";
        steps.push(Step::Delete { owner, propagation });
        self.wait(steps, &[20_000]);
    }

    /// An owner gets work.
    fn work(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let spec = self.spec();
        steps.push(match self.rng.one_in(3) {
            true => Step::Recreate { owner, spec },
            false => Step::Change { owner, spec },
        });
    }

    /// Something happens to a child.
    fn disturb(&mut self, owner: u16, steps: &mut Vec<Step>) {
        let resource = self.child();
        let edit = self.edit();
        steps.push(match self.rng.one_in(3) {
            true => Step::Edit { owner, edit },
            false => Step::DeleteChild { owner, resource },
        });
    }

    /// The next writes of an owner, its status among them, take so long.
    fn slow_status(&mut self, ms: u64, steps: &mut Vec<Step>) {
        let (resource, times) = (self.subject.plural(), self.rng.pick(&[0, 1, 1, 2]));
        if times > 0 {
            let fault = RequestFault::Slow { ms };
            steps.push(request("patch", resource, fault, times));
        }
    }

    fn mostly_deployments(&mut self) -> Resource {
        match self.rng.one_in(3) {
            true => self.child(),
            false => "deployments",
        }
    }

    fn wait(&mut self, steps: &mut Vec<Step>, most_ms: &[u64]) {
        let most_ms = self.rng.pick(most_ms);
        let ms = self.rng.below(most_ms);
        steps.push(Step::Pass { ms });
    }
}

fn request(verb: &'static str, resource: Resource, fault: RequestFault, times: u8) -> Step {
    Step::Request {
        verb,
        resource,
        fault,
        times,
    }
}
