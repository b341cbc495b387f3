//! A streaming merge-join of owners and children: what restart, resync and lost events rest on.
//!
//! Guarantees: it writes nothing, it finds; a page of each kind is held at a time; an owner whose
//! children differ from its plan, or that has work by itself, is found exactly once.
//! Where lists come in byte order of `namespace/name` (kube-apiserver on etcd and kine) and children
//! are named like their owner, one pass over all pages is enough. Both are checked always; where one
//! does not hold, owners are taken in batches and their children listed by label (`batch`).
//! Leaves to others: when to run (`controller`), doing the work (`apply`).

mod by_label;
mod compare;
mod pages;
pub mod schedule;
mod strip;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tracing::{info, warn};

use crate::api::Operator;
use crate::cache::Retention;
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::queue::{OwnerState, Triggers};
use crate::reconcile::owner;
use crate::relist::by_label::ChildrenByLabel;
pub use crate::relist::pages::ListError;
use crate::relist::pages::Pages;

/// How much a join looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// Owners with work of their own: after events of owners found no room.
    Owners,
    /// Owners and children.
    All,
}

impl Coverage {
    /// Collections that are listed, the owners' among them.
    pub fn kinds(self, paths: &Paths) -> usize {
        match self {
            Coverage::Owners => 1,
            Coverage::All => paths.len(),
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
    Owner {
        /// `namespace/name`.
        key: String,
        /// What its page says.
        state: Box<OwnerState>,
        /// Reasons beyond what shows on the owner itself.
        triggers: Triggers,
    },
    /// It is through, and has read so many objects: owners, and as many children of each kind, which is
    /// about right and does not depend on how the children were listed.
    Done {
        /// Of all kinds.
        objects: usize,
    },
    /// A page could not be read.
    Failed(ListError),
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Opening(usize),
    Merging,
    Over,
}

/// A join under way.
pub struct Relist<O: Operator> {
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
    by_label: usize,
    coverage: Coverage,
    retention: Retention,
}

impl<O: Operator> Relist<O> {
    /// A join that has read nothing yet.
    ///
    /// For a cache that keeps owners it hands on those without work too; for one that keeps specs,
    /// what it found stands without a read of the owner.
    pub fn new(
        operator: Arc<O>,
        api: Api,
        paths: Arc<Paths>,
        coverage: Coverage,
        retention: Retention,
    ) -> Self {
        let kinds = coverage.kinds(&paths);
        Self {
            operator,
            api,
            paths,
            pages: (0..kinds).map(Pages::new).collect(),
            step: Step::Opening(0),
            last_keys: vec![String::new(); kinds],
            ordered: true,
            found: VecDeque::new(),
            by_label: by_label::OWNERS,
            coverage,
            retention,
        }
    }

    /// How much it looks at.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// Whether first pages are still to be read; they must not wait for room in the queue.
    pub fn is_opening(&self) -> bool {
        matches!(self.step, Step::Opening(_))
    }

    /// The next thing found; after `Done` and `Failed` there is nothing more.
    pub async fn next(&mut self) -> Found {
        match self.advance().await {
            Ok(found) => found,
            Err(error) => {
                self.step = Step::Over;
                Found::Failed(error)
            }
        }
    }

    async fn advance(&mut self) -> Result<Found, ListError> {
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
                Step::Merging if self.coverage == Coverage::All && !self.ordered => {
                    if let Some(found) = self.found.pop_front() {
                        return Ok(found);
                    }
                    if !self.compare_by_label().await? {
                        self.step = Step::Over;
                    }
                }
                Step::Merging => {
                    let Some((key, mut state)) = self.owner() else {
                        if self.pages[0].current().is_none() {
                            self.step = Step::Over;
                            return Ok(self.done());
                        }
                        self.pages[0].advance(&self.api, &self.paths).await?;
                        continue;
                    };
                    let mut triggers = Triggers::default();
                    if self.coverage == Coverage::All {
                        self.catch_up(&key).await?;
                        if self.ordered {
                            let mine = self.at_hand(&key);
                            triggers = self.compare(&key, &mut state, &mine);
                        }
                        if !self.ordered {
                            // The owner at hand is the first of a batch.
                            continue;
                        }
                    }
                    self.pages[0].advance(&self.api, &self.paths).await?;
                    if let Some(found) = self.report(key, state, triggers) {
                        return Ok(found);
                    }
                }
                Step::Over => return Ok(self.done()),
            }
        }
    }

