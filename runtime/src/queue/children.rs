//! Changes of children: to an owner with an entry they are news, to one at rest they may be work.
//!
//! Guarantees: changes that come while a worker has the owner are kept, one for each child; those of
//! an owner at rest merge for a while; a key that backs off is not hurried by what changes nothing.
//! Leaves to others: what a change asks for of an owner at rest (`cache`).

use std::sync::Arc;

use crate::queue::room::pool;
use crate::queue::{ChildNews, Offer, Queue, Reasons, State, Uid, Work};

impl Queue {
    /// Whether the owner `key` has no entry, or only one in which changes of its children merge.
    pub fn is_at_rest(&self, key: &str) -> bool {
        self.entries.get(key).is_none_or(|entry| {
            matches!(entry.state, State::Delayed { .. })
                && entry.work.reasons.has(Reasons::CHILD)
                && entry.work.attempts == 0
        })
    }

    /// A change of a child asks for work on an owner at rest; more of them merge for a while.
    pub fn offer_at_rest(&mut self, key: &str, work: Work, now_ms: u64) -> Offer {
        let offer = match self.entries.get_mut(key) {
            None => {
                let due_ms = now_ms + self.limits.merge_ms;
                self.insert(key, work, State::Delayed { due_ms })
            }
            Some(entry) => {
                let pool = pool(entry.state, &mut self.queued_bytes, &mut self.held_bytes);
                *pool -= entry.work.spec_bytes();
                entry.work.show(work);
                *pool += entry.work.spec_bytes();
                Offer::Accepted
            }
        };
        self.spare_specs(key);
        offer
    }

    /// A kind of child was listed, and its watch begins at that list: what changed before it comes as
    /// no event. A join compares the owners as they were at `owners_version`; those that were
    /// written or seen since then, and those at work, have their children read.
    pub fn listed_anew(&mut self, owners_version: u64) {
        let doubt = Reasons::CHECK.with(Reasons::READ);
        let mut doubted = Vec::new();
        for (key, entry) in &mut self.entries {
            if entry.state == State::InFlight {
                entry.doubted = true;
            } else if entry.work.own_version.max(entry.work.resource_version) > owners_version {
                entry.work.reasons = entry.work.reasons.with(doubt);
                if matches!(entry.state, State::Held { .. }) {
                    doubted.push(Arc::clone(key));
                }
            }
        }
        for key in doubted {
            self.enqueue(&key);
        }
    }

    /// A child of the owner `key`, which has an entry, changed.
    pub fn offer_child(&mut self, key: &str, news: ChildNews) -> Offer {
        let Some(entry) = self.entries.get_mut(key) else {
            return Offer::Idle;
        };
        let stranger = news
            .owner_uid
            .is_some_and(|uid| uid != entry.work.uid && entry.work.uid != Uid::default());
        if stranger && !news.deleted {
            return Offer::Idle;
        }
        match entry.state {
            State::InFlight => {
                let slot = entry
                    .news
                    .iter_mut()
                    .find(|n| (n.kind, n.name_hash) == (news.kind, news.name_hash));
                match slot {
                    Some(known) if known.resource_version < news.resource_version => *known = news,
                    Some(_) => {}
                    None => entry.news.push(news),
                }
                Offer::Accepted
            }
            State::Delayed { .. } | State::Queued => {
                let reasons = entry.work.hear(&news);
                // A key that backs off stays where it is, unless the world moved under its feet.
                let moved = news.deleted || reasons.has(Reasons::STATUS);
                entry.work.reasons = entry.work.reasons.with(reasons);
                if entry.work.attempts > 0 && moved {
                    entry.work.attempts = 0;
                    return self.enqueue(key);
                }
                Offer::Accepted
            }
            State::Held { .. } => {
                let reasons = entry.work.hear(&news);
                entry.work.reasons = entry.work.reasons.with(reasons);
                self.requeue_or_settle(key)
            }
        }
    }
}
