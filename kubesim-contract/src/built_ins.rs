//! Kinds of Kubernetes that an operator creates beside Deployments and Services: what the server makes of a minimal one.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, equal, field, uid};
use crate::rest::Collection;
use crate::{Context, theme};

theme! { "built-in defaults":
    a_stateful_set_is_filled_with_defaults,
    a_daemon_set_is_filled_with_defaults,
    a_job_is_filled_with_defaults,
    a_jobs_labels_are_those_of_its_template,
    a_disruption_budget_is_filled_with_defaults,
    a_network_policy_is_filled_with_defaults,
    an_autoscaler_is_filled_with_defaults,
    an_autoscalers_behavior_is_filled_with_defaults,
    a_service_account_has_no_defaults,
    a_role_is_filled_with_defaults,
    a_role_binding_is_filled_with_defaults,
    a_cluster_role_and_its_binding_are_filled_with_defaults,
    a_claim_is_filled_with_defaults,
}

pub(crate) const APPS: &str = "apis/apps/v1";
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

impl Context {
    /// A namespaced collection: `apis/apps/v1`, `statefulsets`.
    pub(crate) fn kind(&self, group: &str, plural: &str) -> Collection {
        self.at(&format!("/{group}/namespaces/{}/{plural}", self.namespace))
    }
}

pub(crate) fn named(name: &str, mut body: Value) -> Value {
    body["metadata"]["name"] = name.into();
    body
}

/// Creates an object and compares everything but metadata, which has a generation or none, and the owned fields.
async fn filled(
    collection: &Collection,
    sent: Value,
    generation: Option<i64>,
    want: Value,
    owned: Value,
) -> Result<Value, Failure> {
    let created = collection.create(sent).await.succeeds("creating")?;
    let uid = uid(&created);
    let with_uid = |value: &Value| -> Value {
        let text = value.to_string().replace("UID", &uid);
        serde_json::from_str(&text).unwrap_or_default()
    };
    let mut got = created.clone();
    for name in ["apiVersion", "kind", "metadata"] {
        got.as_object_mut().map(|got| got.remove(name));
    }
    equal("the object", &got, &with_uid(&want))?;
    field(&created, "/metadata/generation", json!(generation))?;
    let managed = &created["metadata"]["managedFields"];
    let owned = with_uid(&owned);
    equal("the owned fields", &managed[0]["fieldsV1"], &owned)?;
    Ok(created)
}

pub(crate) fn container() -> Value {
    json!({ "name": "main", "image": "registry.local/web:1.4" })
}

pub(crate) fn template() -> Value {
    json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [container()] } })
}

fn filled_pod(restart: &str) -> Value {
    let mut main = container();
    main["imagePullPolicy"] = "IfNotPresent".into();
    main["resources"] = json!({});
    main["terminationMessagePath"] = "/dev/termination-log".into();
    main["terminationMessagePolicy"] = "File".into();
    json!({
        "containers": [main],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": restart,
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    })
}

fn filled_template() -> Value {
    json!({ "metadata": { "labels": { "app": "a" } }, "spec": filled_pod("Always") })
}

fn owned_pod() -> Value {
    json!({
        "f:containers": { "k:{\"name\":\"main\"}": {
            ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
            "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
        }},
        "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {},
        "f:terminationGracePeriodSeconds": {},
    })
}

fn owned_template() -> Value {
    let labels = json!({ "f:labels": { ".": {}, "f:app": {} } });
    json!({ "f:metadata": labels, "f:spec": owned_pod() })
}

pub(crate) fn selector() -> Value {
    json!({ "matchLabels": { "app": "a" } })
}

pub(crate) fn stateful_set() -> Value {
    let claim = json!({
        "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } } },
    });
    json!({
        "metadata": { "name": "a" },
        "spec": {
            "selector": selector(), "serviceName": "a", "template": template(),
            "volumeClaimTemplates": [claim],
        },
    })
}

