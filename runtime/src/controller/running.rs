//! A relist that runs.

use futures::StreamExt;
use futures::stream::{BoxStream, unfold};

use crate::controller::written::Written;
use crate::model::KindId;
use crate::relist::{Compare, Coverage, Found, Relist};

/// A relist that runs.
pub(crate) struct RunningRelist {
    /// What it finds.
    pub found: BoxStream<'static, Found>,
    pub coverage: Coverage,
    /// First pages that are still to come: watches wait for them.
    pub opening: usize,
    /// The resourceVersions of the first pages, by index of the kind.
    pub revisions: Vec<u64>,
    /// How far the server was when it began, by the watches and by its answers: no list is older, unless the server
    /// was restored from a backup.
    known: Vec<u64>,
    /// The owners that were written since it began.
    pub written: Written,
}

impl RunningRelist {
    /// Runs `relist`, which lists `kinds` collections. `known`: how far the server was, by index of the kind.
    pub fn new<C>(relist: Relist<C>, coverage: Coverage, kinds: usize, known: Vec<u64>) -> Self
    where
        C: Compare<Child: Send + Sync> + Send + Sync + 'static,
    {
        let found = unfold(relist, |mut relist| async {
            Some((relist.next().await, relist))
        });
        Self {
            found: found.boxed(),
            coverage,
            opening: kinds,
            revisions: Vec::new(),
            known,
            written: Written::default(),
        }
    }

    /// Whether a first page of `kind` at `resource_version` is older than what was known of the server.
    pub fn is_backwards(&self, kind: KindId, resource_version: u64) -> bool {
        let known = self.known.get(kind.index());
        known.is_some_and(|known| resource_version < *known) && !mutant!(BackwardsIgnored)
    }
}
