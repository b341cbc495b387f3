//! The offer: objects are created, updated or deleted on an absolute timetable.
//!
//! Guarantees: open loop: a slow answer delays no due time, it makes later sends late, and late
//! is recorded; at most [`CONNECTIONS`] requests are in flight. A rejected request is counted,
//! never retried. Leaves to others: the pace, and what becomes of the objects.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::load::journal::Journal;
use crate::load::object::Failed;
use crate::load::timetable::Pace;
use crate::spec::workload::{Readiness, Resource, Scenario, template};
use crate::target::cluster::{CONNECTIONS, Cluster, Error};

/// What is done to every object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Create,
    /// The wave's number makes its content differ from the last one's.
    Update(u64),
    /// What a node would say: the child is ready, or it is not.
    Child(bool),
    Delete,
}

/// Sends one wave of requests on a timetable.
#[derive(Clone)]
pub struct Generator {
    pub cluster: Cluster,
    pub scenario: Arc<Scenario>,
    pub seed: u64,
    pub journal: Arc<Journal>,
    pub act: Act,
    /// For [`Act::Child`].
    pub readiness: Option<Arc<Readiness>>,
    pub pace: Pace,
    /// Those that it is done to.
    pub objects: Range<usize>,
    /// How many requests there are: beyond the last object the first one has its turn again.
    pub requests: usize,
}

impl Generator {
    /// Sends everything and returns when the last answer is there. Dropping it stops the sending,
    /// and whether the requests in flight were executed stays unknown.
    pub async fn send(self) {
        self.send_until(std::future::pending()).await;
    }

    /// The same, but sends nothing more after `halted`: it then only awaits what is in flight.
    pub async fn send_until(self, halted: impl Future<Output = ()>) {
        let start = Instant::now();
        let (halt, halting) = watch::channel(false);
        let next = Arc::new(AtomicUsize::new(0));
        let mut senders = JoinSet::new();
        for _ in 0..CONNECTIONS.min(self.requests) {
            let (offer, next, mut halting) = (self.clone(), next.clone(), halting.clone());
            senders.spawn(async move {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= offer.requests {
                        return;
                    }
                    let objects = offer.objects.len().max(1);
                    let (turn, index) = (nth / objects, offer.objects.start + nth % objects);
                    let due = start + offer.pace.due(nth);
                    tokio::select! {
                        biased;
                        _ = halting.wait_for(|halted| *halted) => return,
                        () = sleep_until(due) => {}
                    }
                    offer.send_one(index, turn as u64, due).await;
                }
            });
        }
        let all_answered = async { while senders.join_next().await.is_some() {} };
        let mut all_answered = std::pin::pin!(all_answered);
        tokio::select! {
            () = &mut all_answered => return,
            () = halted => {}
        }
        halt.send_replace(true);
        all_answered.await;
    }

    async fn send_one(&self, index: usize, turn: u64, due: Instant) {
        let part = self.scenario.part_of(index);
        let name = part.resource.object_name(index);
        let body = self.body(part, &name, index, turn);
        let sent = Instant::now();
        {
            let (intended_ns, sent_ns) = (self.journal.ns(due), self.journal.ns(sent));
            self.journal.timeline().change(index, |object| {
                if turn > 0 {
                    object.begin_wave();
                }
                object.intended_ns = Some(intended_ns);
                object.sent_ns = Some(sent_ns);
            });
        }
        let body = match body {
            Ok(body) => body,
            Err(error) => {
                let mut timeline = self.journal.timeline();
                timeline.fail(index, Failed::Rejected, error.to_string());
                return;
            }
        };
        let answer = self.request(&part.resource, &name, body).await;
        let now_ns = self.journal.now_ns();
        let mut timeline = self.journal.timeline();
        match answer {
            Ok(generation) => {
                timeline.change(index, |object| object.acknowledge(now_ns, generation))
            }
            Err(error) => {
                let failed = Failed::of(error.code());
                // Without the object's name the same rejection has the same words.
                timeline.fail(index, failed, error.words().replace(&name, "…"));
            }
        }
    }

    /// What is sent, and the path of a child.
    fn body(
        &self,
        part: &Scenario,
        name: &str,
        index: usize,
        turn: u64,
    ) -> Result<(String, Vec<u8>), template::Error> {
        let whole = |body| (String::new(), body);
        match (self.act, &self.readiness) {
            (Act::Create, _) => part.object(name, index, self.seed).map(whole),
            (Act::Update(wave), _) => {
                // Other numbers than those of further waves, which count from 1 on.
                let content = wave + (turn << 32);
                part.update(name, index, self.seed, content).map(whole)
            }
            (Act::Child(ready), Some(readiness)) => {
                readiness.status(&part.resource.namespace, name, ready)
            }
            (Act::Child(_), None) | (Act::Delete, _) => Ok(whole(Vec::new())),
        }
    }

    async fn request(
        &self,
        resource: &Resource,
        name: &str,
        (path, body): (String, Vec<u8>),
    ) -> Result<i64, Error> {
        match self.act {
            Act::Create => Ok(self
                .cluster
                .create(resource, body)
                .await?
                .metadata
                .generation),
            Act::Update(_) => Ok(self
                .cluster
                .merge(resource, name, body)
                .await?
                .metadata
                .generation),
            // The object's own generation stays; 0 stands for whichever it is.
            Act::Child(_) if path.is_empty() => Ok(0),
            Act::Child(_) => self.cluster.merge_at(&path, body).await.map(|_| 0),
            Act::Delete => self.cluster.delete(resource, name).await.map(|()| 0),
        }
    }
}

/// Within a millisecond or so: tokio's timer has that grain. The time that counts is `due`.
async fn sleep_until(due: Instant) {
    if due.saturating_duration_since(Instant::now()) > Duration::ZERO {
        tokio::time::sleep_until(due.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use kubesim::{Options, Server};

    use super::*;
    use crate::spec::workload;

    #[tokio::test]
    async fn beyond_the_last_object_the_first_one_has_its_turn_again() {
        let workload = workload::default().expect("shipped");
        let server = Server::new(Options::default());
        for definition in &workload.crds {
            server.install(&definition.text).expect("shipped");
        }
        let cluster = Cluster::simulated(&server, "tester");
        let namespace = &workload.scenario.resource.namespace;
        cluster.ensure_namespace(namespace).await.expect("made");
        let mut generator = Generator {
            cluster,
            scenario: Arc::new(workload.scenario),
            seed: 1,
            journal: Arc::new(Journal::of(4)),
            act: Act::Create,
            readiness: None,
            pace: Pace::Burst,
            objects: 0..4,
            requests: 4,
        };
        generator.clone().send().await;
        (generator.act, generator.requests) = (Act::Update(1), 10);
        generator.send().await;
        let updates = server.requests().count("tester", "patch", "edgeapps");
        let objects = server.objects("edgeapps").into_iter();
        let generations = objects.map(|object| object["metadata"]["generation"].as_u64());
        let generations: Option<u64> = generations.sum();
        // Each of them changes something.
        assert_eq!((updates, generations), (10, Some(4 + 10)));
    }
}