async fn a_stateful_set_is_filled_with_defaults(context: Context) -> Check {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": "1Gi" } },
        },
        "status": { "phase": "Pending" },
    });
    let retained = json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
    let mut rolling = json!({ "partition": 0 });
    let mut owned_rolling = json!({ ".": {}, "f:partition": {} });
    // MaxUnavailableStatefulSet.
    if context.minor_version().await? >= 37 {
        rolling["maxUnavailable"] = 1.into();
        owned_rolling["f:maxUnavailable"] = json!({});
    }
    let want = json!({
        "spec": {
            "replicas": 1, "selector": selector(), "serviceName": "a", "template": filled_template(),
            "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": rolling },
            "persistentVolumeClaimRetentionPolicy": retained,
            "volumeClaimTemplates": [claim],
        },
        "status": { "replicas": 0, "availableReplicas": 0 },
    });
    let owned = json!({ "f:spec": {
        "f:persistentVolumeClaimRetentionPolicy": { ".": {}, "f:whenDeleted": {}, "f:whenScaled": {} },
        "f:podManagementPolicy": {}, "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
        "f:serviceName": {}, "f:template": owned_template(),
        "f:updateStrategy": { "f:rollingUpdate": owned_rolling, "f:type": {} },
        "f:volumeClaimTemplates": {},
    }});
    let sets = context.kind(APPS, "statefulsets");
    let created = filled(&sets, stateful_set(), Some(1), want, owned).await;
    created.map(|_| ())
}

pub(crate) fn daemon_set() -> Value {
    json!({ "metadata": { "name": "a" }, "spec": { "selector": selector(), "template": template() } })
}

