//! Specs, statuses and what is known of children are kept: work needs no reads.
//!
//! Guarantees: what is kept of an owner is what a plan needs (its spec as JSON, a digest of its
//! status) and of a child its identity, its counters and digests of the planned body it was last
//! found to satisfy; everything else is skipped while decoding. A child's event is compared with the
//! plan as it comes: one that changes nothing costs nothing, one that was changed is set right from
//! the event itself. What is older than what is kept changes nothing; what a page no longer shows is
//! gone.
//!
//! Still read: an owner of which a child vanished (the owner may be gone too, and a child must not be
//! made for it); a child whose kept digests are in doubt after a conflict or an unordered join.
//!
//! When to choose it: children that change often, or an API server on which reads are dear, and
//! memory to spare for every spec.
//!
//! Why not `kube::runtime::reflector`: linked in for one kind it makes the binary 483,624 bytes larger
//! (2,910,776 -> 3,394,400; x86_64 glibc, profile `dist`, kube 5.0), it would be a second path of
//! recovery beside `source` and `join`, which all modes share and whose 410s, stalls and undecodable
//! objects are tested, and a relist of it fills a second map while the first is held. What is kept
//! here, measured with a counting allocator at 100,000 owners with two children each: 437 bytes and
//! the spec (`tests/cache_memory.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::{Child, Operator, kind_index};
use crate::cache::{Cache, Heard, Keeps, shown, unknown};
use crate::model::object::{Uid, hash32};
use crate::queue::{ChildNews, Reasons, Sight, Slot, Work};
use crate::reconcile::child;
use crate::reconcile::child::{Actual, with_labels};
use crate::reconcile::drift;
use crate::reconcile::owner;

/// What is kept of one owner.
#[derive(Debug)]
struct Kept {
    /// Without reasons: those are the queue's.
    work: Work,
    /// resourceVersion of the newest deletion of a child: what is older and not kept is gone.
    lost_version: u64,
    /// The join that last showed it.
    epoch: u8,
}

/// The mode `pruned`.
pub struct Pruned<O> {
    operator: Arc<O>,
    /// By the halves of the uid: as one `u128` they would take more room.
    owners: HashMap<[u64; 2], Box<Kept>>,
    epoch: u8,
    /// While a join is under way: owners that went meanwhile, which its pages may still show.
    departed: Option<HashSet<Uid>>,
}

impl<O: Operator> Pruned<O> {
    /// An empty store for `operator`.
    pub fn new(operator: Arc<O>) -> Self {
        Self {
            operator,
            owners: HashMap::new(),
            epoch: 0,
            departed: None,
        }
    }
}

impl<O: Operator> Cache for Pruned<O> {
    fn keeps(&self) -> Keeps {
        Keeps::Specs
    }

    fn len(&self) -> usize {
        self.owners.len()
    }

    fn seen(&mut self, work: &mut Work, page: Option<&[u64]>) -> bool {
        if self
            .departed
            .as_ref()
            .is_some_and(|gone| gone.contains(&work.uid))
        {
            return false;
        }
        let epoch = self.epoch;
        let kept = self.owners.entry(work.uid.halves()).or_insert_with(|| {
            Box::new(Kept {
                work: Work::default(),
                lost_version: 0,
                epoch,
            })
        });
        kept.epoch = epoch;
        if let Some(revisions) = page
            && work.slots_complete
        {
            kept.replace_slots(&work.slots, revisions);
        }
        let spec = work.spec.take();
        if work.resource_version >= kept.work.resource_version {
            let slots = std::mem::take(&mut work.slots);
            let mut newer = work.clone();
            newer.spec = spec;
            kept.work.refresh(newer);
            work.slots = slots;
        }
        true
    }

    fn gone(&mut self, uid: Uid) {
        self.owners.remove(&uid.halves());
        if let Some(departed) = &mut self.departed {
            departed.insert(uid);
        }
        if self.owners.capacity() > 1_024 && self.owners.len() < self.owners.capacity() / 4 {
            self.owners.shrink_to(self.owners.len() * 2);
        }
    }

