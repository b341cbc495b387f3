//! The server's handle, its options and its shared state.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::agenda::Agenda;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::gc::Garbage;
use crate::kind::{Kind, built_in, event_view};
use crate::ledger::{Book, Ledger};
use crate::logs::Logs;
use crate::record::Record;
use crate::store::{Store, TableId};
use crate::{Error, definition, verbs};

/// Whether the Deployment of this namespace and name becomes ready.
pub type Decide = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// When Deployments become ready.
#[derive(Clone, Default)]
pub enum Readiness {
    /// Every one, after the delay.
    #[default]
    All,
    /// None: status is written with everything unavailable.
    Never,
    /// Those for which the closure, given namespace and name, says so.
    When(Decide),
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Readiness::All => "All",
            Readiness::Never => "Never",
            Readiness::When(_) => "When(…)",
        })
    }
}

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// From a change of a Deployment's spec until its status says ready.
    pub ready_delay: Duration,
    pub ready: Readiness,
    /// Between bookmarks on an otherwise silent watch.
    pub bookmark_every: Duration,
    /// How many changes are remembered, over all resources.
    pub history_events: usize,
    /// How many bytes of changes are remembered, over all resources.
    pub history_bytes: usize,
    /// Larger request bodies are refused with 413.
    pub max_body_bytes: usize,
    /// For uids, generated names and tokens.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ready_delay: Duration::ZERO,
            ready: Readiness::All,
            bookmark_every: Duration::from_secs(60),
            history_events: 200_000,
            history_bytes: 256 * 1024 * 1024,
            // MaxRequestBodyBytes of kube-apiserver.
            max_body_bytes: 3 * 1024 * 1024,
            seed: 0,
        }
    }
}

/// An embedded API server; clones share one state.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) book: Book,
    pub(crate) faults: Faults,
    pub(crate) garbage: Garbage,
    pub(crate) agenda: Agenda,
    pub(crate) logs: Logs,
    /// Raised to end every open watch.
    pub(crate) cut: watch::Sender<u64>,
    /// Wakes the controllers.
    pub(crate) work: Arc<Notify>,
    kinds: RwLock<HashMap<(String, String), Served>>,
    entropy: AtomicU64,
    secret: u64,
    controllers: Mutex<Option<AbortHandle>>,
    pub(crate) addresses: Mutex<crate::defaults::addresses::Addresses>,
}

/// A resource that answers requests.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) table: TableId,
    pub(crate) kind: Arc<Kind>,
}

impl Server {
    /// An empty server with the namespaces `default` and `kube-system`.
    pub fn new(options: Options) -> Server {
        let seed = options.seed;
        let inner = Inner {
            clock: Clock::new(),
            store: Store::new(options.history_events.max(1), options.history_bytes),
            book: Book::default(),
            faults: Faults::default(),
            garbage: Garbage::default(),
            agenda: Agenda::default(),
            logs: Logs::default(),
            cut: watch::Sender::new(0),
            work: Arc::new(Notify::new()),
            kinds: RwLock::default(),
            entropy: AtomicU64::new(seed),
            secret: splitmix(seed ^ 0x7a72_6574),
            controllers: Mutex::new(None),
            addresses: Mutex::default(),
            options,
        };
        for kind in built_in() {
            inner.serve_kind(kind);
        }
        inner.serve_event_view();
        let inner = Arc::new(inner);
        for namespace in ["default", "kube-system"] {
            verbs::seed_namespace(&inner, namespace);
        }
        Server { inner }
    }

    /// Installs a CustomResourceDefinition from YAML or JSON text, as `kubectl apply` would.
    ///
    /// # Errors
    /// The text does not parse, or the definition is refused or uses what is not implemented.
    pub fn install(&self, crd_yaml_or_json: &str) -> Result<(), Error> {
        let definition: Value = serde_saphyr::from_str(crd_yaml_or_json)
            .map_err(|cause| Error::Definition(cause.to_string()))?;
        definition::install(&self.inner, definition)
            .map_err(|refusal| Error::Definition(refusal.message))
    }

    /// What has been booked so far.
    pub fn ledger(&self) -> Ledger {
        self.inner.book.snapshot()
    }

    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// The newest resourceVersion.
    pub fn revision(&self) -> u64 {
        self.inner.store.revision()
    }

    /// Forgets all history: later watches and continue tokens from before now get 410.
    pub fn compact(&self) {
        self.inner.store.compact();
    }

