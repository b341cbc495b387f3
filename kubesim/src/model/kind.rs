//! A served resource: its names, its scope, its subresources and the rules it follows.

use std::sync::Arc;

use crate::schema::Schema;

/// A served resource. Two versions of one resource are not held.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) has_status: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) rules: Rules,
}

/// Where `/scale` reads and writes, as field paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    /// `None` for Deployments: the selector is the object's own LabelSelector.
    pub(crate) selector: Option<Vec<String>>,
}

/// The defaults, validation and generation rules that an object follows.
#[derive(Clone, Debug)]
pub(crate) enum Rules {
    Deployment,
    ReplicaSet,
    Service,
    ConfigMap,
    Secret,
    Pod,
    Lease,
    Namespace,
    Event,
    /// events.k8s.io/v1 over the store of [`Rules::Event`].
    EventView,
    Definition,
    Custom(Arc<Schema>),
}

impl Kind {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `deployments.apps`, as errors name a resource.
    pub(crate) fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Deployment.apps`, as errors name a kind.
    pub(crate) fn group_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.rules, Rules::Custom(_))
    }

    /// Whether `metadata.generation` is kept (it is not for Services, ConfigMaps, Leases, …).
    pub(crate) fn has_generation(&self) -> bool {
        matches!(
            self.rules,
            Rules::Deployment
                | Rules::ReplicaSet
                | Rules::Pod
                | Rules::Definition
                | Rules::Custom(_)
        )
    }

    /// Whether it is of those whose zero values are known (`defaults::zero`).
    pub(crate) fn has_typed_zeros(&self) -> bool {
        matches!(
            self.rules,
            Rules::Deployment
                | Rules::ReplicaSet
                | Rules::Service
                | Rules::ConfigMap
                | Rules::Secret
                | Rules::Pod
        )
    }

    /// `namespace/name`, or the name alone for cluster scope.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> String {
        if self.namespaced {
            format!("{namespace}/{name}")
        } else {
            name.to_owned()
        }
    }
}

struct BuiltIn(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    bool,
    bool,
    Rules,
);

/// The kinds that are there before any CRD.
pub(crate) fn built_in() -> Vec<Kind> {
    // group, version, plural, kind, short name, namespaced, status subresource, rules
    [
        BuiltIn(
            "apps",
            "v1",
            "deployments",
            "Deployment",
            "deploy",
            true,
            true,
            Rules::Deployment,
        ),
        BuiltIn(
            "apps",
            "v1",
            "replicasets",
            "ReplicaSet",
            "rs",
            true,
            true,
            Rules::ReplicaSet,
        ),
        BuiltIn(
            "",
            "v1",
            "services",
            "Service",
            "svc",
            true,
            true,
            Rules::Service,
        ),
        BuiltIn(
            "",
            "v1",
            "configmaps",
            "ConfigMap",
            "cm",
            true,
            false,
            Rules::ConfigMap,
        ),
        BuiltIn(
            "",
            "v1",
            "secrets",
            "Secret",
            "",
            true,
            false,
            Rules::Secret,
        ),
        BuiltIn("", "v1", "pods", "Pod", "po", true, true, Rules::Pod),
        BuiltIn(
            "",
            "v1",
            "namespaces",
            "Namespace",
            "ns",
            false,
            true,
            Rules::Namespace,
        ),
        BuiltIn("", "v1", "events", "Event", "ev", true, false, Rules::Event),
        BuiltIn(
            "coordination.k8s.io",
            "v1",
            "leases",
            "Lease",
            "",
            true,
            false,
            Rules::Lease,
        ),
        BuiltIn(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            "crd",
            false,
            true,
            Rules::Definition,
        ),
    ]
    .into_iter()
    .map(
        |BuiltIn(group, version, plural, kind, short, namespaced, has_status, rules)| {
            let scales = matches!(rules, Rules::Deployment | Rules::ReplicaSet);
            Kind {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: plural.to_owned(),
                singular: kind.to_lowercase(),
                kind: kind.to_owned(),
                list_kind: format!("{kind}List"),
                short_names: Some(short)
                    .filter(|s| !s.is_empty())
                    .map(str::to_owned)
                    .into_iter()
                    .collect(),
                categories: Vec::new(),
                namespaced,
                has_status,
                scale: scales.then(|| Scale {
                    spec_replicas: vec!["spec".to_owned(), "replicas".to_owned()],
                    status_replicas: vec!["status".to_owned(), "replicas".to_owned()],
                    selector: None,
                }),
                rules,
            }
        },
    )
    .collect()
}

/// Events as events.k8s.io/v1 shows them.
pub(crate) fn event_view() -> Kind {
    Kind {
        group: "events.k8s.io".to_owned(),
        version: "v1".to_owned(),
        plural: "events".to_owned(),
        singular: "event".to_owned(),
        kind: "Event".to_owned(),
        list_kind: "EventList".to_owned(),
        short_names: vec!["ev".to_owned()],
        categories: Vec::new(),
        namespaced: true,
        has_status: false,
        scale: None,
        rules: Rules::EventView,
    }
}

/// Resources that a real server has and this one has not: 501 instead of 404.
pub(crate) fn known_elsewhere(group: &str, plural: &str) -> bool {
    const CORE: [&str; 10] = [
        "serviceaccounts",
        "nodes",
        "persistentvolumes",
        "persistentvolumeclaims",
        "endpoints",
        "resourcequotas",
        "limitranges",
        "replicationcontrollers",
        "podtemplates",
        "bindings",
    ];
    const GROUPS: [&str; 17] = [
        "admissionregistration.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "discovery.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "internal.apiserver.k8s.io",
    ];
    match group {
        "" => CORE.contains(&plural),
        "apps" => ["daemonsets", "statefulsets", "controllerrevisions"].contains(&plural),
        group => GROUPS.contains(&group),
    }
}
