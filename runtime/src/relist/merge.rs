//! The lists of all kinds, merged by the key of the owner.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tracing::{info, warn};

use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::model::{KindId, ObjectKey, OwnerState, Triggers};
use crate::relist::by_label::{ChildrenByLabel, NAMES_BYTES, OWNERS};
use crate::relist::pages::{ListError, Pages};
use crate::relist::{Compare, Comparison, Coverage, Found};

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Reads the first page of the kind with this index.
    Opening(usize),
    /// Compares owner by owner.
    Merging,
    /// Has nothing more to read.
    Over,
}

/// A running relist.
pub struct Relist<C: Compare> {
    comparer: C,
    api: Api,
    paths: Arc<Paths>,
    /// By index of the kind; the owners' only, once the lists are known not to merge.
    pages: Vec<Pages>,
    step: Step,
    /// The last key of each list, to check its order.
    last_keys: Vec<String>,
    /// Whether the lists merge by name.
    ordered: bool,
    /// Owners that were compared as a group and are not reported yet.
    found: VecDeque<Found>,
    /// Owners in a group.
    group: usize,
    coverage: Coverage,
    /// An object could not be decoded.
    skipped: bool,
}

/// All objects of `kind`.
fn pages(paths: &Paths, kind: KindId) -> Pages {
    Pages::new(kind, paths.parts(kind).to_vec())
}

