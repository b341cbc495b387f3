//! The loop of a controller: changes become keys, keys become objects, objects become reconciles.
//!
//! Guarantees: watches are read whatever else waits. Everything is reconciled once after all watches have begun, and again
//! after one of them has lost what happened. At most so many reconciles run at once.
//! Leaves to others: what is due (`queue`), reading lists and watches (`pass`, `watched`), one object (`work`), one change (`changes`).

mod changes;
mod work;

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, VecDeque};
use std::hash::BuildHasher;

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures::{StreamExt, TryFuture};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::allocator;
use crate::controller::TrimTimer;
use crate::free::action::Action;
use crate::free::config::Config;
use crate::free::engine::work::Done;
pub(super) use crate::free::engine::work::InEvent;
use crate::free::error::{Error, QueueError};
use crate::free::queue::{Limits, Queue};
use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError};
use crate::model::{Named, ObjectKey, millis};
use crate::relist::pass::{Listed, Pass, Purpose};
use crate::watch::changes::{Change, watched};

/// The shortest time between two lists that find what has a mark.
const LIST_EVERY_MS: u64 = 10_000;
/// Pauses before a list that failed is read again: the first and the longest, ms.
const LIST_PAUSE_MS: (u64, u64) = (250, 30_000);

/// Whom a change of a related object asks for.
pub(super) type Mapper = Box<dyn Fn(&[u8]) -> Result<Vec<ObjectKey>, serde_json::Error> + Send>;

/// The related objects that an object names.
pub(super) type References<K> = Box<dyn Fn(&K) -> Vec<ObjectKey> + Send>;

/// Whom a change of a related object concerns.
pub(super) enum Concerns<K> {
    /// Those that its mapper names.
    Mapped(Mapper),
    /// Those that name it: a hash of each name that was met says whether there may be any, and a list says who.
    Named(References<K>),
}

/// A collection beside that of the objects, whose changes ask for them.
pub(super) struct Related<K> {
    pub collection: Collection,
    pub concerns: Concerns<K>,
}

/// What a trigger of the author asks for.
pub(super) enum Requested {
    One(ObjectKey),
    All,
}

/// What ends a controller.
pub(super) type End = futures::future::BoxFuture<'static, ()>;

/// Whether an object that a watch shows needs no reconcile.
pub(super) type Skip<K> = Box<dyn Fn(&K) -> bool + Send>;

/// What a controller is made of, but for its functions.
pub(super) struct Parts<K: Resource> {
    pub api: Api,
    pub collection: Collection,
    pub dyntype: K::DynamicType,
    pub related: Vec<Related<K>>,
    pub asks: SelectAll<BoxStream<'static, Requested>>,
    pub graceful: FuturesUnordered<End>,
    pub forceful: FuturesUnordered<End>,
    pub skip: Option<Skip<K>>,
    pub config: Config,
}

/// How far a watch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    Not,
    /// The server did not let it begin.
    Rejected,
    Yes,
}

/// What a controller's stream says.
pub(super) type Said<K, E> = Result<(ObjectRef<K>, Action), Error<E>>;

/// A controller that runs. Its functions are parameters of their own, and not behind one trait: with that the compiler does
/// not see that a stream is `Send` whose context has a lifetime in its type (`with_finalizer` in `tests/controller`).
pub(super) struct Engine<K: Resource, R, P, Ctx, E: 'static> {
    reconciler: R,
    error_policy: P,
    context: Arc<Ctx>,
    parts: Parts<K>,
    queue: Queue,
    /// The first is of the objects themselves.
    watches: SelectAll<BoxStream<'static, (usize, Change)>>,
    begun: Vec<Begun>,
    /// Everything that was changed after that resourceVersion is to be reconciled.
    wanted: Option<u64>,
    named: Named,
    /// Whether the objects are in namespaces, once one was shown: kube's `Resource` does not say so for every kind.
    are_in_namespaces: Option<bool>,
    /// Related objects that have changed and that somebody may name, by the index of their collection.
    changed: BTreeSet<(usize, ObjectKey)>,
    /// Those for which the running list is read.
    listed_for: BTreeSet<(usize, ObjectKey)>,
    pass: Option<Pass>,
    /// Whether everything was listed, or is.
    has_listed: bool,
    /// No list begins before that, ms: after one that failed, and after one for marks.
    list_at_ms: u64,
    marks_at_ms: u64,
    list_pause_ms: u64,
    tasks: JoinSet<Done<K, E>>,
    said: VecDeque<Said<K, E>>,
    is_ending: bool,
    started: Instant,
    trim_timer: TrimTimer,
}

