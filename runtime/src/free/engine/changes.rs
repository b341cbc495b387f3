//! What the changes that watches show ask for.
//!
//! Guarantees: a change asks for whom it concerns, or, where that is not known, for everything.
//! Leaves to others: what a watch is (`watch`), when what is asked for is done (`queue`).

use std::sync::Arc;

use futures::TryFuture;
use kube::Resource;
use serde::de::DeserializeOwned;

use crate::free::action::Action;
use crate::free::engine::work::InEvent;
use crate::free::engine::{Begun, Concerns, Engine, Requested};
use crate::free::queue::Content;
use crate::http::request::ApiError;
use crate::model::{ObjectKey, decoded};
use crate::watch::changes::Change;

impl<K, R, F, P, Ctx> Engine<K, R, P, Ctx, F::Error>
where
    K: Clone + Resource + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone,
    R: FnMut(Arc<K>, Arc<Ctx>) -> F,
    F: TryFuture<Ok = Action> + Send + 'static,
    F::Error: std::error::Error + Send + 'static,
    P: Fn(Arc<K>, &F::Error, Arc<Ctx>) -> Action,
{
    pub(super) fn on_change(&mut self, index: usize, change: Change) {
        let now_ms = self.now_ms();
        match (index, change) {
            (_, Change::From { after }) => self.on_begun(index, after),
            (_, Change::Opened) => {}
            (0, Change::Object { seen, line }) => {
                self.are_in_namespaces = Some(!seen.key.namespace().is_empty());
                let content = Content::Event(line);
                let is_skipped = !seen.is_deleted && self.skips(&content);
                if let Some(pass) = &mut self.pass {
                    pass.changed(&seen.key, !is_skipped);
                }
                match (seen.is_deleted, is_skipped) {
                    (true, _) => self.queue.forget(&seen.key),
                    (_, true) => self.queue.renew(&seen.key, content),
                    _ => self.queue.request(&seen.key, Some(content), now_ms),
                }
            }
            (_, Change::Object { seen, line }) => self.on_related(index - 1, seen.key, &line),
            (0, Change::Skipped(Some(key))) => self.queue.request(&key, None, now_ms),
            // Whom it concerns is not known.
            (_, Change::Skipped(_)) => self.want(0),
            (_, Change::Failed(what, error)) => {
                if self.begun[index] == Begun::Not {
                    self.begun[index] = Begun::Rejected;
                }
                self.fail(index, what, error);
            }
        }
    }

    pub(super) fn on_related(&mut self, related: usize, key: ObjectKey, line: &[u8]) {
        let now_ms = self.now_ms();
        match &self.parts.related[related].concerns {
            Concerns::Mapped(mapper) => match mapper(line) {
                Ok(keys) => keys.into_iter().for_each(|key| {
                    // Before the first object was shown there is none to reconcile, and each is when it is shown.
                    if let Some(are_in_namespaces) = self.are_in_namespaces {
                        let key = match are_in_namespaces {
                            true => key,
                            false => ObjectKey::new("", key.name()),
                        };
                        self.queue.request(&key, None, now_ms);
                    }
                }),
                Err(error) => self.fail(related + 1, "decode", ApiError::undecodable(&error)),
            },
            Concerns::Named(_) => {
                if self.named.has(related, &key) {
                    self.changed.insert((related, key));
                }
            }
        }
    }

    /// Whether an object names one for which the running list is read.
    pub(super) fn names_changed(&self, json: &[u8]) -> bool {
        let Ok(object) = decoded::<K>(json) else {
            return false;
        };
        let related = self.parts.related.iter().enumerate();
        related
            .into_iter()
            .any(|(index, related)| match &related.concerns {
                Concerns::Mapped(_) => false,
                Concerns::Named(references) => references(&object)
                    .into_iter()
                    .any(|key| self.listed_for.contains(&(index, key))),
            })
    }

    /// A watch begins, or begins again. `after`: what it has shown before.
    pub(super) fn on_begun(&mut self, index: usize, after: u64) {
        let is_first = self.begun[index] != Begun::Yes;
        self.begun[index] = Begun::Yes;
        match (index, is_first) {
            (0, _) => self.want(after),
            // The first list comes after it.
            (_, true) if !self.has_listed => {}
            // A related object that is gone is in no list.
            _ => self.want(0),
        }
    }

    pub(super) fn want(&mut self, after: u64) {
        self.wanted = Some(self.wanted.map_or(after, |wanted| wanted.min(after)));
    }

    pub(super) fn skips(&self, event: &Content) -> bool {
        let (Some(skip), Content::Event(line)) = (&self.parts.skip, event) else {
            return false;
        };
        decoded::<InEvent<K>>(line).is_ok_and(|event| skip(&event.object))
    }

    pub(super) fn on_ask(&mut self, ask: Requested) {
        match ask {
            Requested::One(key) => self.queue.request(&key, None, self.now_ms()),
            Requested::All => self.want(0),
        }
    }
}
