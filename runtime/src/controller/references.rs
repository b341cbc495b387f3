//! Whose plan is to be made again because something has changed that owners name.
//!
//! Guarantees: every change after the watches have begun leads to those who name the object, and what they may have missed
//! to all; changes within a second are looked up together, one list at a time. A panic of an author
//! ends nothing here. Where nothing is declared, nothing is watched.
//! Leaves to others: who was seen to name what (`reconcile::references`), the work (`queue`).

use std::collections::HashSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use tokio::time::{Sleep, sleep};
use tracing::{debug, warn};

use crate::api::Operator;
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::model::{KindId, ObjectKey, PartialObject, Uid};
use crate::reconcile::owner;
use crate::reconcile::references::SharedNames;
use crate::relist::pass::{Listed, Pass, Purpose};
use crate::watch::changes::{Change, watched};

/// Changes within that time are looked up together.
const MERGED: Duration = Duration::from_secs(1);
/// After a list that failed.
const PAUSE: Duration = Duration::from_secs(5);
/// Objects that are looked up at most; more, and all owners are planned again.
const LOOKED_UP: usize = 10_000;

/// Whose plan is to be made again.
#[derive(Debug)]
pub(super) enum Referrer {
    One(ObjectKey, Uid),
    All,
}

/// The watches of what owners name.
pub(super) struct References<O> {
    operator: Arc<O>,
    api: Api,
    paths: Arc<Paths>,
    names: SharedNames,
    changes: SelectAll<BoxStream<'static, (usize, Change)>>,
    /// By index of the kind: whether its watch is known to fail.
    failing: Vec<bool>,
    /// What has changed and somebody names.
    changed: HashSet<(usize, ObjectKey)>,
    /// When that is looked up.
    due: Option<Pin<Box<Sleep>>>,
    /// A list of the owners, and what it is read for.
    lookup: Option<(Pass, HashSet<(usize, ObjectKey)>)>,
}

impl<O: Operator> References<O> {
    pub fn new(operator: Arc<O>, api: Api, paths: Arc<Paths>, names: SharedNames) -> Self {
        let watches = (0..O::REFERENCES.len()).flat_map(|index| {
            let parts = paths.references(index).iter();
            parts.map({
                let api = api.clone();
                move |part| {
                    let changes = watched(api.clone(), Arc::clone(part));
                    changes.map(move |change| (index, change)).boxed()
                }
            })
        });
        Self {
            changes: watches.collect(),
            failing: vec![false; O::REFERENCES.len()],
            operator,
            api,
            paths,
            names,
            changed: HashSet::new(),
            due: None,
            lookup: None,
        }
    }

    /// Whose plan is to be made again, next.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Referrer> {
        // Known to the compiler: nothing of this is in an operator without references.
        if O::REFERENCES.is_empty() {
            return Poll::Pending;
        }
        while let Poll::Ready(Some((index, change))) = self.changes.poll_next_unpin(cx) {
            if self.on_change(index, change) {
                return Poll::Ready(Referrer::All);
            }
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

    /// Returns whether it may concern every owner that names something.
    fn on_change(&mut self, index: usize, change: Change) -> bool {
        let kind = O::REFERENCES[index].kind;
        let key = match change {
            Change::From { .. } => {
                self.failing[index] = false;
                // What workers have read may have changed before.
                return self.names.with(|named| !named.is_empty());
            }
            Change::Object { seen, .. } => seen.key,
            Change::Skipped(Some(key)) => key,
            Change::Skipped(None) => return true,
            Change::Failed(what, error) => {
                if !std::mem::replace(&mut self.failing[index], true) {
                    warn!(kind, %error, "cannot {what} what owners name: changes of it are not noticed");
                }
                return false;
            }
        };
        if self.names.with(|named| named.has(index, &key)) {
            self.changed.insert((index, key));
            self.due.get_or_insert_with(|| Box::pin(sleep(MERGED)));
        }
        if self.changed.len() > LOOKED_UP {
            (self.changed, self.due) = (HashSet::new(), None);
            return true;
        }
        false
    }

    /// The uid of an owner that names something for which the list is read.
    fn names_changed(&self, key: &ObjectKey, json: &[u8]) -> Option<Uid> {
        let (_, listed_for) = self.lookup.as_ref()?;
        let object: PartialObject<'_> = serde_json::from_slice(json).ok()?;
        let owner = owner::rebuild::<O>(key, &owner::decode::<O>(&object)).ok()?;
        // A worker that makes its plan panics too, and tells it.
        let named = AssertUnwindSafe(|| self.operator.references(&owner));
        let mut named = catch_unwind(named).ok()?.into_iter();
        let is_changed = named.any(|reference| {
            let place = reference.place(O::REFERENCES, key.namespace());
            place.is_some_and(|place| listed_for.contains(&place))
        });
        is_changed.then_some(object.metadata.uid)
    }
}