impl<C: Compare> Relist<C> {
    /// A relist that has read nothing yet.
    pub fn new(comparer: C, api: Api, paths: Arc<Paths>, coverage: Coverage) -> Self {
        let kinds = coverage.kinds(&paths);
        Self {
            comparer,
            api,
            pages: KindId::all(kinds - 1)
                .map(|kind| pages(&paths, kind))
                .collect(),
            paths,
            step: Step::Opening(0),
            last_keys: vec![String::new(); kinds],
            ordered: true,
            found: VecDeque::new(),
            group: OWNERS,
            coverage,
            skipped: false,
        }
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
                Step::Opening(index) if index < self.pages.len() => {
                    let pages = &mut self.pages[index];
                    let kind = pages.kind();
                    let opened = pages.open(&self.api).await;
                    self.step = Step::Opening(index + 1);
                    return match opened {
                        Ok(resource_version) => Ok(Found::Opened {
                            kind,
                            resource_version,
                        }),
                        Err(error) if error.is_of_missing_kind() => {
                            pages.end();
                            Ok(Found::Missing { kind })
                        }
                        Err(error) => Err(error),
                    };
                }
                Step::Opening(_) => {
                    for pages in &mut self.pages {
                        pages.fill(&self.api).await?;
                    }
                    self.step = Step::Merging;
                }
                Step::Merging if self.coverage == Coverage::All && !self.ordered => {
                    if let Some(found) = self.found.pop_front() {
                        return Ok(found);
                    }
                    if !self.compare_group().await? {
                        self.step = Step::Over;
                    }
                }
                Step::Merging => {
                    let Some((key, mut state)) = self.owner() else {
                        if self.pages[0].current().is_none() {
                            if self.has_stray_behind().await? {
                                continue;
                            }
                            self.step = Step::Over;
                            return Ok(self.done());
                        }
                        self.pages[0].advance(&self.api).await?;
                        continue;
                    };
                    let mut triggers = Triggers::default();
                    if self.coverage == Coverage::All {
                        self.catch_up(Some(&key)).await?;
                        if self.ordered {
                            triggers = self.compare_by_name(&key, &mut state);
                        }
                        if !self.ordered {
                            // The current owner is the first of a group.
                            continue;
                        }
                    }
                    self.pages[0].advance(&self.api).await?;
                    if let Some(found) = self.report(key, state, triggers) {
                        return Ok(found);
                    }
                }
                Step::Over => return Ok(self.done()),
            }
        }
    }

    /// Reads on behind the last owner. Where a child there is not named like its owner, that was compared without it: true,
    /// and all owners are to be compared in groups.
    async fn has_stray_behind(&mut self) -> Result<bool, ListError> {
        if self.coverage != Coverage::All {
            return Ok(false);
        }
        self.catch_up(None).await?;
        if self.ordered {
            return Ok(false);
        }
        let owners = &mut self.pages[0];
        *owners = pages(&self.paths, KindId::OWNER);
        owners.open(&self.api).await?;
        owners.fill(&self.api).await?;
        self.last_keys[0].clear();
        Ok(true)
    }

    /// Compares an owner with the current children that are named like it.
    fn compare_by_name(&mut self, key: &ObjectKey, state: &mut OwnerState) -> Triggers {
        let (mut children, mut is_complete) = (Vec::new(), true);
        for pages in self.pages.iter().skip(1) {
            let kind = pages.kind();
            let raw = pages.current();
            match raw.and_then(|raw| self.comparer.child(kind, raw, Some(key))) {
                Some(child) => children.push((kind, child)),
                // What was passed over may be its child.
                None => is_complete &= !pages.has_passed_over(),
            }
        }
        let comparison = self.comparer.compare(key, state, &children, true);
        state.children.complete &= is_complete;
        match comparison {
            Comparison::Triggers(triggers) => triggers,
            Comparison::NotByName(child) => {
                self.unordered(&format!("{child} is not named like its owner"));
                Triggers::default()
            }
        }
    }

    /// Compares the next owners together with their children; false when there is none left.
    async fn compare_group(&mut self) -> Result<bool, ListError> {
        let mut owners = Vec::with_capacity(self.group);
        let mut names_bytes = 0;
        while owners.len() < self.group && self.pages[0].current().is_some() {
            if let Some((key, state)) = self.owner() {
                names_bytes += key.name().len() + 3;
                if names_bytes > NAMES_BYTES && !owners.is_empty() {
                    break;
                }
                owners.push((key, state));
            }
            self.pages[0].advance(&self.api).await?;
        }
        let any = !owners.is_empty();
        while !owners.is_empty() {
            let part = self.group.min(owners.len());
            let listed = ChildrenByLabel::list(&self.api, &self.paths, &owners[..part]).await;
            let listed = match listed {
                Ok(listed) => Some(listed),
                Err(error) if error.is_too_large() && part > 1 => {
                    self.group = (part / 4).max(1);
                    continue;
                }
                Err(error) if error.is_too_large() => None,
                Err(error) => return Err(error),
            };
            if listed.as_ref().is_some_and(|listed| !listed.is_complete()) {
                self.skipped = true;
            }
            for (key, mut state) in owners.drain(..part) {
                let triggers = match &listed {
                    Some(listed) => {
                        let children = listed.of(&key, &self.comparer);
                        let compared = self.comparer.compare(&key, &mut state, &children, false);
                        state.children.complete &= listed.is_complete();
                        match compared {
                            Comparison::Triggers(triggers) => triggers,
                            Comparison::NotByName(_) => Triggers::default(),
                        }
                    }
                    // The children of one owner are more than a page: each child is read by itself.
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
            owners: self.pages[0].read(),
            skipped: self.skipped,
        }
    }

    fn report(&self, key: ObjectKey, mut state: OwnerState, triggers: Triggers) -> Option<Found> {
        let triggers = self.comparer.admit(&mut state, triggers, self.coverage)?;
        Some(Found::Owner {
            key,
            state: Box::new(state),
            triggers,
        })
    }

    /// The current owner; one that cannot be decoded is reported and skipped.
    fn owner(&mut self) -> Option<(ObjectKey, OwnerState)> {
        let decoded = self.pages[0].object()?.and_then(|object| {
            let state = self.comparer.owner(&object)?;
            Ok((object.metadata.key(), state))
        });
        match decoded {
            Ok((key, state)) => {
                self.check_order(0, &key);
                Some((key, state))
            }
            Err(error) => {
                self.skip(0, &error);
                self.skipped = true;
                None
            }
        }
    }

    fn skip(&self, index: usize, error: &serde_json::Error) {
        let pages = &self.pages[index];
        let key = pages.object().and_then(Result::ok);
        let key = key.map(|object| object.metadata.key());
        let object = key.as_ref().map_or("(unknown)", ObjectKey::as_str);
        let kind = self.paths.plural(pages.kind());
        self.api.metrics().undecodable.fetch_add(1, Relaxed);
        warn!(kind, object, %error, "skipped an object that cannot be decoded");
    }

    fn check_order(&mut self, index: usize, key: &ObjectKey) {
        if key.as_str() < self.last_keys[index].as_str() {
            self.unordered(&format!(
                "{} does not come in order of namespace/name",
                self.paths.plural(self.pages[index].kind())
            ));
        }
        self.last_keys[index].clear();
        self.last_keys[index].push_str(key.as_str());
    }

    fn unordered(&mut self, because: &str) {
        if std::mem::take(&mut self.ordered) {
            info!(
                because,
                "the lists cannot be merged; children are listed by their owner's label"
            );
            // Nothing more is read of the children's lists.
            self.pages.truncate(1);
        }
    }

    /// Moves the children's lists up to the owner `key`, or to their ends.
    async fn catch_up(&mut self, key: Option<&ObjectKey>) -> Result<(), ListError> {
        for index in 1..self.pages.len() {
            loop {
                let (stray, foreign) = match self.pages[index].object() {
                    None => break,
                    Some(Ok(object)) => {
                        let meta = &object.metadata;
                        let owner = self.paths.owner_of(meta);
                        let foreign = owner.is_some_and(|owner| {
                            owner.namespace != meta.namespace || owner.name != meta.name
                        });
                        let is_behind = |key| {
                            ObjectKey::cmp_to(&meta.namespace, &meta.name, key) == Ordering::Less
                        };
                        if !foreign && !key.is_none_or(is_behind) {
                            break;
                        }
                        (meta.key(), foreign)
                    }
                    Some(Err(error)) => {
                        self.skip(index, &error);
                        self.skipped = true;
                        self.pages[index].pass_over();
                        self.pages[index].advance(&self.api).await?;
                        continue;
                    }
                };
                if foreign {
                    self.unordered(&format!(
                        "{} {stray} is not named like its owner",
                        self.paths.plural(self.pages[index].kind())
                    ));
                    return Ok(());
                }
                // The garbage collector deletes a child without its owner.
                if key.is_some() {
                    self.check_order(index, &stray);
                }
                if !self.ordered {
                    return Ok(());
                }
                self.pages[index].done();
                self.pages[index].advance(&self.api).await?;
            }
        }
        Ok(())
    }
}
