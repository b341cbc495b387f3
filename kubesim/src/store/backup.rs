//! A backup of everything that is stored, and setting the store back to it.
//!
//! Guarantees: one step under the lock; after it the revision is that of the backup, and no history is known.
//! Leaves to others: the watches, and the work of the controllers that follows ([`crate::server`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::record::Record;
use crate::store::{Store, TableId};

type Objects = BTreeMap<Arc<str>, Arc<Record>>;

/// All objects at one revision. A record is immutable, so that a backup costs no copy of it.
#[derive(Clone)]
pub struct Backup {
    revision: u64,
    tables: Vec<Objects>,
}

impl Store {
    pub(crate) fn backup(&self) -> Backup {
        let state = self.lock();
        let objects = |table: &Option<super::Table>| {
            let table = table.as_ref();
            table.map(|table| table.objects.clone()).unwrap_or_default()
        };
        Backup {
            revision: state.revision,
            tables: state.tables.iter().map(objects).collect(),
        }
    }

    /// Sets everything back; returns where the objects are. A resource that is newer than the backup is empty.
    pub(crate) fn restore(&self, backup: &Backup) -> Vec<(TableId, Arc<Record>)> {
        let mut state = self.lock();
        state.revision = backup.revision;
        state.compacted = backup.revision;
        state.order.clear();
        state.history_bytes = 0;
        state.uids.clear();
        state.children.clear();
        for (id, table) in state.tables.iter_mut().enumerate() {
            if let Some(table) = table {
                table.objects = backup.tables.get(id).cloned().unwrap_or_default();
                table.history.clear();
                table.forgotten = backup.revision;
            }
        }
        let tables = state.tables();
        let all = tables.flat_map(|(id, table)| {
            let objects = table.objects.values();
            objects.map(move |record| (id, record.clone()))
        });
        let all: Vec<_> = all.collect();
        for (id, record) in &all {
            state.index(*id, &record.key, record);
        }
        all
    }
}