async fn a_daemon_set_is_filled_with_defaults(context: Context) -> Check {
    let want = json!({
        "spec": {
            "selector": selector(), "template": filled_template(), "revisionHistoryLimit": 10,
            "updateStrategy": {
                "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1, "maxSurge": 0 },
            },
        },
        "status": {
            "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
    });
    const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
    let annotation = json!({ ".": {}, format!("f:{TEMPLATE_GENERATION}"): {} });
    let owned = json!({
        "f:metadata": { "f:annotations": annotation },
        "f:spec": {
            "f:revisionHistoryLimit": {}, "f:selector": {}, "f:template": owned_template(),
            "f:updateStrategy": {
                "f:rollingUpdate": { ".": {}, "f:maxSurge": {}, "f:maxUnavailable": {} },
                "f:type": {},
            },
        },
    });
    let sets = context.kind(APPS, "daemonsets");
    let created = filled(&sets, daemon_set(), Some(1), want, owned).await?;
    let annotations = &created["metadata"]["annotations"];
    equal(
        "annotations",
        annotations,
        &json!({ TEMPLATE_GENERATION: "1" }),
    )
}

pub(crate) fn job() -> Value {
    let pod = json!({ "restartPolicy": "Never", "containers": [container()] });
    json!({ "metadata": { "name": "a" }, "spec": { "template": { "spec": pod } } })
}

/// Labels and selector that the server generates.
async fn a_job_is_filled_with_defaults(context: Context) -> Check {
    let labels = json!({
        "batch.kubernetes.io/controller-uid": "UID", "batch.kubernetes.io/job-name": "a",
        "controller-uid": "UID", "job-name": "a",
    });
    let want = json!({
        "spec": {
            "parallelism": 1, "completions": 1, "backoffLimit": 6, "manualSelector": false,
            "selector": { "matchLabels": { "batch.kubernetes.io/controller-uid": "UID" } },
            "template": { "metadata": { "labels": labels }, "spec": filled_pod("Never") },
            "completionMode": "NonIndexed", "suspend": false,
            "podReplacementPolicy": "TerminatingOrFailed",
        },
        "status": {},
    });
    let owned = json!({ "f:spec": {
        "f:backoffLimit": {}, "f:completionMode": {}, "f:completions": {}, "f:manualSelector": {},
        "f:parallelism": {}, "f:podReplacementPolicy": {}, "f:suspend": {},
        "f:template": { "f:spec": owned_pod() },
    }});
    let jobs = context.kind("apis/batch/v1", "jobs");
    let created = filled(&jobs, job(), Some(1), want, owned).await?;
    let of_template = &created["spec"]["template"]["metadata"]["labels"];
    equal("labels", &created["metadata"]["labels"], of_template)
}

/// Unless the Job has its own. And without `completions`, `parallelism` gives it none.
async fn a_jobs_labels_are_those_of_its_template(context: Context) -> Check {
    let jobs = context.kind("apis/batch/v1", "jobs");
    let mut sent = job();
    sent["spec"]["template"]["metadata"] = json!({ "labels": { "app": "x" } });
    sent["spec"]["parallelism"] = 2.into();
    let created = jobs.create(sent.clone()).await.succeeds("creating")?;
    field(&created, "/metadata/labels/app", "x")?;
    field(&created, "/metadata/labels/job-name", "a")?;
    field(&created, "/spec/completions", json!(null))?;
    let mut sent = named("b", sent);
    sent["metadata"]["labels"] = json!({ "own": "y" });
    let created = jobs.create(sent).await.succeeds("creating")?;
    field(&created, "/metadata/labels", json!({ "own": "y" }))
}

pub(crate) fn budget() -> Value {
    json!({ "metadata": { "name": "a" }, "spec": { "minAvailable": 1, "selector": selector() } })
}

async fn a_disruption_budget_is_filled_with_defaults(context: Context) -> Check {
    let want = json!({
        "spec": { "minAvailable": 1, "selector": selector() },
        "status": {
            "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        },
    });
    let owned = json!({ "f:spec": { "f:minAvailable": {}, "f:selector": {} } });
    let budgets = context.kind("apis/policy/v1", "poddisruptionbudgets");
    let created = filled(&budgets, budget(), Some(1), want, owned).await;
    created.map(|_| ())
}

async fn a_network_policy_is_filled_with_defaults(context: Context) -> Check {
    let policies = context.kind("apis/networking.k8s.io/v1", "networkpolicies");
    let everything = json!({ "metadata": { "name": "a" }, "spec": { "podSelector": {} } });
    let want = json!({ "spec": { "podSelector": {}, "policyTypes": ["Ingress"] } });
    let owned = json!({ "f:spec": { "f:policyTypes": {} } });
    filled(&policies, everything, Some(1), want, owned).await?;
    let sent = json!({ "metadata": { "name": "b" }, "spec": {
        "podSelector": {},
        "ingress": [{ "from": [{ "namespaceSelector": {} }], "ports": [{ "port": 80 }] }],
        "egress": [{}, { "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53 }] }],
    }});
    let want = json!({ "spec": {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{
            "from": [{ "namespaceSelector": {} }], "ports": [{ "port": 80, "protocol": "TCP" }],
        }],
        "egress": [{}, { "ports": [
            { "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" },
        ]}],
    }});
    let owned = json!({ "f:spec": { "f:egress": {}, "f:ingress": {}, "f:policyTypes": {} } });
    let created = filled(&policies, sent, Some(1), want, owned).await;
    created.map(|_| ())
}

pub(crate) fn autoscaler() -> Value {
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" });
    json!({ "metadata": { "name": "a" }, "spec": { "maxReplicas": 3, "scaleTargetRef": target } })
}

fn autoscalers(context: &Context) -> Collection {
    context.kind("apis/autoscaling/v2", "horizontalpodautoscalers")
}

async fn an_autoscaler_is_filled_with_defaults(context: Context) -> Check {
    let cpu = json!({
        "type": "Resource",
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } },
    });
    let mut want = json!({
        "spec": autoscaler()["spec"],
        "status": { "desiredReplicas": 0, "currentMetrics": null },
    });
    want["spec"]["minReplicas"] = 1.into();
    want["spec"]["metrics"] = json!([cpu]);
    let owned = json!({ "f:spec": {
        "f:maxReplicas": {}, "f:metrics": {}, "f:minReplicas": {},
        "f:scaleTargetRef": { "f:apiVersion": {}, "f:kind": {}, "f:name": {} },
    }});
    // HPAGeneration.
    let generation = (context.minor_version().await? >= 37).then_some(1);
    let created = filled(
        &autoscalers(&context),
        autoscaler(),
        generation,
        want,
        owned,
    )
    .await;
    created.map(|_| ())
}

async fn an_autoscalers_behavior_is_filled_with_defaults(context: Context) -> Check {
    let mut sent = autoscaler();
    sent["spec"]["behavior"] = json!({ "scaleDown": { "stabilizationWindowSeconds": 60 } });
    let created = autoscalers(&context).create(sent).await;
    let created = created.succeeds("creating")?;
    let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
    let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
    let want = json!({
        "scaleUp": {
            "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": 60, "selectPolicy": "Max", "policies": [percent],
        },
    });
    field(&created, "/spec/behavior", want)
}

async fn a_service_account_has_no_defaults(context: Context) -> Check {
    let accounts = context.kind("api/v1", "serviceaccounts");
    let created = accounts
        .create(json!({ "metadata": { "name": "a" } }))
        .await;
    let created = created.succeeds("creating")?;
    field(&created, "/metadata/generation", json!(null))?;
    field(&created, "/metadata/managedFields", json!(null))?;
    let fields = created.as_object().map_or(0, serde_json::Map::len);
    equal("the number of fields", &json!(fields), &json!(3))
}

pub(crate) fn rules() -> Value {
    json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }])
}

