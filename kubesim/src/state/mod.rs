//! What the server is made of: its store, its kinds, its counters and the queues of its controllers.
//!
//! Leaves to others: what requests do with it ([`crate::api`]), and what the queues lead to
//! ([`crate::controllers`]).

pub(crate) mod garbage;
pub(crate) mod options;
pub(crate) mod pod_logs;
pub(crate) mod schedule;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::admission::Admission;
use crate::clock::Clock;
use crate::defaults::addresses::Addresses;
use crate::faults::Faults;
use crate::model::built_ins;
use crate::model::kind::{Kind, event_view};
use crate::model::record::Record;
use crate::model::versions::by_priority;
use crate::requests::Counters;
use crate::signal::Signal;
use crate::state::garbage::Garbage;
use crate::state::options::Options;
use crate::state::pod_logs::PodLogs;
use crate::state::schedule::Schedule;
use crate::store::{Store, TableId};

/// The state that all handles, connections and watches of a server share.
pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) requests: Counters,
    pub(crate) faults: Faults,
    pub(crate) admission: Admission,
    pub(crate) garbage: Garbage,
    pub(crate) schedule: Schedule,
    pub(crate) logs: PodLogs,
    /// Changes to end every open watch.
    pub(crate) cut: Signal,
    /// Wakes the controllers.
    pub(crate) work: Arc<Notify>,
    /// By group and plural.
    kinds: RwLock<HashMap<(String, String), Resource>>,
    entropy: AtomicU64,
    secret: u64,
    pub(crate) controllers: Mutex<Option<AbortHandle>>,
    pub(crate) addresses: Addresses,
}

/// A resource in all of its versions.
struct Resource {
    table: TableId,
    /// The served ones, the preferred first.
    versions: Vec<Arc<Kind>>,
}

/// A resource that answers requests, in one version.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) table: TableId,
    pub(crate) kind: Arc<Kind>,
}

impl Inner {
    /// Without namespaces.
    pub(crate) fn new(options: Options) -> Inner {
        let seed = options.seed;
        let inner = Inner {
            clock: options.start_s.map_or_else(Clock::new, Clock::starting_at),
            store: Store::new(options.history_events.max(1), options.history_bytes),
            requests: Counters::default(),
            faults: Faults::default(),
            admission: Admission::default(),
            garbage: Garbage::default(),
            schedule: Schedule::default(),
            logs: PodLogs::default(),
            cut: Signal::default(),
            work: Arc::new(Notify::new()),
            kinds: RwLock::default(),
            entropy: AtomicU64::new(seed),
            secret: splitmix(seed ^ 0x7a72_6574),
            controllers: Mutex::new(None),
            addresses: Addresses::default(),
            options,
        };
        for kind in built_ins::all() {
            inner.serve_kind(Kind::from(kind));
        }
        inner.serve_event_view();
        inner
    }

    /// Ends every open watch.
    pub(crate) fn close_watches(&self) {
        self.cut.send();
    }

    /// The bearer token that makes a request `user`'s.
    pub(crate) fn token(&self, user: &str) -> String {
        format!("{:016x}.{user}", self.secret)
    }

    pub(crate) fn user_of_token(&self, token: &str) -> Option<String> {
        let (secret, user) = token.split_once('.')?;
        let known = secret == format!("{:016x}", self.secret) && !user.is_empty();
        known.then(|| user.to_owned())
    }

    /// A new resource with one version.
    pub(crate) fn serve_kind(&self, kind: Kind) {
        let kind = Arc::new(kind);
        let table = self.store.add_table(kind.clone());
        self.serve_versions(table, &kind.clone(), vec![kind]);
    }

    fn serve_event_view(&self) {
        if let Some(Served { table, .. }) = self.served("", "events") {
            let view = Arc::new(event_view());
            self.serve_versions(table, &view.clone(), vec![view]);
        }
    }

    /// A custom resource: a new one, or the same objects under new rules.
    pub(crate) fn serve_definition(&self, storage: Kind, served: Vec<Kind>) {
        let storage = Arc::new(storage);
        let of = (storage.group.clone(), storage.plural.clone());
        let known = {
            let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
            kinds.get(&of).map(|resource| resource.table)
        };
        let table = match known {
            Some(table) => {
                self.store.replace_kind(table, storage.clone());
                table
            }
            None => self.store.add_table(storage.clone()),
        };
        self.serve_versions(table, &storage, served.into_iter().map(Arc::new).collect());
    }

    fn serve_versions(&self, table: TableId, of: &Kind, mut versions: Vec<Arc<Kind>>) {
        versions.sort_by(|one, other| by_priority(&one.version, &other.version));
        self.kinds
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(
                (of.group.clone(), of.plural.clone()),
                Resource { table, versions },
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

    /// The preferred version of a resource.
    pub(crate) fn served(&self, group: &str, plural: &str) -> Option<Served> {
        self.find(group, plural, |_| true)
    }

    pub(crate) fn served_version(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<Served> {
        self.find(group, plural, |kind| kind.version == version)
    }

    fn find(&self, group: &str, plural: &str, is: impl Fn(&Kind) -> bool) -> Option<Served> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let resource = kinds.get(&(group.to_owned(), plural.to_owned()))?;
        let kind = resource.versions.iter().find(|kind| is(kind))?;
        Some(Served {
            table: resource.table,
            kind: kind.clone(),
        })
    }

    /// Every version that is served, sorted by group and plural, the preferred version first.
    pub(crate) fn all_served(&self) -> Vec<Served> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let of = |resource: &Resource| {
            let table = resource.table;
            let kinds = resource.versions.iter().cloned();
            kinds
                .map(move |kind| Served { table, kind })
                .collect::<Vec<_>>()
        };
        let mut all: Vec<_> = kinds.values().flat_map(of).collect();
        all.sort_by(|a, b| (&a.kind.group, &a.kind.plural).cmp(&(&b.kind.group, &b.kind.plural)));
        all
    }

    /// The kind of an object as its own text names it.
    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<Served> {
        let is_it = |it: &&Arc<Kind>| it.kind == kind && it.api_version() == api_version;
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        kinds.values().find_map(|resource| {
            let kind = resource.versions.iter().find(is_it)?.clone();
            let table = resource.table;
            Some(Served { table, kind })
        })
    }

    pub(crate) fn by_plural(&self, plural: &str) -> Option<Served> {
        self.all_served()
            .into_iter()
            .find(|served| served.kind.plural == plural)
    }

    /// The kind in its table, for controllers that only have an id: of a custom resource, the storage version.
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
