//! Whose plan is to be made again because something has changed that owners refer to.
//!
//! Guarantees: every change after the watches have begun leads to those who name the object, who select it by labels that it
//! has now, or who had selected it when they were last read; and what they may have missed leads to all. Changes within a
//! second are looked up together, so that two objects may lead to an owner who selects by two labels, of which each object
//! has one. One list is read at a time. A panic of an author ends nothing here. Where nothing is declared, nothing is
//! watched.
//! Leaves to others: who was seen to refer to what (`reconcile::references`), the work (`queue`).

use std::collections::HashSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream, SelectAll};
use serde::Deserialize;
use tokio::time::{Sleep, sleep};
use tracing::debug;

use crate::api::{By, Kind, Operator, Reference};
use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError};
use crate::model::{KindId, ObjectKey, PartialObject, Uid, decoded, selector};
use crate::reconcile::owner;
use crate::reconcile::references::SharedNames;
use crate::relist::pass::{Listed, Pass, Purpose};
use crate::watch::changes::{Change, watched};

/// Changes within that time are looked up together.
const MERGED: Duration = Duration::from_secs(1);
/// After a list that failed.
const PAUSE: Duration = Duration::from_secs(5);
/// Names and labels that are looked up at most; more, and all owners are planned again.
const LOOKED_UP: usize = 10_000;

/// What is looked up.
#[derive(Default)]
struct Changed {
    /// By index of the kind: objects that somebody names, and labels of objects by which somebody selects.
    named: HashSet<(usize, ObjectKey)>,
    /// Hashes of owners that have read what has changed.
    readers: HashSet<u64>,
}

impl Changed {
    fn len(&self) -> usize {
        self.named.len() + self.readers.len()
    }

    fn extend(&mut self, others: Self) {
        self.named.extend(others.named);
        self.readers.extend(others.readers);
    }

    /// Whether an owner in `namespace` refers by this to what has changed.
    fn concerns(&self, reference: &Reference, declared: &[Kind], namespace: &str) -> bool {
        let Some(index) = reference.place(declared) else {
            return false;
        };
        let namespace = reference.namespace(&declared[index], namespace);
        let has = |name: &str| {
            self.named
                .contains(&(index, ObjectKey::new(namespace, name)))
        };
        match &reference.by {
            By::Name(name) => has(name),
            By::Labels(labels) => {
                let required = selector::requirements(labels);
                // Where nothing of this namespace has changed, no label has.
                let mut required = required.iter();
                has("") && required.all(|labels| labels.iter().any(|label| has(label)))
            }
        }
    }
}

/// An event of a watch.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    object: PartialObject<'a>,
}

/// What is watched: the index of its kind in [`Operator::REFERENCES`], and of its part.
pub(super) type Place = (usize, usize);

/// What follows for owners that refer to something.
#[derive(Debug)]
pub(super) enum Referrer {
    /// The plan of this one is to be made again.
    One(ObjectKey, Uid),
    /// Those of all.
    All,
    /// This part of the kind with this index in [`Operator::REFERENCES`] can be watched.
    Opened(Place),
    /// It cannot: which verb failed, and why.
    Closed(Place, &'static str, ApiError),
}

/// The watches of what owners name.
struct References<O> {
    operator: Arc<O>,
    api: Api,
    paths: Arc<Paths>,
    names: SharedNames,
    changes: SelectAll<BoxStream<'static, (Place, Change)>>,
    /// What has changed and somebody refers to.
    changed: Changed,
    /// When that is looked up.
    due: Option<Pin<Box<Sleep>>>,
    /// A list of the owners, and what it is read for.
    lookup: Option<(Pass, Changed)>,
}

/// Whose plan is to be made again, one after the other. Behind a pointer: nothing of it is in an operator without references.
pub(super) fn followed<O: Operator>(
    operator: &Arc<O>,
    api: &Api,
    paths: &Arc<Paths>,
    names: &SharedNames,
) -> BoxStream<'static, Referrer> {
    if O::REFERENCES.is_empty() {
        return stream::pending().boxed();
    }
    let (operator, paths) = (Arc::clone(operator), Arc::clone(paths));
    let mut references = References::new(operator, api.clone(), paths, names.clone());
    stream::poll_fn(move |cx| references.poll_next(cx).map(Some)).boxed()
}

impl<O: Operator> References<O> {
    fn new(operator: Arc<O>, api: Api, paths: Arc<Paths>, names: SharedNames) -> Self {
        let watches = (0..O::REFERENCES.len()).flat_map(|index| {
            let parts = paths.references(index).iter().enumerate();
            parts.map({
                let api = api.clone();
                move |(part, collection)| {
                    let changes = watched(api.clone(), Arc::clone(collection));
                    let place = (index, part);
                    changes.map(move |change| (place, change)).boxed()
                }
            })
        });
        Self {
            changes: watches.collect(),
            operator,
            api,
            paths,
            names,
            changed: Changed::default(),
            due: None,
            lookup: None,
        }
    }

