//! A streaming merge-join of owners and children: what restart, resync and lost events rest on.
//!
//! Guarantees: it writes nothing, it finds; a page of each kind is held at a time; an owner whose
//! children differ from its plan, or that has work by itself, is found exactly once.
//! Where lists come in byte order of `namespace/name` (kube-apiserver on etcd and kine) and children
//! are named like their owner, one pass over all pages is enough. Both are checked always; where one
//! does not hold, owners are taken in batches and their children listed by label (`batch`).
//! Leaves to others: when to run (`controller`), doing the work (`apply`).

mod batch;
mod examine;
mod pages;
pub mod schedule;
mod thin;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tracing::{info, warn};

use crate::api::Operator;
use crate::cache::Keeps;
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::queue::{Reasons, Work};
use crate::reconcile::owner;
use crate::relist::batch::Family;
use crate::relist::pages::Pages;
pub use crate::relist::pages::Unread;

/// How much a join looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Owners with work of their own: after events of owners found no room.
    Owners,
    /// Owners and children.
    All,
}

impl Extent {
    /// Collections that are listed, the owners' among them.
    pub fn kinds(self, paths: &Paths) -> usize {
        match self {
            Extent::Owners => 1,
            Extent::All => paths.len(),
        }
    }
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
    /// It is through, and has read so many objects: owners, and as many children of each kind, which is
    /// about right and does not depend on how the children were listed.
    Done {
        /// Of all kinds.
        objects: usize,
    },
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
    paths: Arc<Paths>,
    pages: Vec<Pages>,
    step: Step,
    last_keys: Vec<String>,
    ordered: bool,
    /// Of owners that were taken in a batch.
    found: VecDeque<Found>,
    /// How many make one.
    batch: usize,
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
        paths: Arc<Paths>,
        extent: Extent,
        keeps: Keeps,
    ) -> Self {
        let kinds = extent.kinds(&paths);
        Self {
            operator,
            api,
            paths,
            pages: (0..kinds).map(Pages::new).collect(),
            step: Step::Opening(0),
            last_keys: vec![String::new(); kinds],
            ordered: true,
            found: VecDeque::new(),
            batch: batch::OWNERS,
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
                    let resource_version = self.pages[kind].open(&self.api, &self.paths).await?;
                    self.step = Step::Opening(kind + 1);
                    return Ok(Found::Opened {
                        kind,
                        resource_version,
                    });
                }
                Step::Opening(_) => {
                    for pages in &mut self.pages {
                        pages.fill(&self.api, &self.paths).await?;
                    }
                    self.step = Step::Merging;
                }
                Step::Merging if self.extent == Extent::All && !self.ordered => {
                    if let Some(found) = self.found.pop_front() {
                        return Ok(found);
                    }
                    if !self.examine_batch().await? {
                        self.step = Step::Over;
                    }
                }
                Step::Merging => {
                    let Some((key, mut work)) = self.owner() else {
                        if self.pages[0].current().is_none() {
                            self.step = Step::Over;
                            return Ok(self.done());
                        }
                        self.pages[0].advance(&self.api, &self.paths).await?;
                        continue;
                    };
                    let mut reasons = Reasons::default();
                    if self.extent == Extent::All {
                        self.catch_up(&key).await?;
                        if self.ordered {
                            let mine = self.at_hand(&key);
                            reasons = self.examine(&key, &mut work, &mine);
                        }
                        if !self.ordered {
                            // The owner at hand is the first of a batch.
                            continue;
                        }
                    }
                    self.pages[0].advance(&self.api, &self.paths).await?;
                    if let Some(found) = self.hand_on(key, work, reasons) {
                        return Ok(found);
                    }
                }
                Step::Over => return Ok(self.done()),
            }
        }
    }

    /// Examines the next owners together with their children; false when there is none left.
    async fn examine_batch(&mut self) -> Result<bool, Unread> {
        let mut owners = Vec::with_capacity(self.batch);
        while owners.len() < self.batch && self.pages[0].current().is_some() {
            owners.extend(self.owner());
            self.pages[0].advance(&self.api, &self.paths).await?;
        }
        let any = !owners.is_empty();
        while !owners.is_empty() {
            let part = self.batch.min(owners.len());
            let family = match Family::list::<O>(&self.api, &self.paths, &owners[..part]).await {
                Ok(family) => Some(family),
                Err(unread) if unread.is_too_large() && part > 1 => {
                    self.batch = (part / 4).max(1);
                    continue;
                }
                Err(unread) if unread.is_too_large() => None,
                Err(unread) => return Err(unread),
            };
            for (key, mut work) in owners.drain(..part) {
                let reasons = match &family {
                    Some(family) => self.examine(&key, &mut work, &family.of::<O>(&key)),
                    // More than a page for one owner: each child is read by itself.
                    None => Reasons::CHECK.with(Reasons::READ),
                };
                let found = self.hand_on(key, work, reasons);
                self.found.extend(found);
            }
        }
        Ok(any)
    }

    fn done(&self) -> Found {
        Found::Done {
            objects: self.pages[0].read() * self.extent.kinds(&self.paths),
        }
    }

    /// What becomes of an owner that was looked at.
    fn hand_on(&self, key: String, mut work: Work, mut reasons: Reasons) -> Option<Found> {
        let own = match self.extent {
            Extent::All => owner::reasons_beside_children::<O>(&work),
            Extent::Owners => work.own_reasons(O::FINALIZER.is_some()),
        };
        let found = !own.with(reasons).is_empty();
        // The first write of these carries the resourceVersion on the page.
        let adopts = work.adopts(O::FINALIZER.is_some());
        let stands = adopts || own.has(Reasons::DELETE) || self.keeps == Keeps::Specs;
        if found && !stands {
            // A page may be old: the worker reads the owner first.
            reasons = reasons.with(Reasons::REFRESH);
            work.spec = None;
        }
        (found || self.keeps != Keeps::Nothing).then(|| Found::Work {
            key,
            work: Box::new(work),
            reasons,
        })
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
        warn!(kind = self.paths.plural(kind), object, %error, "skipped an object that cannot be decoded");
    }

    fn check_order(&mut self, kind: usize, key: &str) {
        if key < self.last_keys[kind].as_str() {
            self.unordered(&format!(
                "{} does not come in order of namespace/name",
                self.paths.plural(kind)
            ));
        }
        self.last_keys[kind].clear();
        self.last_keys[kind].push_str(key);
    }

    fn unordered(&mut self, because: &str) {
        if std::mem::take(&mut self.ordered) {
            info!(
                because,
                "join without order: children are listed by their owner's label"
            );
            // Nothing more is read of these.
            self.pages.truncate(1);
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
                        let owner = object.metadata.owner_name(&self.paths.owner_kind);
                        (
                            object.metadata.key(),
                            owner.is_none_or(|owner| owner == name),
                        )
                    }
                    Some(Err(error)) => {
                        self.skip(kind, &error);
                        self.pages[kind].advance(&self.api, &self.paths).await?;
                        continue;
                    }
                };
                if !named_like_owner {
                    self.unordered(&format!(
                        "{} {child} is not named like its owner",
                        self.paths.plural(kind)
                    ));
                    return Ok(());
                }
                if child.as_str() >= key {
                    break;
                }
                // A child without its owner is the garbage collector's business.
                self.check_order(kind, &child);
                if !self.ordered {
                    return Ok(());
                }
                self.pages[kind].advance(&self.api, &self.paths).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
