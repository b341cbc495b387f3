//! The children of an owner: their kinds, the wanted ones, the observed ones.

use serde_json::Value;

use crate::api::operator::Operator;
use crate::model::{ChildState, KindId, hash32};

/// A kind of child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`.
    pub plural: &'static str,
    /// Whether its status counts replicas as that of a Deployment, StatefulSet or DaemonSet does, so that a plan can
    /// wait for them ([`ChildState::is_ready`]).
    pub workload: bool,
}

/// `apps/v1` Deployment.
pub const DEPLOYMENT: Kind = Kind {
    api_version: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
    workload: true,
};
/// `v1` Service.
pub const SERVICE: Kind = Kind {
    api_version: "v1",
    kind: "Service",
    plural: "services",
    workload: false,
};
/// `v1` ConfigMap.
pub const CONFIG_MAP: Kind = Kind {
    api_version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    workload: false,
};

/// One child of a plan: an object that must exist, or one that must be absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// Which kind; one of [`Operator::KINDS`].
    pub kind: Kind,
    /// Name in the owner's namespace.
    pub name: String,
    /// The wanted fields; `None` when the child must be absent.
    pub body: Option<Value>,
    /// JSON pointers of fields that the server never lets change: where one differs, the child is
    /// deleted and created again.
    pub immutable: &'static [&'static str],
}

impl Child {
    /// A child that must exist. `body` holds the fields that the operator sets (`spec`, `data`, labels and
    /// annotations). A list is set as a whole, and so is a map that the API calls atomic (a selector).
    /// `null` removes a field, and fields that are not named stay as they are.
    pub fn new(kind: Kind, name: impl Into<String>, body: Value) -> Self {
        Self {
            kind,
            name: name.into(),
            body: Some(body),
            immutable: &[],
        }
    }

    /// A child that must not exist.
    pub fn absent(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            body: None,
            immutable: &[],
        }
    }

    /// Names the fields whose value is fixed when the child is created.
    #[must_use]
    pub fn immutable(mut self, pointers: &'static [&'static str]) -> Self {
        self.immutable = pointers;
        self
    }
}

/// The observed children of an owner, as its plan sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Children {
    states: Vec<(KindId, u32, ChildState)>,
    /// The words with which their pods are refused. They are read when a status is made, and not retained.
    refusals: Vec<(KindId, u32, Box<str>)>,
}

impl Children {
    /// The last observed state of a child; `None` when it does not exist or was not observed yet.
    pub fn state<O: Operator>(&self, kind: &Kind, name: &str) -> Option<&ChildState> {
        let index = kind_index(O::KINDS, kind)?;
        let hash = hash32(name);
        self.states
            .iter()
            .find(|(k, h, _)| (*k, *h) == (index, hash))
            .map(|(_, _, state)| state)
    }

    /// The server's words, where the pods of a child are refused ([`ChildState::refused`]): a quota that is exceeded, a
    /// profile of Pod Security that is violated.
    pub fn refusal<O: Operator>(&self, kind: &Kind, name: &str) -> Option<&str> {
        let id = (kind_index(O::KINDS, kind)?, hash32(name));
        let mut refusals = self.refusals.iter();
        let found = refusals.find(|(kind, hash, _)| (*kind, *hash) == id);
        found.map(|(_, _, words)| &**words)
    }

    /// Records the words with which the pods of a child are refused.
    pub fn record_refusal<O: Operator>(&mut self, kind: &Kind, name: &str, words: &str) {
        if let Some(index) = kind_index(O::KINDS, kind) {
            self.refusals.push((index, hash32(name), words.into()));
        }
    }

    /// Whether the pods of one are refused.
    pub(crate) fn any_refused(&self) -> bool {
        self.states.iter().any(|(_, _, state)| state.refused)
    }

    /// Records the state of a child; a later record replaces an earlier one.
    pub fn record<O: Operator>(&mut self, kind: &Kind, name: &str, state: ChildState) {
        if let Some(index) = kind_index(O::KINDS, kind) {
            self.set(index, hash32(name), state);
        }
    }

    pub(crate) fn set(&mut self, kind: KindId, name_hash: u32, state: ChildState) {
        match self
            .states
            .iter_mut()
            .find(|(k, h, _)| (*k, *h) == (kind, name_hash))
        {
            Some(known) => known.2 = state,
            None => self.states.push((kind, name_hash, state)),
        }
    }
}

/// The index of `kind` in [`Operator::KINDS`].
pub(crate) fn kind_index(kinds: &[Kind], kind: &Kind) -> Option<KindId> {
    kinds
        .iter()
        .position(|k| (k.api_version, k.plural) == (kind.api_version, kind.plural))
        .and_then(KindId::child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_one_plural_in_two_groups_are_two_kinds() {
        const KNATIVE_SERVICE: Kind = Kind {
            api_version: "serving.knative.dev/v1",
            kind: "Service",
            plural: "services",
            workload: false,
        };
        let kinds = [SERVICE, KNATIVE_SERVICE];
        assert_eq!(kind_index(&kinds, &KNATIVE_SERVICE), KindId::child(1));
        assert_eq!(kind_index(&kinds, &SERVICE), KindId::child(0));
        assert_eq!(kind_index(&[SERVICE], &KNATIVE_SERVICE), None);
    }
}