    fn heard(&mut self, heard: Heard<'_>) -> Option<Work> {
        let kept = heard
            .news
            .owner_uid
            .map(|uid| self.owners.get_mut(&uid.halves()));
        match kept {
            Some(Some(kept)) => {
                let Heard {
                    owner,
                    news,
                    line,
                    at_rest,
                } = heard;
                let asked = kept.judge(&*self.operator, owner, news, line, at_rest);
                asked.filter(|_| at_rest)
            }
            // An owner that no watch and no page has shown: its children are the garbage collector's.
            Some(None) if self.departed.is_none() => None,
            _ => heard.at_rest.then(|| unknown(&heard, true)),
        }
    }

    fn complete(&self, work: &mut Work) {
        let Some(Kept { work: kept, .. }) = self.owners.get(&work.uid.halves()).map(|kept| &**kept)
        else {
            return;
        };
        if kept.resource_version >= work.resource_version {
            work.resource_version = kept.resource_version;
            work.generation = kept.generation;
            work.deleting = kept.deleting;
            work.finalizers = kept.finalizers;
            work.status = kept.status.clone();
            work.spec = kept.spec.clone();
        } else if kept.generation == work.generation {
            work.spec = kept.spec.clone();
        }
        work.slots = kept.slots.clone();
        work.slots_complete = kept.slots_complete;
    }

    fn learn(&mut self, work: &mut Work) {
        let spec = work.spec.take();
        if let Some(kept) = self.owners.get_mut(&work.uid.halves()) {
            kept.merge_slots(&work.slots);
            kept.work.slots_complete |= work.slots_complete;
            if work.resource_version >= kept.work.resource_version {
                let known = &mut kept.work;
                known.resource_version = work.resource_version;
                known.generation = work.generation;
                known.deleting = work.deleting;
                known.finalizers = work.finalizers;
                known.status = work.status.clone();
                known.spec = spec.or(known.spec.take());
            }
        }
        // The queue needs to know what it wrote, not what it looked like.
        for slot in &mut work.slots {
            slot.proof = None;
        }
    }

    fn join_began(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.departed = Some(HashSet::new());
    }

    fn join_ended(&mut self, whole: bool) {
        self.departed = None;
        if whole {
            let epoch = self.epoch;
            self.owners.retain(|_, kept| kept.epoch == epoch);
        }
    }

    fn forget(&mut self) {
        self.owners = HashMap::new();
    }
}

impl Kept {
    /// Takes in a child's event; what it asks for, if anything.
    fn judge<O: Operator>(
        &mut self,
        operator: &O,
        key: &str,
        news: &mut ChildNews,
        line: &[u8],
        at_rest: bool,
    ) -> Option<Work> {
        let place = self.place(news);
        let known = place.map_or(self.lost_version, |place| {
            self.work.slots[place].resource_version
        });
        if news.resource_version <= known {
            // Our own write, or older than what a worker has read.
            return None;
        }
        if news.deleted {
            self.lost_version = self.lost_version.max(news.resource_version);
            if let Some(place) = place {
                self.work.slots.swap_remove(place);
            }
            let planned = at_rest && !self.work.deleting && self.wants(operator, key, news);
            let reasons = Reasons::REFRESH.with(Reasons::CHECK);
            return planned.then(|| self.ask(reasons, Some((news, Sight::Gone))));
        }
        let unchanged = place.is_some_and(|place| {
            let known = &self.work.slots[place].state;
            known.generation == news.state.generation && known.generation != 0
        });
        let place = place.unwrap_or_else(|| {
            self.work.slots.reserve_exact(1);
            self.work.slots.push(Slot {
                kind: news.kind,
                name_hash: news.name_hash,
                resource_version: 0,
                state: news.state,
                proof: None,
            });
            self.work.slots.len() - 1
        });
        let slot = &mut self.work.slots[place];
        slot.resource_version = news.resource_version;
        slot.state = news.state;
        if !at_rest && unchanged {
            // The entry hears of its counters; a changed spec would have another generation.
            return None;
        }
        slot.proof = None;
        let Some((planned, plan)) = owner::plan(operator, key, &self.work) else {
            return Some(self.ask(Reasons::CHECK, None));
        };
        let child = plan.children.iter().find(|child| is::<O>(child, news));
        if let Some(child) = child {
            let kind = O::KINDS.get(usize::from(news.kind))?;
            let sight = child::sight(line);
            let actual = match &sight {
                Sight::Object(json) => Actual::decode(json, kind.workload).ok(),
                Sight::Unread | Sight::Gone => None,
            };
            let body = child
                .body
                .as_ref()
                .map(|body| with_labels::<O>(body.clone(), &planned.meta.name));
            match (body, actual) {
                (Some(body), Some(actual)) if drift::differs(&body, &actual.value).is_none() => {
                    self.work.slots[place].proof =
                        Some(child::proof(actual.uid, &body, child.immutable));
                }
                _ => {
                    news.differs = true;
                    return Some(self.ask(Reasons::CHECK, Some((news, sight))));
                }
            }
        }
        if !self.work.slots_complete {
            return Some(self.ask(Reasons::CHECK, None));
        }
        let mut status = plan.status;
        let same = owner::remember::<O>(&mut status).digest == self.work.status.digest;
        // The children are looked at again too: what their digests vouch for costs nothing.
        (!same).then(|| self.ask(Reasons::CHECK, None))
    }

