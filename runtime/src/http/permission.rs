//! Rights that the API server denies: which one it is, and that it is told once.
//!
//! Guarantees: a right is read from the words in which the server's authorisation refuses; what its
//! admission refuses (a quota, a policy, a namespace that is being deleted) has the same status, 403,
//! and is none. One line in the log names verb, resource and the way out, once in [`TELL_AGAIN`] for
//! each right, however many objects wait for it.
//! Leaves to others: what follows for an owner (`apply`), for a watch or a join (`controller`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

/// After this a right that is still denied is told again.
pub const TELL_AGAIN: Duration = Duration::from_secs(3_600);
/// Rights that are remembered as told: an operator asks for some thirty; a server that makes up more
/// of them has them told each time.
const REMEMBERED: usize = 64;

/// What a rule of a role grants: a verb on a resource of an API group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    verb: Box<str>,
    /// With its subresource: `edgeapps/status`.
    resource: Box<str>,
    /// Empty for the core group.
    group: Box<str>,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in ", self.verb, self.resource)?;
        match &*self.group {
            "" => f.write_str("the core API group"),
            group => write!(f, "API group {group}"),
        }
    }
}

impl Right {
    /// `verb` on `resource` of an API group or of a version of it (`tare.dev/v1alpha1`).
    pub(crate) fn new(verb: &str, resource: &str, api_version: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self {
            verb: verb.into(),
            resource: resource.into(),
            group: group.into(),
        }
    }

    /// The right that a refusal speaks of: `User "x" cannot list resource "services" in API group ""`,
    /// from `forbiddenMessage` in k8s.io/apiserver, the same for every authoriser.
    pub(crate) fn denied_in(message: &str) -> Option<Self> {
        let (before, rest) = message.split_once(" resource \"")?;
        let (_, verb) = before.rsplit_once(" cannot ")?;
        let (resource, rest) = rest.split_once("\" in API group \"")?;
        let (group, _) = rest.split_once('"')?;
        Some(Self {
            verb: verb.into(),
            resource: resource.into(),
            group: group.into(),
        })
    }
}

/// Whether a refusal is that of the admission plugin OwnerReferencesPermissionEnforcement: whoever
/// makes a child with `blockOwnerDeletion` needs `update` on `finalizers` of its owner. Its words are
/// the only ones about a right that do not name it.
pub(crate) fn is_of_owner_references(message: &str) -> bool {
    message.contains("cannot set blockOwnerDeletion") && message.contains("can't set finalizers on")
}

/// Whether the same plugin does not know the owner's kind: it learns of a new CRD within half a minute.
pub(crate) fn is_of_unknown_owner_kind(message: &str) -> bool {
    message.contains("cannot set blockOwnerDeletion") && message.contains("RESTMapping")
}

/// Rights that were denied, and when that was told.
#[derive(Default)]
pub(crate) struct Denied {
    told: Mutex<BTreeMap<Right, Instant>>,
}

impl Denied {
    /// Tells of a right that is missing, unless that was told lately. Whether it was.
    pub(crate) fn tell(&self, right: Right) -> bool {
        let now = Instant::now();
        let mut told = self
            .told
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        told.retain(|_, at| now.duration_since(*at) < TELL_AGAIN);
        if told.contains_key(&right) {
            return false;
        }
        warn!(
            verb = &*right.verb,
            resource = &*right.resource,
            group = &*right.group,
            "may not {right}: grant that to this operator's role (trying again)"
        );
        if told.len() < REMEMBERED {
            told.insert(right, now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_read_from_the_words_of_the_server() {
        for (message, right) in [
            (
                r#"services is forbidden: User "system:serviceaccount:tare-system:tare" cannot list resource "services" in API group "" at the cluster scope"#,
                Some("list services in the core API group"),
            ),
            (
                r#"edgeapps.tare.dev "web" is forbidden: User "tare" cannot patch resource "edgeapps/status" in API group "tare.dev" in the namespace "shop": RBAC: clusterrole.rbac.authorization.k8s.io "tare" not found"#,
                Some("patch edgeapps/status in API group tare.dev"),
            ),
            (
                r#"deployments.apps "web" is forbidden: exceeded quota: few, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1"#,
                None,
            ),
            (
                r#"admission webhook "no.example" denied the request: you cannot have this resource"#,
                None,
            ),
            (
                r#"services "web" is forbidden: unable to create new content in namespace shop because it is being terminated"#,
                None,
            ),
            ("", None),
        ] {
            let found = Right::denied_in(message).map(|right| right.to_string());
            assert_eq!(found.as_deref(), right, "{message}");
        }
        assert_eq!(
            Right::new("update", "edgeapps/finalizers", "tare.dev/v1alpha1").to_string(),
            "update edgeapps/finalizers in API group tare.dev"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_missing_is_told_once_an_hour() {
        let denied = Denied::default();
        let right = |resource| Right::new("list", resource, "v1");
        assert!(denied.tell(right("services")));
        assert!(!denied.tell(right("services")));
        assert!(denied.tell(right("events")), "another one is news");
        tokio::time::advance(TELL_AGAIN).await;
        assert!(denied.tell(right("services")), "it is still missing");
    }
}
