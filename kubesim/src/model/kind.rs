//! A served resource: its names, its scope, its subresources and the rules it follows.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Event;

use crate::model::built_in::BuiltIn;
use crate::schema::Schema;

/// A served resource in one version.
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
    /// The declaration of a kind of Kubernetes itself.
    pub(crate) built_in: Option<Arc<BuiltIn>>,
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
    /// What its declaration says, and no more.
    Data,
    Service,
    ConfigMap,
    Secret,
    Pod,
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
        self.built_in
            .as_ref()
            .is_none_or(|built_in| built_in.has_generation)
    }

    /// Whether it is of Kubernetes itself and says so of itself.
    pub(crate) fn is_built_in_that(&self, is: impl Fn(&BuiltIn) -> bool) -> bool {
        self.built_in.as_deref().is_some_and(is)
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

impl From<BuiltIn> for Kind {
    fn from(built_in: BuiltIn) -> Kind {
        let kind = built_in.kind;
        let texts = |text: Option<&str>| text.into_iter().map(str::to_owned).collect();
        Kind {
            group: built_in.group.to_owned(),
            version: built_in.version.to_owned(),
            plural: built_in.plural.to_owned(),
            singular: kind.to_lowercase(),
            kind: kind.to_owned(),
            list_kind: format!("{kind}List"),
            short_names: texts(built_in.short_name),
            categories: texts(built_in.is_in_all.then_some("all")),
            namespaced: built_in.namespaced,
            has_status: built_in.has_status,
            scale: built_in.scales.then(|| Scale {
                spec_replicas: vec!["spec".to_owned(), "replicas".to_owned()],
                status_replicas: vec!["status".to_owned(), "replicas".to_owned()],
                selector: None,
            }),
            rules: built_in.rules.clone(),
            built_in: Some(Arc::new(built_in)),
        }
    }
}

/// Events as events.k8s.io/v1 shows them.
pub(crate) fn event_view() -> Kind {
    let mut view = Kind::from(BuiltIn::of::<Event>().short_name("ev").keeps_zeros());
    view.group = "events.k8s.io".to_owned();
    view.rules = Rules::EventView;
    view
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
