//! One request on an object or a collection, with all that its verb needs.

use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

use crate::api::answer::Answer;
use crate::api::list::{full, metadata_only};
use crate::api::query::{Query, Shape};
use crate::fields::managed::{Operation, Writer};
use crate::model::kind::Kind;
use crate::model::record::{Draft, Record};
use crate::model::status::ApiError;
use crate::state::{Inner, Served};

/// A request on one object (or one collection), with all it needs.
pub(crate) struct Call<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) served: &'a Served,
    /// Empty for cluster scope.
    pub(crate) namespace: &'a str,
    /// Empty for a collection.
    pub(crate) name: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) manager: String,
    pub(crate) query: &'a Query,
    pub(crate) shape: Shape,
}

impl Call<'_> {
    pub(crate) fn key(&self) -> String {
        self.served.kind.key(self.namespace, self.name)
    }

    pub(crate) fn stored(&self) -> Result<Arc<Record>, ApiError> {
        self.inner
            .store
            .get(self.served.table, &self.key())
            .ok_or_else(|| ApiError::not_found(&self.served.kind, self.name))
    }

    /// The kind in the version in which objects are stored.
    pub(crate) fn storage(&self) -> Arc<Kind> {
        let kind = &self.served.kind;
        let stored = || self.inner.served_by_id(self.served.table);
        let storage = kind.is_custom().then(stored).flatten();
        storage.map_or_else(|| kind.clone(), |storage| storage.kind)
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.query.dry_run.is_some()
    }

    /// This request as a writer of fields.
    pub(crate) fn writer(&self, manager: &str, operation: Operation) -> Writer {
        Writer {
            manager: manager.to_owned(),
            operation,
            api_version: self.served.kind.api_version(),
            subresource: self.subresource.unwrap_or("").to_owned(),
            time: self.inner.clock.now(),
        }
    }

    pub(crate) fn show(&self, code: u16, record: &Record) -> Answer {
        match self.shape {
            Shape::Full => Answer::Whole(code, full(&self.served.kind, record)),
            Shape::MetadataOnly => {
                let mut out = Vec::new();
                metadata_only(&mut out, record);
                Answer::Whole(code, Bytes::from(out))
            }
        }
    }

    /// Shows what a dry run would have stored.
    pub(crate) fn show_dry(&self, code: u16, object: &Value, revision: u64) -> Answer {
        let record = Draft::new(&self.key(), object).seal(revision);
        self.show(code, &record)
    }
}
