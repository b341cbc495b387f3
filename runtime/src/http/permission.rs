//! RBAC permissions that the operator lacks: which one, and a log line for it.
//!
//! Guarantees: a missing permission is read from the message with which the server's authoriser
//! refuses. What admission refuses (a quota, a policy, a namespace that is being deleted) also has
//! status 403 and names no permission. One log line names verb, resource and what to do, once in
//! [`REPORT_AGAIN`] for each permission, however many objects need it.
//! Leaves to others: what follows for an owner (`reconcile`), for a watch or a relist (`controller`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

/// A permission that is still missing after this time is reported again.
pub const REPORT_AGAIN: Duration = Duration::from_secs(3_600);
/// Permissions of which the last report is remembered. An operator needs about thirty; what exceeds
/// this number is reported each time.
const REMEMBERED: usize = 64;

/// What a rule of a role grants: a verb on a resource of an API group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    verb: Box<str>,
    /// With its subresource: `notes/status`.
    resource: Box<str>,
    /// Empty for the core group.
    group: Box<str>,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in ", self.verb, self.resource)?;
        match &*self.group {
            "" => f.write_str("the core API group"),
            group => write!(f, "API group {group}"),
        }
    }
}

impl Permission {
    /// `verb` on `resource` of an API group or of a version of it (`tare.dev/v1alpha1`).
    pub(crate) fn new(verb: &str, resource: &str, api_version: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self {
            verb: verb.into(),
            resource: resource.into(),
            group: group.into(),
        }
    }

    /// The permission that a refusal names: `User "x" cannot list resource "services" in API group ""`,
    /// from `forbiddenMessage` in k8s.io/apiserver, the same for every authoriser.
    pub(crate) fn missing_in(message: &str) -> Option<Self> {
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

/// Whether a refusal comes from the admission plugin OwnerReferencesPermissionEnforcement: creating a
/// child with `blockOwnerDeletion` needs `update` on `finalizers` of its owner. It is the only refusal
/// about a permission that does not name the permission.
pub(crate) fn is_about_owner_references(message: &str) -> bool {
    message.contains("cannot set blockOwnerDeletion") && message.contains("can't set finalizers on")
}

/// Whether the same plugin does not know the owner's kind yet: it learns of a new CRD within 30 s.
pub(crate) fn is_about_unknown_owner_kind(message: &str) -> bool {
    message.contains("cannot set blockOwnerDeletion") && message.contains("RESTMapping")
}

/// Missing permissions and when each was last reported.
#[derive(Default)]
pub(crate) struct MissingPermissions {
    reported: Mutex<BTreeMap<Permission, Instant>>,
}

impl MissingPermissions {
    /// Logs that `permission` is missing unless that was logged within [`REPORT_AGAIN`]. Returns
    /// whether it was logged now.
    pub(crate) fn report(&self, permission: Permission) -> bool {
        let now = Instant::now();
        let mut reported = self
            .reported
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        reported.retain(|_, at| now.duration_since(*at) < REPORT_AGAIN);
        if reported.contains_key(&permission) {
            return false;
        }
        warn!(
            verb = &*permission.verb,
            resource = &*permission.resource,
            group = &*permission.group,
            "may not {permission}: grant that to this operator's role (retrying)"
        );
        if reported.len() < REMEMBERED {
            reported.insert(permission, now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_is_read_from_the_message_of_the_server() {
        for (message, permission) in [
            (
                r#"services is forbidden: User "system:serviceaccount:tare-system:tare" cannot list resource "services" in API group "" at the cluster scope"#,
                Some("list services in the core API group"),
            ),
            (
                r#"notes.example.com "web" is forbidden: User "tare" cannot patch resource "notes/status" in API group "example.com" in the namespace "shop": RBAC: clusterrole.rbac.authorization.k8s.io "tare" not found"#,
                Some("patch notes/status in API group example.com"),
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
            let found = Permission::missing_in(message).map(|found| found.to_string());
            assert_eq!(found.as_deref(), permission, "{message}");
        }
        assert_eq!(
            Permission::new("update", "notes/finalizers", "example.com/v1").to_string(),
            "update notes/finalizers in API group example.com"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_permission_is_reported_once_an_hour() {
        let missing = MissingPermissions::default();
        let list = |resource| Permission::new("list", resource, "v1");
        assert!(missing.report(list("services")));
        assert!(!missing.report(list("services")));
        assert!(missing.report(list("events")), "another one is reported");
        tokio::time::advance(REPORT_AGAIN).await;
        assert!(missing.report(list("services")), "it is still missing");
    }
}
