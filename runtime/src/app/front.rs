//! The operators and controllers that one program runs.
//!
//! Guarantees: each has metrics under a prefix of its own; all share the client, the Lease and the admin port.
//! Leaves to others: the command line (`cli`), when they run (`run`).

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::{BoxFuture, join_all};
use kube::core::Resource;
use kube::runtime::watcher;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tracing::{debug, warn};

use crate::api::{Operator, OwnerScope, is_namespaced, prefix_of};
use crate::app::crd::Crd;
use crate::cache::Mode;
use crate::controller;
use crate::controller::Config;
use crate::free::{Action, Controller, Error};
use crate::metrics::Metrics;

/// What the operators and controllers of one program share.
pub struct Shared {
    /// Their client, with its connections.
    pub client: Client,
    /// The metrics of this operator or controller, on the admin port under its own prefix. It is ready once
    /// [`set_ready`](Metrics::set_ready) is called.
    pub metrics: Arc<Metrics>,
    /// The namespaces that the command line names; none: all of them.
    pub namespaces: Vec<String>,
    pub(super) config: Config,
    pub(super) cache: Mode,
    pub(super) stopped: watch::Receiver<()>,
    /// Where nothing else ends the program.
    pub(super) _stop: Option<watch::Sender<()>>,
}

impl Shared {
    /// For a test: all namespaces, and no end but its own.
    pub(crate) fn new(client: Client) -> Self {
        let (sender, stopped) = watch::channel(());
        Self {
            client,
            metrics: Arc::default(),
            namespaces: Vec::new(),
            config: Config::default(),
            cache: Mode::default(),
            stopped,
            _stop: Some(sender),
        }
    }

    /// Completes when the program is to end.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + Sync + 'static + use<> {
        ended(self.stopped.clone())
    }

    /// Where the program works: in each namespace that the command line names, or in all. A
    /// [`Controller`] is of one place.
    pub fn places(&self) -> Vec<Place> {
        let place = |namespace: Option<&String>| Place {
            client: self.client.clone(),
            namespace: namespace.cloned(),
            selector: self.config.selector.clone(),
        };
        match &*self.namespaces {
            [] => vec![place(None)],
            named => named.iter().map(Some).map(place).collect(),
        }
    }

    /// Runs a controller in each place until the program ends: `make` makes it. Its requests are counted, and what goes wrong
    /// is logged.
    pub async fn run<K, Context, Reconciled, Failure>(
        &self,
        make: impl Fn(&Place) -> Controller<K>,
        reconcile: impl Fn(Arc<K>, Arc<Context>) -> Reconciled,
        error_policy: impl Fn(Arc<K>, &Failure, Arc<Context>) -> Action,
        context: Arc<Context>,
    ) where
        K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        K::DynamicType: Eq + Hash + Clone + Send,
        Reconciled: Future<Output = Result<Action, Failure>> + Send + 'static,
        Failure: std::error::Error + Send + 'static,
    {
        let controllers = self.places().into_iter().map(|place| {
            let context = Arc::clone(&context);
            self.run_one(make(&place), &reconcile, &error_policy, context)
        });
        join_all(controllers).await;
    }

    /// Runs one controller until the program ends.
    pub async fn run_one<K, Context, Reconciled, Failure>(
        &self,
        controller: Controller<K>,
        reconcile: impl Fn(Arc<K>, Arc<Context>) -> Reconciled,
        error_policy: impl Fn(Arc<K>, &Failure, Arc<Context>) -> Action,
        context: Arc<Context>,
    ) where
        K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        K::DynamicType: Eq + Hash + Clone + Send,
        Reconciled: Future<Output = Result<Action, Failure>> + Send + 'static,
        Failure: std::error::Error + Send + 'static,
    {
        let said = controller
            .with_metrics(Arc::clone(&self.metrics))
            .graceful_shutdown_on(self.ended())
            .run(reconcile, error_policy, context);
        said.for_each(async |said| match said {
            Ok(_) => {}
            // A mapper does not know what exists.
            Err(Error::ObjectNotFound(object)) => debug!(%object, "there is none"),
            Err(error) => warn!("{error}"),
        })
        .await;
    }
}

/// A namespace, or the whole cluster.
#[derive(Clone)]
pub struct Place {
    client: Client,
    namespace: Option<String>,
    selector: Option<String>,
}

impl Place {
    /// What `--selector` of the command line selects, for the objects that a controller reconciles.
    pub fn selected(&self) -> watcher::Config {
        match &self.selector {
            Some(selector) => watcher::Config::default().labels(selector),
            None => watcher::Config::default(),
        }
    }

    /// The objects of a kind that are there; all of a kind without namespaces.
    pub fn objects<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope: OwnerScope>,
    {
        K::Scope::objects(self.client.clone(), self.namespace.as_deref())
    }
}

/// Completes when the sender of `stopped` is gone.
pub(super) async fn ended(mut stopped: watch::Receiver<()>) {
    while stopped.changed().await.is_ok() {}
}

/// An operator or a controller that a program runs.
pub(super) struct Front {
    /// What the names of its metrics begin with.
    pub prefix: String,
    /// The CRDs of its resources, where the program carries them.
    pub crds: Vec<Crd>,
    /// The kind of its owners, where those are in no namespace.
    pub of_cluster: Option<String>,
    pub run: Box<dyn FnOnce(Shared) -> BoxFuture<'static, ()> + Send>,
}

impl Front {
    /// An operator.
    pub fn operator<O: Operator>(operator: O, crd: Option<Crd>) -> Self {
        let run = move |shared: Shared| -> BoxFuture<'static, ()> {
            let (operator, ended) = (Arc::new(operator), shared.ended());
            let cache = shared.cache.cache(&operator);
            let Shared {
                client,
                metrics,
                config,
                ..
            } = shared;
            Box::pin(controller::run(
                operator, cache, client, metrics, config, ended,
            ))
        };
        Self {
            prefix: O::metrics_prefix(),
            crds: crd.into_iter().collect(),
            of_cluster: (!is_namespaced::<O>()).then(|| O::Resource::kind(&()).into_owned()),
            run: Box::new(run),
        }
    }

    /// A controller of the author's own.
    pub fn controller<F>(name: &str, run: impl FnOnce(Shared) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            prefix: prefix_of(name),
            crds: Vec::new(),
            of_cluster: None,
            run: Box::new(|shared| Box::pin(run(shared))),
        }
    }
}
