//! Kinds of children: where the API serves them, and what of their status a plan may look at.
//!
//! Guarantees: data only. Leaves to others: reading what is declared here (`model::progress`).

use crate::model::{KindId, REPLICAS, SCHEDULED};

/// A kind of child. For a kind without a constant write one:
///
/// ```
/// use tare_runtime::api::Kind;
///
/// const CERTIFICATE: Kind = Kind {
///     api_version: "cert-manager.io/v1",
///     kind: "Certificate",
///     plural: "certificates",
///     namespaced: true,
///     status: &["/conditions", "/notAfter"],
/// };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What of its status a plan looks at, JSON pointers into `status` (RFC 6901). A change of one of them plans the owner
    /// again. Empty: a plan sees only that the child exists, and in cache mode `metadata` only its metadata are watched.
    /// What counts replicas is read of every kind that has some here
    /// ([`ChildState::is_ready`](crate::model::ChildState::is_ready)); whatever else is named is what
    /// [`ChildState::field`](crate::model::ChildState::field) has.
    pub status: &'static [&'static str],
}

/// Declares the constant of a kind.
macro_rules! kinds {
    (namespaced: $namespaced:literal; $($name:ident = $api_version:literal $kind:literal $plural:literal $status:expr;)*) => {
        $(
            #[doc = concat!("`", $api_version, "` ", $kind, ".")]
            pub const $name: Kind = Kind {
                api_version: $api_version,
                kind: $kind,
                plural: $plural,
                namespaced: $namespaced,
                status: $status,
            };
        )*
    };
}

kinds! {
    namespaced: true;
    CONFIG_MAP = "v1" "ConfigMap" "configmaps" &[];
    CRON_JOB = "batch/v1" "CronJob" "cronjobs" &["/active", "/lastSuccessfulTime"];
    DAEMON_SET = "apps/v1" "DaemonSet" "daemonsets" SCHEDULED;
    DEPLOYMENT = "apps/v1" "Deployment" "deployments" REPLICAS;
    HORIZONTAL_POD_AUTOSCALER = "autoscaling/v2" "HorizontalPodAutoscaler" "horizontalpodautoscalers"
        &["/currentReplicas", "/desiredReplicas"];
    INGRESS = "networking.k8s.io/v1" "Ingress" "ingresses" &["/loadBalancer/ingress"];
    JOB = "batch/v1" "Job" "jobs" &["/active", "/succeeded", "/failed", "/conditions"];
    NETWORK_POLICY = "networking.k8s.io/v1" "NetworkPolicy" "networkpolicies" &[];
    PERSISTENT_VOLUME_CLAIM = "v1" "PersistentVolumeClaim" "persistentvolumeclaims"
        &["/phase", "/capacity/storage"];
    POD = "v1" "Pod" "pods" &["/phase", "/conditions", "/podIP"];
    POD_DISRUPTION_BUDGET = "policy/v1" "PodDisruptionBudget" "poddisruptionbudgets"
        &["/disruptionsAllowed", "/currentHealthy", "/desiredHealthy"];
    ROLE = "rbac.authorization.k8s.io/v1" "Role" "roles" &[];
    ROLE_BINDING = "rbac.authorization.k8s.io/v1" "RoleBinding" "rolebindings" &[];
    SECRET = "v1" "Secret" "secrets" &[];
    // Its address has a constant of its own: most Services have none, and are then not looked at for it.
    SERVICE = "v1" "Service" "services" &[];
    LOAD_BALANCER = "v1" "Service" "services" &["/loadBalancer/ingress"];
    SERVICE_ACCOUNT = "v1" "ServiceAccount" "serviceaccounts" &[];
    STATEFUL_SET = "apps/v1" "StatefulSet" "statefulsets" REPLICAS;
}

kinds! {
    namespaced: false;
    CLUSTER_ROLE = "rbac.authorization.k8s.io/v1" "ClusterRole" "clusterroles" &[];
    CLUSTER_ROLE_BINDING = "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "clusterrolebindings" &[];
    NAMESPACE = "v1" "Namespace" "namespaces" &["/phase"];
    PERSISTENT_VOLUME = "v1" "PersistentVolume" "persistentvolumes" &["/phase"];
    PRIORITY_CLASS = "scheduling.k8s.io/v1" "PriorityClass" "priorityclasses" &[];
    STORAGE_CLASS = "storage.k8s.io/v1" "StorageClass" "storageclasses" &[];
}

impl Kind {
    /// Whether both are the same resource of the API, whatever of its status is looked at.
    pub fn is(&self, other: &Kind) -> bool {
        (self.api_version, self.plural) == (other.api_version, other.plural)
    }

    /// Whether a plan looks at its status.
    pub fn has_status(&self) -> bool {
        !self.status.is_empty()
    }
}

/// The index of `kind` in [`Operator::KINDS`](crate::api::Operator::KINDS).
pub(crate) fn kind_index(kinds: &[Kind], kind: &Kind) -> Option<KindId> {
    let place = kinds.iter().position(|declared| declared.is(kind));
    place.and_then(KindId::child)
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
            namespaced: true,
            status: &["/url"],
        };
        let kinds = [SERVICE, KNATIVE_SERVICE];
        assert_eq!(kind_index(&kinds, &KNATIVE_SERVICE), KindId::child(1));
        assert_eq!(kind_index(&kinds, &SERVICE), KindId::child(0));
        assert_eq!(kind_index(&[SERVICE], &KNATIVE_SERVICE), None);
        assert_eq!(kind_index(&[LOAD_BALANCER], &SERVICE), KindId::child(0));
    }
}
