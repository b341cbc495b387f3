//! A streaming merge-join of owners and children: what restart, resync and lost events rest on.
//!
//! Guarantees: it writes nothing, it finds; one page of each kind is held at a time; an owner whose
//! children differ from its plan, or that has work by itself, is found exactly once.
//! Assumes that lists come in byte order of `namespace/name` (kube-apiserver on etcd and kine do),
//! and checks that always. Where it does not hold, or children are not named like their owner,
//! every owner is handed on to be checked by reads, which costs a read per owner and child.
//! Leaves to others: when to run (`controller`), doing the work (`apply`).

mod pages;
mod thin;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tracing::{info, warn};

use crate::cache::Keeps;
use crate::child::{Actual, proof, with_labels};
use crate::drift;
use crate::operator::{Child, Operator, Owner, kind_index};
use crate::owner;
use crate::queue::{Reasons, Slot, Work};
use crate::request::Api;
use crate::scope::Scope;
use pages::Pages;
pub use pages::Unread;

/// How much a join looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Owners with work of their own: after events of owners found no room.
    Owners,
    /// Owners and children.
    All,
}

/// What a join found.
#[derive(Debug)]
pub enum Found {
    /// The first page of a kind is read: its watch can be opened here.
    Opened {
        /// 0: owners, from 1: the kinds.
        kind: usize,
        /// The revision of that page.
        resource_version: u64,
    },
    /// An owner with work, or, for a cache that keeps owners, any.
    Work {
        /// `namespace/name`.
        key: String,
        /// What its page says.
        work: Box<Work>,
        /// Reasons beyond what shows on the owner itself.
        reasons: Reasons,
    },
    /// It is through.
    Done,
    /// A page could not be read.
    Failed(Unread),
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Opening(usize),
    Merging,
    Over,
}

/// A join under way.
pub struct Join<O: Operator> {
    operator: Arc<O>,
    api: Api,
    scope: Arc<Scope>,
    pages: Vec<Pages>,
    step: Step,
    last_keys: Vec<String>,
    ordered: bool,
    extent: Extent,
    keeps: Keeps,
}

impl<O: Operator> Join<O> {
    /// A join that has read nothing yet.
    ///
    /// For a cache that keeps owners it hands on those without work too; for one that keeps specs,
    /// what it found stands without a read of the owner.
    pub fn new(
        operator: Arc<O>,
        api: Api,
        scope: Arc<Scope>,
        extent: Extent,
        keeps: Keeps,
    ) -> Self {
        let kinds = match extent {
            Extent::Owners => 1,
            Extent::All => scope.len(),
        };
        Self {
            operator,
            api,
            scope,
            pages: (0..kinds).map(Pages::new).collect(),
            step: Step::Opening(0),
            last_keys: vec![String::new(); kinds],
            ordered: true,
            extent,
            keeps,
        }
    }

    /// How much it looks at.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether first pages are still to be read; they must not wait for room in the queue.
    pub fn is_opening(&self) -> bool {
        matches!(self.step, Step::Opening(_))
    }

    /// The next thing found; after `Done` and `Failed` there is nothing more.
    pub async fn next(&mut self) -> Found {
        match self.advance().await {
            Ok(found) => found,
            Err(unread) => {
                self.step = Step::Over;
                Found::Failed(unread)
            }
        }
    }

    async fn advance(&mut self) -> Result<Found, Unread> {
        loop {
            match self.step {
                Step::Opening(kind) if kind < self.pages.len() => {
                    let resource_version = self.pages[kind].open(&self.api, &self.scope).await?;
                    self.step = Step::Opening(kind + 1);
                    return Ok(Found::Opened {
                        kind,
                        resource_version,
                    });
                }
                Step::Opening(_) => {
                    for pages in &mut self.pages {
                        pages.fill(&self.api, &self.scope).await?;
                    }
                    self.step = Step::Merging;
                }
                Step::Merging => {
                    let Some((key, found)) = self.owner() else {
                        if self.pages[0].current().is_none() {
                            self.step = Step::Over;
                            return Ok(Found::Done);
                        }
                        self.pages[0].advance(&self.api, &self.scope).await?;
                        continue;
                    };
                    let (mut work, mut reasons) = (found, Reasons::default());
                    let own = work.own_reasons(O::FINALIZER.is_some());
                    if self.extent == Extent::All && self.ordered {
                        self.catch_up(&key).await?;
                    }
                    if self.extent == Extent::All && own.is_empty() && !work.deleting {
                        reasons = if self.ordered {
                            self.examine(&key, &mut work)
                        } else {
                            Reasons::CHECK.with(Reasons::READ)
                        };
                    }
                    let found = !own.with(reasons).is_empty();
                    // The first write of these carries the resourceVersion on the page.
                    let adopts = O::FINALIZER.is_some() && work.finalizers.ours.is_none();
                    let stands = adopts || own.has(Reasons::DELETE) || self.keeps == Keeps::Specs;
                    if found && !stands {
                        // A page may be old: the worker reads the owner first.
                        reasons = reasons.with(Reasons::REFRESH);
                        work.spec = None;
                    }
                    self.pages[0].advance(&self.api, &self.scope).await?;
                    if found || self.keeps != Keeps::Nothing {
                        return Ok(Found::Work {
                            key,
                            work: Box::new(work),
                            reasons,
                        });
                    }
                }
                Step::Over => return Ok(Found::Done),
            }
        }
    }