impl<K, R, F, P, Ctx> Engine<K, R, P, Ctx, F::Error>
where
    K: Clone + Resource + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone,
    R: FnMut(Arc<K>, Arc<Ctx>) -> F,
    F: TryFuture<Ok = Action> + Send + 'static,
    F::Error: std::error::Error + Send + 'static,
    P: Fn(Arc<K>, &F::Error, Arc<Ctx>) -> Action,
{
    pub fn new(parts: Parts<K>, reconciler: R, error_policy: P, context: Arc<Ctx>) -> Self {
        let related = parts.related.iter().map(|related| &related.collection);
        let collections = std::iter::once(&parts.collection).chain(related);
        let watches = collections.enumerate().map(|(index, collection)| {
            let changes = watched(parts.api.clone(), Arc::new(collection.clone()));
            changes.map(move |change| (index, change)).boxed()
        });
        let watches: SelectAll<_> = watches.collect();
        let seed = RandomState::new().hash_one(());
        Self {
            reconciler,
            error_policy,
            context,
            queue: Queue::new(parts.config.merged_for(), Limits::default(), seed),
            begun: vec![Begun::Not; watches.len()],
            watches,
            wanted: Some(0),
            named: Named::default(),
            are_in_namespaces: None,
            changed: BTreeSet::new(),
            listed_for: BTreeSet::new(),
            pass: None,
            has_listed: false,
            list_at_ms: 0,
            marks_at_ms: 0,
            list_pause_ms: 0,
            tasks: JoinSet::new(),
            said: VecDeque::new(),
            is_ending: false,
            started: Instant::now(),
            trim_timer: TrimTimer::default(),
            parts,
        }
    }

    /// What is said next; `None` once the controller has ended.
    pub async fn next(&mut self) -> Option<Said<K, F::Error>> {
        loop {
            if !self.is_ending {
                self.wake();
                self.begin_pass();
                self.begin_work();
            }
            if let Some(said) = self.said.pop_front() {
                return Some(said);
            }
            if self.is_ending && self.tasks.is_empty() {
                return None;
            }
            let due = self.due();
            let may_list = self.queue.wants_more(self.parts.config.workers());
            tokio::select! {
                Some(()) = self.parts.forceful.next() => {
                    self.tasks.abort_all();
                    return None;
                }
                Some(()) = self.parts.graceful.next(), if !self.is_ending => self.end(),
                Some(done) = self.tasks.join_next() => match done {
                    Ok(done) => self.on_done(done),
                    Err(error) => debug_assert!(error.is_cancelled(), "{error}"),
                },
                Some((index, change)) = self.watches.next() => self.on_change(index, change),
                Some(ask) = self.parts.asks.next() => self.on_ask(ask),
                listed = listed(&mut self.pass), if may_list => self.on_listed(listed),
                () = sleep_until(due) => {}
            }
        }
    }

    fn wake(&mut self) {
        let now_ms = self.now_ms();
        self.queue.wake(now_ms);
        if self.trim_timer.is_due(now_ms) {
            allocator::trim();
        }
    }

    fn now_ms(&self) -> u64 {
        millis(self.started.elapsed())
    }

    /// When the loop has to wake up without an event.
    fn due(&self) -> Instant {
        let marks_ms = self.queue.marks_due_ms();
        let marks_ms = marks_ms.map(|due_ms| due_ms.max(self.marks_at_ms).max(self.list_at_ms));
        let has_changed = !self.changed.is_empty();
        let all_ms = (self.may_list_all() || has_changed).then_some(self.list_at_ms);
        let list_ms = match self.pass {
            Some(_) => None,
            None => marks_ms.into_iter().chain(all_ms).min(),
        };
        let trim_ms = self.trim_timer.due_ms();
        let due_ms = [self.queue.next_due_ms(), list_ms, trim_ms];
        let due_ms = due_ms.into_iter().flatten().min();
        // An hour: an `Instant` cannot hold every number of milliseconds.
        let longest_ms = self.now_ms() + 3_600_000;
        self.started + Duration::from_millis(due_ms.map_or(longest_ms, |due| due.min(longest_ms)))
    }

    fn may_list_all(&self) -> bool {
        let main = self.begun.first() == Some(&Begun::Yes);
        self.wanted.is_some() && main && !self.begun.contains(&Begun::Not)
    }

    fn begin_pass(&mut self) {
        let now_ms = self.now_ms();
        if self.pass.is_some() || now_ms < self.list_at_ms {
            return;
        }
        let purpose = match (self.wanted, self.queue.marks_due_ms()) {
            (Some(after), _) if self.may_list_all() => {
                (self.wanted, self.has_listed) = (None, true);
                Purpose::All { after }
            }
            _ if !self.changed.is_empty() => {
                self.listed_for = std::mem::take(&mut self.changed);
                Purpose::Naming
            }
            (_, Some(due_ms)) if due_ms <= now_ms && self.marks_at_ms <= now_ms => {
                let until_ms = self.queue.resolve_until_ms(now_ms);
                Purpose::Marked { until_ms }
            }
            _ => return,
        };
        let api = self.parts.api.clone();
        self.pass = Some(Pass::new(purpose, api, [&self.parts.collection], now_ms));
    }

    fn begin_work(&mut self) {
        while self.queue.in_flight() < self.parts.config.workers()
            && let Some(taken) = self.queue.take()
        {
            match taken.content {
                Some(content) => self.reconcile(taken.key, &content),
                None => self.read(taken.key),
            }
        }
    }

    fn on_listed(&mut self, listed: Listed) {
        let now_ms = self.now_ms();
        let Some(Pass {
            purpose, began_ms, ..
        }) = self.pass
        else {
            return;
        };
        if let Listed::Object { key, .. } = &listed {
            self.are_in_namespaces = Some(!key.namespace().is_empty());
        }
        match (listed, purpose) {
            (Listed::Object { key, json }, Purpose::All { .. }) if json.is_empty() => {
                self.queue.request(&key, None, now_ms);
            }
            (Listed::Object { key, json }, Purpose::All { .. }) => {
                self.queue.offer(&key, json, now_ms);
            }
            (Listed::Object { key, json }, Purpose::Naming) => {
                if self.names_changed(&json) {
                    self.queue.request(&key, None, now_ms);
                }
            }
            (Listed::Object { key, .. }, Purpose::Marked { until_ms }) => {
                self.queue.resolve(&key, until_ms, now_ms);
            }
            (Listed::Done, _) => {
                self.pass = None;
                self.list_pause_ms = 0;
                self.listed_for.clear();
                self.parts.api.metrics().set_ready();
                if let Purpose::Marked { until_ms } = purpose {
                    self.queue.listed(began_ms, until_ms);
                    self.marks_at_ms = now_ms + LIST_EVERY_MS;
                }
            }
            (Listed::Failed(error), _) => {
                self.pass = None;
                if let Purpose::All { after } = purpose {
                    self.want(after);
                }
                self.changed.append(&mut self.listed_for);
                self.list_pause_ms =
                    (self.list_pause_ms * 2).clamp(LIST_PAUSE_MS.0, LIST_PAUSE_MS.1);
                self.list_at_ms = now_ms + self.list_pause_ms;
                self.fail(0, "list", error);
            }
        }
    }

    fn fail(&mut self, index: usize, what: &'static str, cause: ApiError) {
        let related = index.checked_sub(1).map(|index| &self.parts.related[index]);
        let collection = related.map_or(&self.parts.collection, |related| &related.collection);
        let plural = collection.plural().to_owned();
        let error = QueueError {
            what,
            plural,
            cause,
        };
        self.said.push_back(Err(Error::QueueError(error)));
    }

    /// Nothing new begins.
    fn end(&mut self) {
        self.is_ending = true;
        self.pass = None;
        self.watches.clear();
        self.parts.asks.clear();
    }
}

/// What the list shows next; nothing where none is read.
async fn listed(pass: &mut Option<Pass>) -> Listed {
    match pass {
        Some(pass) => pass.next().await,
        None => std::future::pending().await,
    }
}
