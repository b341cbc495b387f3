//! The loop of a controller: changes become keys, keys become objects, objects become reconciles.
//!
//! Guarantees: watches are read whatever else waits. Everything is reconciled once after all watches have begun, and again
//! after one of them has lost what happened. At most so many reconciles run at once. Each is a task: a panic ends it alone.
//! Leaves to others: what is due (`queue`), reading lists and watches (`pass`, `watched`).

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures::{FutureExt, StreamExt, TryFuture, TryFutureExt};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::free::action::{Action, Next};
use crate::free::config::Config;
use crate::free::error::{Error, QueueError};
use crate::free::pass::{Listed, Pass, Purpose};
use crate::free::queue::{Content, Limits, Queue};
use crate::free::watched::{Change, watched};
use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::ObjectKey;

/// The shortest time between two lists that find what has a mark.
const LIST_EVERY_MS: u64 = 10_000;
/// Pauses before a list that failed is read again: the first and the longest, ms.
const LIST_PAUSE_MS: (u64, u64) = (250, 30_000);

/// Whom a change of a related object asks for.
pub(super) type Mapper = Box<dyn Fn(&[u8]) -> Result<Vec<ObjectKey>, serde_json::Error> + Send>;

/// A collection beside that of the objects, whose changes ask for them.
pub(super) struct Related {
    pub collection: Collection,
    pub mapper: Mapper,
}

/// What a trigger of the author asks for.
pub(super) enum Ask {
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
    pub related: Vec<Related>,
    pub asks: SelectAll<BoxStream<'static, Ask>>,
    pub graceful: FuturesUnordered<End>,
    pub forceful: FuturesUnordered<End>,
    pub skip: Option<Skip<K>>,
    pub config: Config,
}

/// What a task has found.
enum Done<K, E> {
    /// The object was read; `None`: it does not exist.
    Read(ObjectKey, Result<Option<Content>, ApiError>),
    /// A reconcile has ended; a panic with its words.
    Reconciled(ObjectKey, Arc<K>, Result<Result<Action, E>, String>),
}

#[derive(Deserialize)]
struct InEvent<K> {
    object: K,
}

#[derive(Deserialize)]
struct InList<K> {
    items: Vec<K>,
}

/// How far a watch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    Not,
    /// The server did not let it begin.
    Refused,
    Yes,
}

/// What a controller's stream says.
pub(super) type Said<K, E> = Result<(ObjectRef<K>, Action), Error<E>>;