    /// Whether the plan has a body for the child.
    fn wants<O: Operator>(&self, operator: &O, key: &str, news: &ChildNews) -> bool {
        owner::plan(operator, key, &self.work).is_none_or(|(_, plan)| {
            let mut wanted = plan.children.iter().filter(|child| child.body.is_some());
            wanted.any(|child| is::<O>(child, news))
        })
    }

    /// An entry for the queue; the rest is filled in when a worker takes it.
    fn ask(&self, reasons: Reasons, sight: Option<(&ChildNews, Sight)>) -> Work {
        Work {
            uid: self.work.uid,
            generation: self.work.generation,
            resource_version: self.work.resource_version,
            deleting: self.work.deleting,
            finalizers: self.work.finalizers,
            status: self.work.status.clone(),
            reasons: reasons.with(Reasons::CHILD),
            shown: sight
                .map(|(news, sight)| shown(news, sight))
                .into_iter()
                .collect(),
            ..Work::default()
        }
    }

    fn place(&self, news: &ChildNews) -> Option<usize> {
        let mut slots = self.work.slots.iter();
        slots.position(|slot| (slot.kind, slot.name_hash) == (news.kind, news.name_hash))
    }

    /// Takes over what a worker has seen or written, where it is newer.
    fn merge_slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            let known = self
                .work
                .slots
                .iter_mut()
                .find(|known| (known.kind, known.name_hash) == (slot.kind, slot.name_hash));
            match known {
                Some(known) if known.resource_version <= slot.resource_version => {
                    known.clone_from(slot);
                }
                Some(_) => {}
                None if slot.resource_version > self.lost_version => {
                    self.work.slots.reserve_exact(1);
                    self.work.slots.push(slot.clone());
                }
                None => {}
            }
        }
    }

    /// Takes over what pages have shown: what they do not show and is not younger than they are, is
    /// gone.
    fn replace_slots(&mut self, slots: &[Slot], revisions: &[u64]) {
        self.work.slots.retain(|known| {
            let page = revisions.get(usize::from(known.kind) + 1);
            page.is_none_or(|page| known.resource_version > *page)
                || slots
                    .iter()
                    .any(|slot| (known.kind, known.name_hash) == (slot.kind, slot.name_hash))
        });
        self.merge_slots(slots);
        self.work.slots_complete = true;
    }
}

fn is<O: Operator>(child: &Child, news: &ChildNews) -> bool {
    kind_index(O::KINDS, &child.kind) == Some(news.kind) && hash32(&child.name) == news.name_hash
}
