//! What an author says of a controller before it runs.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, FuturesUnordered, SelectAll, unfold};
use futures::{FutureExt, Stream, StreamExt, TryFuture};
use kube::api::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::free::action::Action;
use crate::free::config::Config;
use crate::free::engine::{
    Concerns, End, Engine, InEvent, Mapper, Parts, Related, Requested, Skip,
};
use crate::free::error::Error;
use crate::http::collection::Collection;
use crate::http::request;
use crate::metrics::Metrics;
use crate::model::{ObjectKey, PartialObject, decoded};

/// How long one request of the controller may take; those of a reconcile are the author's.
const REQUEST_DEADLINE: Duration = Duration::from_secs(10);

/// Calls a reconcile for each object of a collection that has changed, and keeps no object.
///
/// # Expected Flow
/// 1. The watches of the collection and of what it [`owns`](Self::owns) and [`watches`](Self::watches) begin.
/// 2. All objects are listed page by page, as workers become free, and each is reconciled once.
/// 3. A change of an object, of one that it owns, or of one that a mapper maps to it has it reconciled, with the object as the
///    watch shows it or as it is read then.
/// 4. The [`Action`] of a reconcile, or of the error policy where it failed, says when the object is reconciled without a
///    change.
///
/// # Guarantees
/// - An object has one reconcile at a time. A change meanwhile means another one after it.
/// - No change is lost: what finds no room in the queue is kept as a hash of its key and a time, 17 to 34 bytes each, and found
///   again by a paged list of metadata. So requeues are unbounded. Such a list is read at most every 10 s.
/// - After a watch has lost what happened (410, a server restored from a backup), everything is reconciled once more, but for
///   objects of the collection that their resourceVersion proves unchanged.
/// - A panic in a reconcile is that object's error.
/// - A shutdown begins nothing new and waits for what runs.
///
/// # Assumptions
/// A reconcile is idempotent and reads what it needs beyond its object. resourceVersions are numbers that grow
/// (KEP-5504).
///
/// # Caveats
/// - There is no `store()`, and there are no shared streams: nothing is kept that they could show. Read the object with `Api::get`,
///   or map to it with [`watches`](Self::watches).
/// - `owns` and `watches` do not show what is there when the program starts: every object is reconciled then anyway.
/// - A requeue of an object beyond the first 4,096 may come some seconds late, with the next list.
/// - Without a bound for [`Config::concurrency`] 32 reconciles run at once; in kube as many as there are objects.
/// - [`watcher::Config`]: selectors count; page size, list semantics, timeout and bookmarks are the runtime's own.
///
/// # Errors
/// The stream of [`run`](Self::run) says what went wrong and goes on ([`Error`]).
pub struct Controller<K: Resource> {
    client: kube::Client,
    collection: Collection,
    dyntype: K::DynamicType,
    related: Vec<Related<K>>,
    asks: SelectAll<BoxStream<'static, Requested>>,
    graceful: FuturesUnordered<End>,
    forceful: FuturesUnordered<End>,
    skip: Option<Skip<K>>,
    config: Config,
    metrics: Arc<Metrics>,
}

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send,
{
    /// A controller of the objects of `main_api` that `wc` selects.
    #[must_use]
    pub fn new(main_api: Api<K>, wc: watcher::Config) -> Self
    where
        K::DynamicType: Default,
    {
        Self::new_with(main_api, wc, K::DynamicType::default())
    }

    /// The same for a kind that is known when the program runs only.
    #[must_use]
    pub fn new_with(main_api: Api<K>, wc: watcher::Config, dyntype: K::DynamicType) -> Self {
        Self {
            collection: collection(&main_api, &wc, &dyntype),
            client: main_api.into_client(),
            dyntype,
            related: Vec::new(),
            asks: SelectAll::new(),
            graceful: FuturesUnordered::new(),
            forceful: FuturesUnordered::new(),
            skip: None,
            config: Config::default(),
            metrics: Arc::default(),
        }
    }

    /// With other options than the default ones.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Counts the requests of this controller there, which is ready once everything was listed.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// A change of an object with an owner reference to one of ours has that reconciled: to one in its namespace, or of the whole
    /// cluster. Only metadata is watched.
    #[must_use]
    pub fn owns<Child>(self, api: Api<Child>, wc: watcher::Config) -> Self
    where
        Child: Resource<DynamicType = ()>,
    {
        self.owns_with(api, (), wc)
    }

    /// The same for a kind that is known when the program runs only.
    #[must_use]
    pub fn owns_with<Child: Resource>(
        mut self,
        api: Api<Child>,
        dyntype: Child::DynamicType,
        wc: watcher::Config,
    ) -> Self {
        let (group, kind) = (K::group(&self.dyntype), K::kind(&self.dyntype));
        let (group, kind) = (group.into_owned(), kind.into_owned());
        let mapper: Mapper = Box::new(move |line| {
            let event: InEvent<PartialObject<'_>> = decoded(line)?;
            let metadata = event.object.metadata;
            let owners = metadata.owner_references.iter();
            let ours = owners.filter(|owner| owner.group() == group && owner.kind == kind);
            Ok(ours
                .map(|owner| ObjectKey::new(&metadata.namespace, &owner.name))
                .collect())
        });
        let collection = collection(&api, &wc, &dyntype).watched_as_metadata();
        self.related.push(Related {
            collection,
            concerns: Concerns::Mapped(mapper),
        });
        self
    }

    /// A change of an object, as it is now or was last, has those reconciled to which `mapper` maps it. It is decoded for that and
    /// dropped.
    #[must_use]
    pub fn watches<Other, I>(
        self,
        api: Api<Other>,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource<DynamicType = ()> + DeserializeOwned,
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        self.watches_with(api, (), wc, mapper)
    }

    /// The same for a kind that is known when the program runs only.
    #[must_use]
    pub fn watches_with<Other, I>(
        mut self,
        api: Api<Other>,
        dyntype: Other::DynamicType,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource + DeserializeOwned,
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        let collection = collection(&api, &wc, &dyntype);
        let mapper = decoding(mapper);
        self.related.push(Related {
            collection,
            concerns: Concerns::Mapped(mapper),
        });
        self
    }

    /// As [`watches`](Self::watches), of metadata alone: a Secret's data then never comes.
    #[must_use]
    pub fn watches_metadata<Other, I>(
        mut self,
        api: Api<Other>,
        wc: watcher::Config,
        mapper: impl Fn(PartialObjectMeta<Other>) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource<DynamicType = ()> + 'static,
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        let collection = collection(&api, &wc, &()).watched_as_metadata();
        let mapper = decoding(mapper);
        self.related.push(Related {
            collection,
            concerns: Concerns::Mapped(mapper),
        });
        self
    }

    /// A change of an object that one of ours names has that reconciled: `references` says what an object names, such as
    /// the Secrets in its spec. Only metadata is watched. Beyond kube, where a mapper needs a store for that.
    ///
    /// Nothing is kept of an object but a hash of each name, 8 to 18 bytes. Where one of them has changed, the objects are
    /// listed page by page to find those that name it; changes that come meanwhile share the next list.
    #[must_use]
    pub fn index<Other, I>(
        mut self,
        api: Api<Other>,
        wc: watcher::Config,
        references: impl Fn(&K) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource<DynamicType = ()> + 'static,
        I: IntoIterator<Item = ObjectRef<Other>>,
    {
        let collection = collection(&api, &wc, &()).watched_as_metadata();
        let references = move |object: &K| {
            let named = references(object).into_iter();
            named.map(|object| key(&object)).collect()
        };
        self.related.push(Related {
            collection,
            concerns: Concerns::Named(Box::new(references)),
        });
        self
    }

    /// Objects that the watch shows and for which this is true are not reconciled for that:
    /// `|app| app.status.observed_generation == app.metadata.generation`. At a start everything is reconciled.
    #[must_use]
    pub fn skip(mut self, skip: impl Fn(&K) -> bool + Send + 'static) -> Self {
        self.skip = Some(Box::new(skip));
        self
    }

    /// Reconciles each object that `trigger` names.
    #[must_use]
    pub fn reconcile_on(
        mut self,
        trigger: impl Stream<Item = ObjectRef<K>> + Send + 'static,
    ) -> Self {
        let asks = trigger.map(|object| Requested::One(key(&object)));
        self.asks.push(asks.boxed());
        self
    }

    /// Reconciles everything, each time that `trigger` says so.
    #[must_use]
    pub fn reconcile_all_on(mut self, trigger: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.asks.push(trigger.map(|()| Requested::All).boxed());
        self
    }

    /// Begins nothing new once `trigger` has completed, and ends when all that runs has ended.
    #[must_use]
    pub fn graceful_shutdown_on(
        self,
        trigger: impl Future<Output = ()> + Send + Sync + 'static,
    ) -> Self {
        self.graceful.push(trigger.boxed());
        self
    }

    /// The same on SIGTERM or SIGINT; a second one ends what runs.
    #[must_use]
    pub fn shutdown_on_signal(self) -> Self {
        let (first, begun) = oneshot::channel();
        self.graceful.push(begun.map(|_| ()).boxed());
        self.forceful.push(
            async {
                signalled().await;
                let _ = first.send(());
                signalled().await;
            }
            .boxed(),
        );
        self
    }

    /// Runs the controller for as long as the stream is polled. It says what each reconcile asked for, and what went wrong.
    /// It needs a tokio runtime, in which each reconcile is a task.
    pub fn run<ReconcilerFut, Ctx>(
        self,
        reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> ReconcilerFut,
        error_policy: impl Fn(Arc<K>, &ReconcilerFut::Error, Arc<Ctx>) -> Action,
        context: Arc<Ctx>,
    ) -> impl Stream<Item = Result<(ObjectRef<K>, Action), Error<ReconcilerFut::Error>>>
    where
        ReconcilerFut: TryFuture<Ok = Action> + Send + 'static,
        ReconcilerFut::Error: std::error::Error + Send + 'static,
    {
        let parts = Parts {
            api: request::Api::new(self.client, self.metrics, REQUEST_DEADLINE),
            collection: self.collection,
            dyntype: self.dyntype,
            related: self.related,
            asks: self.asks,
            graceful: self.graceful,
            forceful: self.forceful,
            skip: self.skip,
            config: self.config,
        };
        let engine = Engine::new(parts, reconciler, error_policy, context);
        unfold(engine, |mut engine| async {
            engine.next().await.map(|said| (said, engine))
        })
    }
}

/// Decodes what a watch shows for `mapper`.
fn decoding<K, Other, I>(mapper: impl Fn(Other) -> I + Send + 'static) -> Mapper
where
    K: Resource,
    Other: DeserializeOwned,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    Box::new(move |line| {
        let event: InEvent<Other> = decoded(line)?;
        Ok(mapper(event.object)
            .into_iter()
            .map(|object| key(&object))
            .collect())
    })
}

fn key<K: Resource>(object: &ObjectRef<K>) -> ObjectKey {
    ObjectKey::new(
        object.namespace.as_deref().unwrap_or_default(),
        &object.name,
    )
}

/// What `api` lists, of which `wc` selects.
fn collection<K: Resource>(
    api: &Api<K>,
    wc: &watcher::Config,
    dyntype: &K::DynamicType,
) -> Collection {
    let plural = K::plural(dyntype);
    let all = K::url_path(dyntype, None);
    let root = all.trim_end_matches(&*plural).trim_end_matches('/');
    Collection::new(root, api.namespace(), &plural)
        .selected_by(wc.label_selector.as_deref(), wc.field_selector.as_deref())
}

/// SIGTERM or SIGINT.
async fn signalled() {
    let signals = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt)] = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