/// A controller that runs.
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
            pass: None,
            has_listed: false,
            list_at_ms: 0,
            marks_at_ms: 0,
            list_pause_ms: 0,
            tasks: JoinSet::new(),
            said: VecDeque::new(),
            is_ending: false,
            started: Instant::now(),
            parts,
        }
    }

    /// What is said next; `None` once the controller has ended.
    pub async fn next(&mut self) -> Option<Said<K, F::Error>> {
        loop {
            if !self.is_ending {
                self.queue.wake(self.now_ms());
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

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// When the loop has to wake up without an event.
    fn due(&self) -> Instant {
        let marks_ms = self.queue.marks_due_ms();
        let marks_ms = marks_ms.map(|due_ms| due_ms.max(self.marks_at_ms).max(self.list_at_ms));
        let all_ms = self.may_list_all().then_some(self.list_at_ms);
        let list_ms = match self.pass {
            Some(_) => None,
            None => marks_ms.into_iter().chain(all_ms).min(),
        };
        let due_ms = self.queue.next_due_ms().into_iter().chain(list_ms).min();
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
            (_, Some(due_ms)) if due_ms <= now_ms && self.marks_at_ms <= now_ms => {
                let until_ms = self.queue.resolve_until_ms(now_ms);
                Purpose::Marked { until_ms }
            }
            _ => return,
        };
        let api = self.parts.api.clone();
        self.pass = Some(Pass::new(purpose, api, &self.parts.collection, now_ms));
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

    /// Reads an object of which nothing is held.
    fn read(&mut self, key: ObjectKey) {
        let api = self.parts.api.clone();
        let (namespace, name) = (key.namespace(), key.name());
        let selected = self.parts.collection.selected_object_path(namespace, name);
        let path = self.parts.collection.object_path(namespace, name);
        self.tasks.spawn(async move {
            let read = match selected {
                None => match api.call(Verb::Get, Request::get(&path), OBJECT_BYTES).await {
                    Err(error) if error.code() == Some(404) => Ok(None),
                    read => read.map(|json| Some(Content::Object(json))),
                },
                Some(path) => {
                    let list = api.call(Verb::Get, Request::get(&path), OBJECT_BYTES).await;
                    list.map(|json| Some(Content::List(json)))
                }
            };
            Done::Read(key, read)
        });
    }

    /// Begins the author's reconcile of an object.
    fn reconcile(&mut self, key: ObjectKey, content: &Content) {
        let decoded = match content {
            Content::Object(json) => serde_json::from_slice(json).map(Some),
            Content::Event(json) => {
                let event = serde_json::from_slice(json);
                event.map(|event: InEvent<K>| Some(event.object))
            }
            Content::List(json) => {
                let list = serde_json::from_slice(json);
                list.map(|mut list: InList<K>| list.items.pop())
            }
        };
        let object = match decoded {
            Ok(Some(object)) => Arc::new(object),
            Ok(None) => return self.not_found(&key),
            Err(error) => {
                let object = Box::new(self.reference(&key).erase());
                self.said.push_back(Err(Error::Undecodable(error, object)));
                return self.queue.finish(&key, Next::Never, self.now_ms());
            }
        };
        let (kept, context) = (Arc::clone(&object), Arc::clone(&self.context));
        let begin = AssertUnwindSafe(|| (self.reconciler)(object, context));
        match catch_unwind(begin) {
            Err(panic) => self.on_done(Done::Reconciled(key, kept, Err(words(&*panic)))),
            Ok(reconcile) => {
                let reconcile =
                    AssertUnwindSafe(TryFutureExt::into_future(reconcile)).catch_unwind();
                self.tasks.spawn(async move {
                    let ended = reconcile.await.map_err(|panic| words(&*panic));
                    Done::Reconciled(key, kept, ended)
                });
            }
        }
    }

    fn on_done(&mut self, done: Done<K, F::Error>) {
        let now_ms = self.now_ms();
        let (key, action, said) = match done {
            Done::Read(key, Ok(Some(content))) => return self.reconcile(key, &content),
            Done::Read(key, Ok(None)) => return self.not_found(&key),
            Done::Read(key, Err(error)) => {
                let object = Box::new(self.reference(&key).erase());
                (key, Action::back_off(), Error::ReadFailed(error, object))
            }
            Done::Reconciled(key, _, Ok(Ok(action))) => {
                self.queue.finish(&key, action.0, now_ms);
                let object = self.reference(&key);
                return self.said.push_back(Ok((object, action)));
            }
            Done::Reconciled(key, object, Ok(Err(error))) => {
                let context = Arc::clone(&self.context);
                let decide = AssertUnwindSafe(|| (self.error_policy)(object, &error, context));
                let action = catch_unwind(decide).unwrap_or_else(|_| Action::back_off());
                let object = Box::new(self.reference(&key).erase());
                (key, action, Error::ReconcilerFailed(error, object))
            }
            Done::Reconciled(key, _, Err(words)) => {
                let object = Box::new(self.reference(&key).erase());
                let said = Error::ReconcilerPanicked(words, object);
                (key, Action::back_off(), said)
            }
        };
        self.queue.finish(&key, action.0, now_ms);
        self.said.push_back(Err(said));
    }

    fn not_found(&mut self, key: &ObjectKey) {
        self.queue.finish(key, Next::Never, self.now_ms());
        let object = Box::new(self.reference(key).erase());
        self.said.push_back(Err(Error::ObjectNotFound(object)));
    }

    fn on_change(&mut self, index: usize, change: Change) {
        let now_ms = self.now_ms();
        match (index, change) {
            (_, Change::From { after }) => self.on_begun(index, after),
            (0, Change::Object { seen, line }) => {
                if let Some(pass) = &mut self.pass {
                    pass.changed(&seen.key);
                }
                let content = Content::Event(line);
                if seen.is_deleted {
                    self.queue.forget(&seen.key);
                } else if self.skips(&content) {
                    self.queue.renew(&seen.key, content);
                } else {
                    self.queue.request(&seen.key, Some(content), now_ms);
                }
            }
            (_, Change::Object { line, .. }) => {
                match (self.parts.related[index - 1].mapper)(&line) {
                    Ok(keys) => keys
                        .iter()
                        .for_each(|key| self.queue.request(key, None, now_ms)),
                    Err(error) => self.fail(index, "decode", ApiError::undecodable(&error)),
                }
            }
            (0, Change::Skipped(Some(key))) => self.queue.request(&key, None, now_ms),
            // Whom it concerns is not known.
            (_, Change::Skipped(_)) => self.want(0),
            (_, Change::Failed(what, error)) => {
                if self.begun[index] == Begun::Not {
                    self.begun[index] = Begun::Refused;
                }
                self.fail(index, what, error);
            }
        }
    }

    /// A watch begins, or begins again. `after`: what it has shown before.
    fn on_begun(&mut self, index: usize, after: u64) {
        let is_first = self.begun[index] != Begun::Yes;
        self.begun[index] = Begun::Yes;
        match (index, is_first) {
            (0, _) => self.want(after),
            // The first list comes after it.
            (_, true) if !self.has_listed => {}
            // A related object that is gone is in no list.
            _ => self.want(0),
        }
    }

    fn want(&mut self, after: u64) {
        self.wanted = Some(self.wanted.map_or(after, |wanted| wanted.min(after)));
    }

    fn skips(&self, event: &Content) -> bool {
        let (Some(skip), Content::Event(line)) = (&self.parts.skip, event) else {
            return false;
        };
        serde_json::from_slice::<InEvent<K>>(line).is_ok_and(|event| skip(&event.object))
    }

    fn on_ask(&mut self, ask: Ask) {
        match ask {
            Ask::One(key) => self.queue.request(&key, None, self.now_ms()),
            Ask::All => self.want(0),
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
        match (listed, purpose) {
            (Listed::Object { key, json }, Purpose::All { .. }) => {
                self.queue.offer(&key, json, now_ms);
            }
            (Listed::Object { key, .. }, Purpose::Marked { until_ms }) => {
                self.queue.resolve(&key, until_ms, now_ms);
            }
            (Listed::Done, _) => {
                self.pass = None;
                self.list_pause_ms = 0;
                if let Purpose::Marked { .. } = purpose {
                    self.queue.listed(began_ms);
                    self.marks_at_ms = now_ms + LIST_EVERY_MS;
                }
            }
            (Listed::Failed(error), _) => {
                self.pass = None;
                if let Purpose::All { after } = purpose {
                    self.want(after);
                }
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

    fn reference(&self, key: &ObjectKey) -> ObjectRef<K> {
        let object = ObjectRef::new_with(key.name(), self.parts.dyntype.clone());
        match key.namespace() {
            "" => object,
            namespace => object.within(namespace),
        }
    }
}

/// What the list shows next; nothing where none is read.
async fn listed(pass: &mut Option<Pass>) -> Listed {
    match pass {
        Some(pass) => pass.next().await,
        None => std::future::pending().await,
    }
}

/// What a panic said.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without words".to_owned())
}
