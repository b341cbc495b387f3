//! The operators and controllers that one program runs.
//!
//! Guarantees: each has metrics under a prefix of its own; all share the client, the Lease and the admin port.
//! Leaves to others: the command line (`cli`), when they run (`run`).

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use kube::core::Resource;
use tokio::sync::watch;

use crate::api::{Operator, is_namespaced, prefix_of};
use crate::app::crd::Crd;
use crate::cache::Mode;
use crate::controller;
use crate::controller::Config;
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
}

impl Shared {
    /// Completes when the program is to end.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + Sync + 'static + use<> {
        ended(self.stopped.clone())
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
    /// The CRD of its resource, where the program carries it.
    pub crd: Option<Crd>,
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
            crd,
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
            crd: None,
            of_cluster: None,
            run: Box::new(|shared| Box::pin(run(shared))),
        }
    }
}
