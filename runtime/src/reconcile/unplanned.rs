//! The children of an owner that are not in its plan: what an earlier plan made and this one leaves out.
//!
//! Guarantees: where names follow from those of the owners, no request; each child that may exist is then an
//! absent one of the plan. Other kinds cost one list for an owner whose spec or children changed.
//! Leaves to others: reading and deleting them, and only those whose controller is the owner (`children`).

use std::sync::Arc;

use crate::api::{Child, Kind, Operator, Owner, kind_index};
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::model::{Content, KindId, OwnerState, Retention, Triggers, hash32};
use crate::reconcile::child_names::{ChildNames, is_planned};
use crate::reconcile::failure::Interrupt;
use crate::reconcile::owned;

/// Finds children that left the plan.
pub(super) struct Unplanned {
    api: Api,
    paths: Arc<Paths>,
    names: Arc<ChildNames>,
    keeps_records: bool,
}

impl Unplanned {
    pub(super) fn new(
        api: Api,
        paths: Arc<Paths>,
        names: Arc<ChildNames>,
        retention: Retention,
    ) -> Self {
        Self {
            api,
            paths,
            names,
            keeps_records: retention == Retention::Specs,
        }
    }

    /// Remembers the names of planned children.
    pub(super) fn learn<O: Operator>(&self, owner: &Owner<O>, plan: &[Child]) {
        for child in plan.iter().filter(|child| child.body.is_some()) {
            if let Some(kind) = kind_index(O::KINDS, &child.kind) {
                self.names.learn(kind, &owner.meta.name, &child.name);
            }
        }
    }

    /// The children that may exist beside the plan by their names, as absent.
    pub(super) fn by_name<O: Operator>(&self, owner: &Owner<O>, plan: &[Child]) -> Vec<Child> {
        if mutant!(UnplannedStays) {
            return Vec::new();
        }
        self.names.unplanned::<O>(&owner.meta.name, plan)
    }

    /// Adds the children that may exist beside the plan to it, as absent. `compares`: all children are compared
    /// and not only those that are to be looked at.
    pub(super) async fn complete<O: Operator>(
        &self,
        owner: &Owner<O>,
        state: &OwnerState,
        plan: &mut Vec<Child>,
        compares: bool,
    ) -> Result<(), Interrupt> {
        let by_name = self.by_name(owner, plan);
        plan.extend(by_name);
        for (id, kind) in KindId::children(O::KINDS.len()).zip(O::KINDS) {
            let may_have_more = match compares {
                true => self.is_listed(id, state) && !self.is_recorded::<O>(id, state, plan),
                false => state.children.iter().any(|seen| {
                    seen.kind == id
                        && seen.content.is_pending()
                        && seen.content != Content::Gone
                        && !has::<O>(plan, id, seen.name_hash)
                }),
            };
            if !may_have_more || mutant!(UnplannedStays) {
                continue;
            }
            self.add_listed(owner, (id, kind), plan).await?;
        }
        Ok(())
    }

    /// Adds the children that an owner which is being deleted may have beside its plan to it, as absent. Its finalizer
    /// must not go before them: until a relist has shown what earlier processes left, they are listed.
    pub(super) async fn complete_teardown<O: Operator>(
        &self,
        owner: &Owner<O>,
        state: &OwnerState,
        plan: &mut Vec<Child>,
    ) -> Result<(), Interrupt> {
        let by_name = self.by_name(owner, plan);
        plan.extend(by_name);
        for (id, kind) in KindId::children(O::KINDS.len()).zip(O::KINDS) {
            let is_listed = self.names.is_irregular(id) || !self.names.is_complete();
            if is_listed && !self.is_recorded::<O>(id, state, plan) && !mutant!(UnplannedStays) {
                self.add_listed(owner, (id, kind), plan).await?;
            }
        }
        Ok(())
    }

    /// Adds the children of one kind that the label of their owner finds and the plan does not speak of, as absent.
    async fn add_listed<O: Operator>(
        &self,
        owner: &Owner<O>,
        (id, kind): (KindId, &Kind),
        plan: &mut Vec<Child>,
    ) -> Result<(), Interrupt> {
        let (key, uid) = (owner.meta.key(), owner.meta.uid);
        let found = owned::list(&self.api, &self.paths, (id, kind), &key, uid).await?;
        for child in found {
            if !is_planned::<O>(plan, Some(id), &child.name) {
                plan.push(Child::absent(*kind, child.name));
            }
        }
        Ok(())
    }

    /// Whether names do not tell which children of this kind there may be. Until the first relist has ended it has
    /// not shown every name; owners that it finds itself are read anew, and their children were on its pages.
    fn is_listed(&self, kind: KindId, state: &OwnerState) -> bool {
        let by_event =
            state.work.triggers.has(Triggers::SPEC) && !state.work.triggers.has(Triggers::REFRESH);
        self.names.is_irregular(kind) || (by_event && !self.names.is_complete())
    }

    /// Whether all children of this kind are recorded, and the plan speaks of each.
    fn is_recorded<O: Operator>(&self, kind: KindId, state: &OwnerState, plan: &[Child]) -> bool {
        let mut records = state.children.iter().filter(|record| record.kind == kind);
        self.keeps_records
            && state.children.complete
            && !state.work.triggers.has(Triggers::READ)
            && records.all(|record| has::<O>(plan, kind, record.name_hash))
    }
}

fn has<O: Operator>(plan: &[Child], kind: KindId, name_hash: u32) -> bool {
    plan.iter().any(|child| {
        hash32(&child.name) == name_hash && kind_index(O::KINDS, &child.kind) == Some(kind)
    })
}
