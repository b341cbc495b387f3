//! The offer: objects are created, updated or deleted on an absolute timetable.
//!
//! Guarantees: open loop: a slow answer delays no due time, it makes later sends late, and late
//! is recorded; at most [`CONNECTIONS`] requests are in flight. A refusal is counted and kept,
//! never retried. Leaves to others: the pace, and what becomes of the objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::cluster::{Cluster, Error};
use crate::journal::Journal;
use crate::scenario::{Scenario, object_name};
use crate::schedule::Pace;

/// Enough to keep a local server busy on a few cores, and few enough for its in-flight limits.
const CONNECTIONS: usize = 24;

/// What is done to every object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Create,
    /// The wave's number makes its content differ from the last one's.
    Update(u64),
    Delete,
}

/// One offer.
#[derive(Clone)]
pub struct Offer {
    pub cluster: Cluster,
    pub scenario: Arc<Scenario>,
    pub seed: u64,
    pub journal: Arc<Journal>,
    pub act: Act,
    pub pace: Pace,
    pub objects: usize,
}

impl Offer {
    /// Sends everything and returns when the last answer is there. Dropping it stops the sending.
    pub async fn send(self) {
        let start = Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let mut senders = JoinSet::new();
        for _ in 0..CONNECTIONS.min(self.objects) {
            let (offer, next) = (self.clone(), next.clone());
            senders.spawn(async move {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= offer.objects {
                        return;
                    }
                    offer.send_one(index, start).await;
                }
            });
        }
        while senders.join_next().await.is_some() {}
    }

    async fn send_one(&self, index: usize, start: Instant) {
        let name = object_name(index);
        let body = match self.act {
            Act::Create => self.scenario.object(&name, index, self.seed),
            Act::Update(wave) => self.scenario.update(&name, index, self.seed, wave),
            Act::Delete => Vec::new(),
        };
        let due = start + self.pace.due(index);
        sleep_until(due).await;
        let sent = Instant::now();
        {
            let mut timeline = self.journal.timeline();
            let object = &mut timeline.objects[index];
            object.intended_ns = Some(self.journal.ns(due));
            object.sent_ns = Some(self.journal.ns(sent));
        }
        let answer = self.request(&name, body).await;
        let now_ns = self.journal.now_ns();
        let mut timeline = self.journal.timeline();
        match answer {
            Ok(generation) => timeline.objects[index].acknowledge(now_ns, generation),
            Err(error) => timeline.refuse(error.to_string()),
        }
    }

    async fn request(&self, name: &str, body: Vec<u8>) -> Result<i64, Error> {
        let resource = &self.scenario.resource;
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