    /// The owner at hand; one that cannot be decoded is skipped and said so.
    fn owner(&mut self) -> Option<(String, Work)> {
        let seen = self.pages[0].lean()?.and_then(|object| {
            let work = owner::see::<O>(&object)?;
            Ok((object.metadata.key(), work))
        });
        match seen {
            Ok((key, work)) => {
                self.check_order(0, &key);
                Some((key, work))
            }
            Err(error) => {
                self.skip(0, &error);
                None
            }
        }
    }

    fn skip(&self, kind: usize, error: &serde_json::Error) {
        let object = self.pages[kind]
            .lean()
            .and_then(Result::ok)
            .map_or_else(|| "(unknown)".to_owned(), |object| object.metadata.key());
        self.api.metrics().undecodable.fetch_add(1, Relaxed);
        warn!(kind = self.scope.plural(kind), object, %error, "skipped an object that cannot be decoded");
    }

    fn check_order(&mut self, kind: usize, key: &str) {
        if key < self.last_keys[kind].as_str() {
            self.unordered(&format!(
                "{} does not come in order of namespace/name",
                self.scope.plural(kind)
            ));
        }
        self.last_keys[kind].clear();
        self.last_keys[kind].push_str(key);
    }

    fn unordered(&mut self, because: &str) {
        if std::mem::take(&mut self.ordered) {
            info!(
                because,
                "join without order: every owner and child is read by itself"
            );
        }
    }

    /// Moves the children's pages up to the owner `key`.
    async fn catch_up(&mut self, key: &str) -> Result<(), Unread> {
        for kind in 1..self.pages.len() {
            loop {
                let (child, named_like_owner) = match self.pages[kind].lean() {
                    None => break,
                    Some(Ok(object)) => {
                        let name = &object.metadata.name;
                        let owner = object.metadata.owner_name(&self.scope.owner_kind);
                        (
                            object.metadata.key(),
                            owner.is_none_or(|owner| owner == name),
                        )
                    }
                    Some(Err(error)) => {
                        self.skip(kind, &error);
                        self.pages[kind].advance(&self.api, &self.scope).await?;
                        continue;
                    }
                };
                if !named_like_owner {
                    self.unordered(&format!(
                        "{} {child} is not named like its owner",
                        self.scope.plural(kind)
                    ));
                    return Ok(());
                }
                if child.as_str() >= key {
                    break;
                }
                // A child without its owner is the garbage collector's business.
                self.check_order(kind, &child);
                self.pages[kind].advance(&self.api, &self.scope).await?;
            }
        }
        Ok(())
    }

    /// What the owner's plan says about its children at hand.
    fn examine(&mut self, key: &str, work: &mut Work) -> Reasons {
        let mut found: Vec<Option<Actual>> = Vec::with_capacity(self.pages.len() - 1);
        for kind in 1..self.pages.len() {
            let workload = O::KINDS[kind - 1].workload;
            let actual = self.pages[kind]
                .current()
                .and_then(|raw| Actual::read(raw, workload, key));
            if let (Some(actual), Ok(kind)) = (&actual, u8::try_from(kind - 1)) {
                work.see(Slot {
                    kind,
                    name_hash: actual.name_hash,
                    resource_version: actual.resource_version,
                    state: actual.state,
                    proof: None,
                });
            }
            found.push(actual);
        }
        work.slots_complete = true;
        let Some((owner, plan)) = owner::plan(&*self.operator, key, work) else {
            return Reasons::CHECK;
        };
        let mut differs = false;
        for child in &plan.children {
            differs |= self.child_differs(child, &owner, work, &found);
        }
        if differs {
            return Reasons::CHECK;
        }
        let mut status = plan.status;
        if owner::remember::<O>(&mut status).digest == work.status.digest {
            Reasons::default()
        } else {
            // The worker reads what the status follows from.
            Reasons::CHECK
        }
    }

    fn child_differs(
        &mut self,
        child: &Child,
        owner: &Owner<O>,
        work: &mut Work,
        found: &[Option<Actual>],
    ) -> bool {
        let (owner_name, uid) = (&*owner.meta.name, owner.meta.uid);
        if child.name != owner_name {
            work.slots_complete = false;
            self.unordered(&format!(
                "{} {:?} is not named like its owner",
                child.kind.kind, child.name
            ));
            return true;
        }
        let actual = kind_index(O::KINDS, &child.kind)
            .and_then(|kind| found.get(usize::from(kind))?.as_ref());
        let differs = match (&child.body, actual) {
            (None, None) => false,
            (None, Some(actual)) => actual.owner == Some(uid),
            (Some(_), None) => true,
            (Some(body), Some(actual)) => {
                let body = with_labels::<O>(body.clone(), owner_name);
                let differs =
                    actual.owner != Some(uid) || drift::differs(&body, &actual.value).is_some();
                let slot = work.slot(kind_index(O::KINDS, &child.kind), actual.name_hash);
                if let Some(slot) = slot
                    && !differs
                    && self.keeps == Keeps::Specs
                {
                    slot.proof = Some(proof(actual.uid, &body, child.immutable));
                }
                differs
            }
        };
        if differs {
            self.api.metrics().drift.fetch_add(1, Relaxed);
        }
        differs
    }
}

#[cfg(test)]
mod tests;