    /// Examines the next owners together with their children; false when there is none left.
    async fn compare_by_label(&mut self) -> Result<bool, ListError> {
        let mut owners = Vec::with_capacity(self.by_label);
        while owners.len() < self.by_label && self.pages[0].current().is_some() {
            owners.extend(self.owner());
            self.pages[0].advance(&self.api, &self.paths).await?;
        }
        let any = !owners.is_empty();
        while !owners.is_empty() {
            let part = self.by_label.min(owners.len());
            let family =
                match ChildrenByLabel::list::<O>(&self.api, &self.paths, &owners[..part]).await {
                    Ok(family) => Some(family),
                    Err(error) if error.is_too_large() && part > 1 => {
                        self.by_label = (part / 4).max(1);
                        continue;
                    }
                    Err(error) if error.is_too_large() => None,
                    Err(error) => return Err(error),
                };
            for (key, mut state) in owners.drain(..part) {
                let triggers = match &family {
                    Some(family) => self.compare(&key, &mut state, &family.of::<O>(&key)),
                    // More than a page for one owner: each child is read by itself.
                    None => Triggers::CHECK.with(Triggers::READ),
                };
                let found = self.report(key, state, triggers);
                self.found.extend(found);
            }
        }
        Ok(any)
    }

    fn done(&self) -> Found {
        Found::Done {
            objects: self.pages[0].read() * self.coverage.kinds(&self.paths),
        }
    }

    /// What becomes of an owner that was looked at.
    fn report(&self, key: String, mut state: OwnerState, mut triggers: Triggers) -> Option<Found> {
        let own = match self.coverage {
            Coverage::All => owner::triggers_beside_children::<O>(&state),
            Coverage::Owners => state.own_triggers(O::FINALIZER.is_some()),
        };
        let found = !own.with(triggers).is_empty();
        // The first write of these carries the resourceVersion on the page.
        let adopts = state.adopts(O::FINALIZER.is_some());
        let stands = adopts || own.has(Triggers::DELETE) || self.retention == Retention::Specs;
        if found && !stands {
            // A page may be old: the worker reads the owner first.
            triggers = triggers.with(Triggers::REFRESH);
            state.spec = None;
        }
        (found || self.retention != Retention::Nothing).then(|| Found::Owner {
            key,
            state: Box::new(state),
            triggers,
        })
    }

    /// The owner at hand; one that cannot be decoded is skipped and said so.
    fn owner(&mut self) -> Option<(String, OwnerState)> {
        let decoded = self.pages[0].object()?.and_then(|object| {
            let state = owner::decode::<O>(&object)?;
            Ok((object.metadata.key(), state))
        });
        match decoded {
            Ok((key, state)) => {
                self.check_order(0, &key);
                Some((key, state))
            }
            Err(error) => {
                self.skip(0, &error);
                None
            }
        }
    }

    fn skip(&self, kind: usize, error: &serde_json::Error) {
        let object = self.pages[kind]
            .object()
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
    async fn catch_up(&mut self, key: &str) -> Result<(), ListError> {
        for kind in 1..self.pages.len() {
            loop {
                let (child, named_like_owner) = match self.pages[kind].object() {
                    None => break,
                    Some(Ok(object)) => {
                        let name = &object.metadata.name;
                        let owner = object
                            .metadata
                            .owner_name(&self.paths.owner_kind, &self.paths.owner_label);
                        (
                            object.metadata.key(),
                            owner.is_none_or(|owner| owner == *name),
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