    /// The object as it is stored, if it is there. `resource` is the plural; `namespace` is empty
    /// for cluster scope.
    pub fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let served = self.inner.by_plural(resource)?;
        let key = served.kind.key(namespace, name);
        Some(self.inner.store.get(served.table, &key)?.object())
    }

    /// All objects of a resource in the order of their keys.
    pub fn objects(&self, resource: &str) -> Vec<Value> {
        let Some(served) = self.inner.by_plural(resource) else {
            return Vec::new();
        };
        let records: Vec<_> = {
            let state = self.inner.store.lock();
            state
                .table(served.table)
                .map(|table| table.objects.values().cloned().collect())
                .unwrap_or_default()
        };
        records.iter().map(|record| record.object()).collect()
    }

    /// Ends every open watch, as a restarting server or a cut connection does.
    pub fn close_watches(&self) {
        self.inner.cut.send_modify(|n| *n += 1);
    }

    /// The bearer token that makes a request `user`'s.
    pub fn token(&self, user: &str) -> String {
        format!("{:016x}.{user}", self.inner.secret)
    }
}

impl Inner {
    pub(crate) fn user_of_token(&self, token: &str) -> Option<String> {
        let (secret, user) = token.split_once('.')?;
        let known = secret == format!("{:016x}", self.secret) && !user.is_empty();
        known.then(|| user.to_owned())
    }

    pub(crate) fn serve_kind(&self, kind: Kind) -> Served {
        let kind = Arc::new(kind);
        let table = self.store.add_table(kind.clone());
        let served = Served { table, kind };
        self.kinds
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(
                (served.kind.group.clone(), served.kind.plural.clone()),
                served.clone(),
            );
        served
    }

    fn serve_event_view(&self) {
        if let Some(Served { table, .. }) = self.served("", "events") {
            let view = Arc::new(event_view());
            self.kinds
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(
                    (view.group.clone(), view.plural.clone()),
                    Served { table, kind: view },
                );
        }
    }

    /// A changed CRD: the same objects under new rules.
    pub(crate) fn update_kind(&self, table: TableId, kind: Kind) {
        let kind = Arc::new(kind);
        self.store.replace_kind(table, kind.clone());
        self.kinds
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(
                (kind.group.clone(), kind.plural.clone()),
                Served { table, kind },
            );
    }

    /// Stops serving a resource; what was in it is given back for its dependents' sake.
    pub(crate) fn drop_kind(&self, group: &str, plural: &str) -> Vec<Arc<Record>> {
        let served = self
            .kinds
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&(group.to_owned(), plural.to_owned()));
        served.map_or_else(Vec::new, |served| self.store.remove_table(served.table))
    }

    pub(crate) fn served(&self, group: &str, plural: &str) -> Option<Served> {
        self.kinds
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&(group.to_owned(), plural.to_owned()))
            .cloned()
    }

    /// Every kind that is served, sorted by group and plural.
    pub(crate) fn all_served(&self) -> Vec<Served> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = kinds.values().cloned().collect();
        all.sort_by(|a, b| (&a.kind.group, &a.kind.plural).cmp(&(&b.kind.group, &b.kind.plural)));
        all
    }

    fn by_plural(&self, plural: &str) -> Option<Served> {
        self.all_served()
            .into_iter()
            .find(|served| served.kind.plural == plural)
    }

    /// The kind in its table, for controllers that only have an id.
    pub(crate) fn served_by_id(&self, table: TableId) -> Option<Served> {
        let kind = self.store.lock().table(table)?.kind.clone();
        Some(Served { table, kind })
    }

    pub(crate) fn random(&self) -> u64 {
        splitmix(self.entropy.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed))
    }

    /// Between 30 and 60 minutes, as `--min-request-timeout` 1800 gives.
    pub(crate) fn default_watch_timeout(&self) -> Duration {
        Duration::from_secs(1_800 + self.random() % 1_800)
    }

    /// Starts the controllers on the current runtime, again if that of before is gone.
    pub(crate) fn ensure_controllers(self: &Arc<Self>) {
        let mut running = self
            .controllers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let task = runtime.spawn(crate::controllers::run(Arc::downgrade(self)));
            *running = Some(task.abort_handle());
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let running = self
            .controllers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = running.take() {
            task.abort();
        }
    }
}

/// Sebastiano Vigna's SplitMix64: one well-mixed word per input.
fn splitmix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
