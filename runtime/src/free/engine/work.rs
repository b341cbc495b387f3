//! What becomes of an object that a worker has: it is read where nothing is held of it, decoded, and given to the author's reconcile.
//!
//! Guarantees: each reconcile is a task; a panic in it, or in the error policy, ends it alone. Every object that was taken is
//! finished in the queue, whatever happens. Leaves to others: which object is next (`queue`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::{FutureExt, TryFuture, TryFutureExt};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tracing::{Instrument, info_span};

use crate::free::action::{Action, Next};
use crate::free::engine::{Concerns, Engine};
use crate::free::error::Error;
use crate::free::queue::Content;
use crate::http::request::{ApiError, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{ObjectKey, decoded};
use crate::reconcile::failure::words;

/// What a task has found.
pub(super) enum Done<K, E> {
    /// The object was read; `None`: it does not exist.
    Read(ObjectKey, Result<Option<Content>, ApiError>),
    /// A reconcile has ended; a panic with its words.
    Reconciled(ObjectKey, Arc<K>, Result<Result<Action, E>, String>),
}

/// An object in an event of a watch.
#[derive(Deserialize)]
pub(in crate::free) struct InEvent<K> {
    pub object: K,
}

#[derive(Deserialize)]
struct InList<K> {
    items: Vec<K>,
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
    /// Reads an object of which nothing is held.
    pub(super) fn read(&mut self, key: ObjectKey) {
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
                    let list = api
                        .call(Verb::List, Request::get(&path), OBJECT_BYTES)
                        .await;
                    list.map(|json| Some(Content::List(json)))
                }
            };
            Done::Read(key, read)
        });
    }

    /// Begins the author's reconcile of an object.
    pub(super) fn reconcile(&mut self, key: ObjectKey, content: &Content) {
        let found = match content {
            Content::Object(json) => decoded(json).map(Some),
            Content::Event(json) => {
                let event = decoded(json);
                event.map(|event: InEvent<K>| Some(event.object))
            }
            Content::List(json) => {
                let list = decoded(json);
                list.map(|mut list: InList<K>| list.items.pop())
            }
        };
        let object = match found {
            Ok(Some(object)) => Arc::new(object),
            Ok(None) => return self.not_found(&key),
            Err(error) => {
                let object = Box::new(self.reference(&key).erase());
                self.said.push_back(Err(Error::Undecodable(error, object)));
                return self.queue.finish(&key, Next::Never, self.now_ms());
            }
        };
        for (index, related) in self.parts.related.iter().enumerate() {
            if let Concerns::Named(references) = &related.concerns {
                let names = references(&object);
                names.iter().for_each(|key| self.named.add(index, key));
            }
        }
        // Under the name and the field of kube's: what an author logs says which object it is about.
        let span = info_span!("reconciling object", object.ref = %self.reference(&key));
        let (kept, context) = (Arc::clone(&object), Arc::clone(&self.context));
        let begin = AssertUnwindSafe(|| span.in_scope(|| (self.reconciler)(object, context)));
        match catch_unwind(begin) {
            Err(panic) => self.on_done(Done::Reconciled(key, kept, Err(said_by(&*panic)))),
            Ok(reconcile) => {
                let reconcile = TryFutureExt::into_future(reconcile).instrument(span);
                let reconcile = AssertUnwindSafe(reconcile).catch_unwind();
                self.tasks.spawn(async move {
                    let ended = reconcile.await.map_err(|panic| said_by(&*panic));
                    Done::Reconciled(key, kept, ended)
                });
            }
        }
    }

    pub(super) fn on_done(&mut self, done: Done<K, F::Error>) {
        let now_ms = self.now_ms();
        self.trim_timer.worked(now_ms);
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

    pub(super) fn not_found(&mut self, key: &ObjectKey) {
        self.queue.finish(key, Next::Never, self.now_ms());
        let object = Box::new(self.reference(key).erase());
        self.said.push_back(Err(Error::ObjectNotFound(object)));
    }

    pub(super) fn reference(&self, key: &ObjectKey) -> ObjectRef<K> {
        let object = ObjectRef::new_with(key.name(), self.parts.dyntype.clone());
        match key.namespace() {
            "" => object,
            namespace => object.within(namespace),
        }
    }
}

/// What a panic said, for the stream.
fn said_by(panic: &(dyn std::any::Any + Send)) -> String {
    words(panic).unwrap_or_else(|| "without words".to_owned())
}