async fn a_role_is_filled_with_defaults(context: Context) -> Check {
    let roles = context.kind(&format!("apis/{RBAC}/v1"), "roles");
    let sent = json!({ "metadata": { "name": "a" }, "rules": rules() });
    let owned = json!({ "f:rules": {} });
    filled(&roles, sent, None, json!({ "rules": rules() }), owned).await?;
    let none = json!({ "metadata": { "name": "b" } });
    let created = filled(&roles, none, None, json!({ "rules": null }), json!(null)).await;
    created.map(|_| ())
}

pub(crate) fn binding(kind: &str) -> Value {
    json!({
        "metadata": { "name": "a" },
        "roleRef": { "kind": kind, "name": "a" },
        "subjects": [
            { "kind": "ServiceAccount", "name": "a", "namespace": "default" },
            { "kind": "User", "name": "u" },
        ],
    })
}

fn filled_binding(kind: &str) -> Value {
    json!({
        "roleRef": { "apiGroup": RBAC, "kind": kind, "name": "a" },
        "subjects": [
            { "kind": "ServiceAccount", "name": "a", "namespace": "default" },
            { "apiGroup": RBAC, "kind": "User", "name": "u" },
        ],
    })
}

async fn a_role_binding_is_filled_with_defaults(context: Context) -> Check {
    let bindings = context.kind(&format!("apis/{RBAC}/v1"), "rolebindings");
    let owned = json!({ "f:roleRef": {}, "f:subjects": {} });
    let created = filled(
        &bindings,
        binding("Role"),
        None,
        filled_binding("Role"),
        owned,
    )
    .await;
    created.map(|_| ())
}

async fn a_cluster_role_and_its_binding_are_filled_with_defaults(context: Context) -> Check {
    let name = context.namespace.as_str();
    let roles = context.at(&format!("/apis/{RBAC}/v1/clusterroles"));
    let rule = json!({ "clusterRoleSelectors": [selector()] });
    let sent = json!({ "metadata": { "name": name }, "aggregationRule": rule });
    let owned = json!({ "f:aggregationRule": { ".": {}, "f:clusterRoleSelectors": {} } });
    let want = json!({ "aggregationRule": rule, "rules": null });
    filled(&roles, sent, None, want, owned).await?;
    let bindings = context.at(&format!("/apis/{RBAC}/v1/clusterrolebindings"));
    let kind = "ClusterRole";
    let sent = named(name, binding(kind));
    let owned = json!({ "f:roleRef": {}, "f:subjects": {} });
    filled(&bindings, sent, None, filled_binding(kind), owned).await?;
    for collection in [roles, bindings] {
        collection.delete(name).await.succeeds("deleting")?;
    }
    Ok(())
}

pub(crate) fn claim() -> Value {
    json!({ "metadata": { "name": "a" }, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } },
    }})
}

/// The finalizer is an admission plugin's, and nobody owns it.
async fn a_claim_is_filled_with_defaults(context: Context) -> Check {
    let want = json!({
        "spec": {
            "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": "1Gi" } },
        },
        "status": { "phase": "Pending" },
    });
    let owned = json!({ "f:spec": {
        "f:accessModes": {}, "f:volumeMode": {},
        "f:resources": { "f:requests": { ".": {}, "f:storage": {} } },
    }});
    let claims = context.kind("api/v1", "persistentvolumeclaims");
    let created = filled(&claims, claim(), None, want, owned).await?;
    let finalizers = &created["metadata"]["finalizers"];
    equal(
        "finalizers",
        finalizers,
        &json!(["kubernetes.io/pvc-protection"]),
    )
}
