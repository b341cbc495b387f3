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
    /// What the watches had shown when it began: no list is older, unless the server was restored from a backup.
    shown: Vec<u64>,
    /// The owners that were written since it began.
    pub written: Written,
}

impl RunningRelist {
    /// Runs `relist`, which lists `kinds` collections. `shown`: the resourceVersions that the watches have shown.
    pub fn new<C>(relist: Relist<C>, coverage: Coverage, kinds: usize, shown: &[u64]) -> Self
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
            shown: shown.to_vec(),
            written: Written::default(),
        }
    }

    /// Whether a first page of `kind` at `resource_version` is older than what its watch had shown.
    pub fn is_backwards(&self, kind: KindId, resource_version: u64) -> bool {
        let shown = self.shown.get(kind.index());
        shown.is_some_and(|shown| resource_version < *shown) && !mutant!(BackwardsIgnored)
    }
}