    /// Whose plan is to be made again, next.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Referrer> {
        while let Poll::Ready(Some((place, change))) = self.changes.poll_next_unpin(cx) {
            if let Some(referrer) = self.on_change(place, change) {
                return Poll::Ready(referrer);
            }
        }
        let outdated = self.names.with(|all| all.selected.take_outdated());
        if !outdated.is_empty() {
            self.changed.readers.extend(outdated);
            self.look_up();
        }
        if self.lookup.is_none()
            && let Some(due) = &mut self.due
            && due.as_mut().poll(cx).is_ready()
        {
            let owners = self.paths.parts(KindId::OWNER).iter().map(AsRef::as_ref);
            let pass = Pass::new(Purpose::Naming, self.api.clone(), owners, 0);
            self.lookup = Some((pass, std::mem::take(&mut self.changed)));
            self.due = None;
        }
        loop {
            let Some((pass, _)) = &mut self.lookup else {
                return Poll::Pending;
            };
            let listed = match pin!(pass.next()).poll(cx) {
                Poll::Ready(listed) => listed,
                Poll::Pending => return Poll::Pending,
            };
            match listed {
                Listed::Object { key, json } => {
                    if let Some(uid) = self.names_changed(&key, &json) {
                        return Poll::Ready(Referrer::One(key, uid));
                    }
                }
                Listed::Done => self.lookup = None,
                Listed::Failed(error) => {
                    debug!(%error, "owners cannot be listed for what they name");
                    if let Some((_, listed_for)) = self.lookup.take() {
                        self.changed.extend(listed_for);
                    }
                    self.due = Some(Box::pin(sleep(PAUSE)));
                }
            }
        }
    }

    /// What follows at once.
    fn on_change(&mut self, place: Place, change: Change) -> Option<Referrer> {
        let (index, _) = place;
        match change {
            // What workers have read may have changed before.
            Change::From { .. } => {
                return self
                    .names
                    .with(|all| !all.named.is_empty())
                    .then_some(Referrer::All);
            }
            Change::Opened => return Some(Referrer::Opened(place)),
            Change::Failed(verb, error) => return Some(Referrer::Closed(place, verb, error)),
            Change::Object { seen, line } => {
                self.on_object(index, &seen.key, seen.is_deleted, &line);
            }
            // Which labels it has is not known: of those who select only those who have read it are found.
            Change::Skipped(Some(key)) => self.on_object(index, &key, false, &[]),
            Change::Skipped(None) => return Some(Referrer::All),
        }
        if self.changed.len() > LOOKED_UP {
            (self.changed, self.due) = (Changed::default(), None);
            return Some(Referrer::All);
        }
        None
    }

    /// An object has changed. `line`: the event, which says which labels it has.
    fn on_object(&mut self, index: usize, key: &ObjectKey, is_deleted: bool, line: &[u8]) {
        let before = self.changed.len();
        self.names.with(|all| {
            if all.named.has(index, key) {
                self.changed.named.insert((index, key.clone()));
            }
            if !all.selected.is_used() {
                return;
            }
            let event = decoded::<Event<'_>>(line).ok();
            let labels = event.map(|event| event.object.metadata.labels.texts());
            let labels = labels.unwrap_or_default();
            // In its namespace, and in all of them.
            for namespace in [key.namespace(), ""] {
                let keyed = |term: String| (index, ObjectKey::new(namespace, &term));
                let terms: Vec<_> = selector::terms(&labels).map(keyed).collect();
                if terms.iter().any(|(_, term)| all.named.has(index, term)) {
                    self.changed.named.extend(terms);
                }
            }
            let readers = all.selected.shown(index, key, is_deleted);
            self.changed.readers.extend(readers);
        });
        if self.changed.len() > before {
            self.look_up();
        }
    }

    /// What has changed is looked up soon.
    fn look_up(&mut self) {
        self.due.get_or_insert_with(|| Box::pin(sleep(MERGED)));
    }

    /// The uid of an owner that refers to something for which the list is read.
    fn names_changed(&self, key: &ObjectKey, json: &[u8]) -> Option<Uid> {
        let (_, listed_for) = self.lookup.as_ref()?;
        let object: PartialObject<'_> = decoded(json).ok()?;
        let owner = owner::rebuild::<O>(key, &owner::decode::<O>(&object)).ok()?;
        // A worker that makes its plan panics too, and tells it.
        let named = AssertUnwindSafe(|| self.operator.references(&owner));
        let mut named = catch_unwind(named).ok()?.into_iter();
        let is_changed =
            named.any(|reference| listed_for.concerns(&reference, O::REFERENCES, key.namespace()));
        let has_read = || {
            let reader = self.names.with(|all| all.selected.owner(key));
            listed_for.readers.contains(&reader)
        };
        (is_changed || has_read()).then_some(object.metadata.uid)
    }
}
