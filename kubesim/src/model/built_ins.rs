//! The kinds that are served from the start, as kube-apiserver v1.36.4 has them.
//!
//! Sources: `pkg/apis/*/v1/defaults.go`, `pkg/registry/*/*/strategy.go` and the answers of the server itself, which the
//! contract suite compares. Leaves to others: what a declaration means ([`crate::model::built_in`]).

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Event, Namespace, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::model::built_in::{BuiltIn, Check, When};
use crate::model::kind::Rules;

const UID_LABEL: &str = "batch.kubernetes.io/controller-uid";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Every kind that is there before any CRD.
pub(crate) fn all() -> Vec<BuiltIn> {
    let mut all = with_own_rules();
    all.extend(workloads());
    all.extend([job(), budget(), policy(), autoscaler(), claim()]);
    all.extend(access());
    all
}

/// Kinds whose rules are code.
fn with_own_rules() -> Vec<BuiltIn> {
    vec![
        BuiltIn::of::<Service>()
            .short_name("svc")
            .in_all()
            .status()
            .shown_when_deleted()
            .rules(Rules::Service),
        BuiltIn::of::<ConfigMap>()
            .short_name("cm")
            .rules(Rules::ConfigMap),
        BuiltIn::of::<Secret>().rules(Rules::Secret),
        BuiltIn::of::<Pod>()
            .short_name("po")
            .in_all()
            .status()
            .generation()
            .shown_when_deleted()
            .rules(Rules::Pod),
        BuiltIn::of::<Namespace>()
            .short_name("ns")
            .status()
            .keeps_zeros()
            .rules(Rules::Namespace),
        BuiltIn::of::<Event>()
            .short_name("ev")
            .keeps_zeros()
            .rules(Rules::Event),
        BuiltIn::of::<Lease>()
            .keeps_zeros()
            .needs_revision()
            .created_by_update(),
        BuiltIn::of::<CustomResourceDefinition>()
            .short_name("crd")
            .status()
            .generation()
            .keeps_zeros()
            .needs_revision()
            .untyped()
            .status_keeps_labels()
            .rules(Rules::Definition),
    ]
}

fn workloads() -> Vec<BuiltIn> {
    let rolling = || When::Is("/spec/strategy/type", json!("RollingUpdate"));
    let updating = || When::Is("/spec/updateStrategy/type", json!("RollingUpdate"));
    let workload = |kind: BuiltIn| {
        kind.in_all()
            .status()
            .generation()
            .template("/spec/template")
    };
    vec![
        workload(BuiltIn::of::<Deployment>())
            .short_name("deploy")
            .scale()
            .counts_annotations()
            .status_keeps_labels()
            .default("/spec/replicas", 1)
            .default("/spec/revisionHistoryLimit", 10)
            .default("/spec/progressDeadlineSeconds", 600)
            .default("/spec/strategy/type", "RollingUpdate")
            .default_when(
                rolling(),
                "/spec/strategy/rollingUpdate/maxUnavailable",
                "25%",
            )
            .default_when(rolling(), "/spec/strategy/rollingUpdate/maxSurge", "25%")
            .selects("deployment")
            .immutable("/spec/selector")
            .check(Check::NotNegative("/spec/replicas"))
            .ready_as_deployment(),
        workload(BuiltIn::of::<ReplicaSet>())
            .short_name("rs")
            .scale()
            .default("/spec/replicas", 1)
            .selects("deployment")
            .immutable("/spec/selector")
            .check(Check::NotNegative("/spec/replicas")),
        workload(BuiltIn::of::<StatefulSet>())
            .short_name("sts")
            .scale()
            .default("/spec/replicas", 1)
            .default("/spec/podManagementPolicy", "OrderedReady")
            .default("/spec/revisionHistoryLimit", 10)
            .default("/spec/updateStrategy/type", "RollingUpdate")
            .default_when(
                updating(),
                "/spec/updateStrategy/rollingUpdate/partition",
                0,
            )
            .default_when(
                updating(),
                "/spec/updateStrategy/rollingUpdate/maxUnavailable",
                1,
            )
            .default(
                "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted",
                "Retain",
            )
            .default(
                "/spec/persistentVolumeClaimRetentionPolicy/whenScaled",
                "Retain",
            )
            .default("/spec/volumeClaimTemplates/*/spec/volumeMode", "Filesystem")
            .default("/spec/volumeClaimTemplates/*/status/phase", "Pending")
            .default("/status/availableReplicas", 0)
            .quantities("/spec/volumeClaimTemplates/*/spec/resources/requests")
            .selects("statefulset")
            .check(Check::NotNegative("/spec/replicas"))
            .immutable("/spec/selector")
            .immutable("/spec/volumeClaimTemplates")
            .immutable("/spec/serviceName")
            .immutable("/spec/podManagementPolicy")
            .ready(set_status(json!({
                "readyReplicas": "$count /spec/replicas",
                "availableReplicas": "$number /spec/replicas",
            })))
            .waiting(set_status(json!({
                "readyReplicas": null,
                "availableReplicas": 0,
            }))),
        workload(BuiltIn::of::<DaemonSet>())
            .short_name("ds")
            .default(
                "/metadata/annotations/deprecated.daemonset.template.generation",
                "1",
            )
            .default("/spec/revisionHistoryLimit", 10)
            .default("/spec/updateStrategy/type", "RollingUpdate")
            .default_when(
                updating(),
                "/spec/updateStrategy/rollingUpdate/maxUnavailable",
                1,
            )
            .default_when(updating(), "/spec/updateStrategy/rollingUpdate/maxSurge", 0)
            .selects("daemonset")
            .immutable("/spec/selector")
            .ready(on_one_node(
                json!({ "numberReady": 1, "numberAvailable": 1, "numberUnavailable": null }),
            ))
            .waiting(on_one_node(
                json!({ "numberReady": 0, "numberAvailable": null, "numberUnavailable": 1 }),
            )),
    ]
}

/// A StatefulSet whose controller has made all of its pods.
fn set_status(pods: Value) -> Value {
    let made = json!({
        "observedGeneration": "$generation",
        "replicas": "$number /spec/replicas",
        "currentReplicas": "$count /spec/replicas",
        "updatedReplicas": "$count /spec/replicas",
        "currentRevision": "$name-$generation",
        "updateRevision": "$name-$generation",
        "collisionCount": 0,
    });
    json!({ "status": merged(made, pods) })
}

/// A DaemonSet where one node has a pod of it.
fn on_one_node(pods: Value) -> Value {
    let scheduled = json!({
        "observedGeneration": "$generation",
        "currentNumberScheduled": 1,
        "desiredNumberScheduled": 1,
        "updatedNumberScheduled": 1,
        "numberMisscheduled": 0,
    });
    json!({ "status": merged(scheduled, pods) })
}

fn job() -> BuiltIn {
    let generated = || When::Is("/spec/manualSelector", json!(false));
    let labels = json!({
        UID_LABEL: "$uid",
        "controller-uid": "$uid",
        "batch.kubernetes.io/job-name": "$name",
        "job-name": "$name",
    });
    let never = "valid values: \"OnFailure\", \"Never\"";
    let reached = |kind: &str| {
        json!({
            "type": kind,
            "status": "True",
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
            "lastProbeTime": "$now",
            "lastTransitionTime": "$now",
        })
    };
    let started =
        json!({ "startTime": "$now", "ready": 0, "terminating": 0, "uncountedTerminatedPods": {} });
    let completed = json!({
        "succeeded": "$count /spec/completions /spec/parallelism",
        "active": null,
        "completionTime": "$now",
        "conditions": [reached("SuccessCriteriaMet"), reached("Complete")],
    });
    let job = BuiltIn::of::<Job>()
        .in_all()
        .status()
        .generation()
        .atomic(&["conditions"])
        .template("/spec/template")
        .default_when(When::Lacks("/spec/parallelism"), "/spec/completions", 1)
        .default("/spec/parallelism", 1)
        .default("/spec/backoffLimit", 6)
        .default("/spec/manualSelector", false)
        .default("/spec/completionMode", "NonIndexed")
        .default("/spec/suspend", false)
        .default("/spec/podReplacementPolicy", "TerminatingOrFailed")
        .default("/metadata/labels", "$at /spec/template/metadata/labels")
        .immutable("/spec/completions")
        .immutable("/spec/selector")
        .immutable("/spec/template")
        .check(Check::NotNegative("/spec/parallelism"))
        .check(Check::NotNegative("/spec/completions"))
        .check(Check::NotNegative("/spec/backoffLimit"))
        .check(Check::Not(
            "/spec/template/spec/restartPolicy",
            "Always",
            never,
        ))
        .ready(json!({ "status": merged(started.clone(), completed) }))
        .waiting(
            json!({ "status": merged(started, json!({ "active": "$count /spec/parallelism" })) }),
        );
    job.stamp(
        vec![generated()],
        "/spec/selector",
        json!({ "matchLabels": { UID_LABEL: "$uid" } }),
    )
    // Labels that the Job has from its template are one map with them.
    .stamp(
        vec![
            generated(),
            When::Same("/metadata/labels", "/spec/template/metadata/labels"),
        ],
        "/metadata/labels",
        labels.clone(),
    )
    .stamp(vec![generated()], "/spec/template/metadata/labels", labels)
}

/// As its controller writes it where no Pod is selected.
fn budget() -> BuiltIn {
    let none = json!({
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": "$generation",
        "lastTransitionTime": "$now",
    });
    BuiltIn::of::<PodDisruptionBudget>()
        .short_name("pdb")
        .status()
        .generation()
        .needs_revision()
        .ready(json!({ "status": {
            "observedGeneration": "$generation",
            "disruptionsAllowed": 0,
            "currentHealthy": 0,
            "desiredHealthy": "$number /spec/minAvailable",
            "expectedPods": 0,
            "conditions": [none],
        }}))
}

fn policy() -> BuiltIn {
    let both = json!(["Ingress", "Egress"]);
    BuiltIn::of::<NetworkPolicy>()
        .short_name("netpol")
        .generation()
        .atomic(&["ports"])
        .default("/spec/podSelector", json!({}))
        .default_when(When::Has("/spec/egress"), "/spec/policyTypes", both)
        .default("/spec/policyTypes", json!(["Ingress"]))
        .default("/spec/ingress/*/ports/*/protocol", "TCP")
        .default("/spec/egress/*/ports/*/protocol", "TCP")
}

fn autoscaler() -> BuiltIn {
    let cpu = json!([{
        "type": "Resource",
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } },
    }]);
    let fast = json!([
        { "type": "Pods", "value": 4, "periodSeconds": 15 },
        { "type": "Percent", "value": 100, "periodSeconds": 15 },
    ]);
    let slow = json!([{ "type": "Percent", "value": 100, "periodSeconds": 15 }]);
    let greater = "must be set and greater than 0";
    BuiltIn::of::<HorizontalPodAutoscaler>()
        .short_name("hpa")
        .in_all()
        .status()
        .generation()
        .default("/spec/minReplicas", 1)
        .default("/spec/metrics", cpu)
        .default("/spec/behavior?/scaleUp/stabilizationWindowSeconds", 0)
        .default("/spec/behavior?/scaleUp/selectPolicy", "Max")
        .default("/spec/behavior?/scaleUp/policies", fast)
        .default("/spec/behavior?/scaleDown/selectPolicy", "Max")
        .default("/spec/behavior?/scaleDown/policies", slow)
        .default("/status/currentMetrics", Value::Null)
        .check(Check::Required("/spec/maxReplicas", "", greater))
        .required("/spec/scaleTargetRef/kind")
        .required("/spec/scaleTargetRef/name")
}

/// Bound to a volume that is not there.
fn claim() -> BuiltIn {
    BuiltIn::of::<PersistentVolumeClaim>()
        .short_name("pvc")
        .status()
        .shown_when_deleted()
        .structs(&["resources"])
        .own_finalizer("kubernetes.io/pvc-protection")
        .default("/spec/volumeMode", "Filesystem")
        .default("/status/phase", "Pending")
        .quantities("/spec/resources/requests")
        .check(Check::Required(
            "/spec/accessModes",
            "",
            "at least 1 access mode is required",
        ))
        .check(Check::Required(
            "/spec/resources/requests/storage",
            "spec.resources[storage]",
            "",
        ))
        .check(Check::Fixed(
            "/spec",
            &["resources", "volumeAttributesClassName", "volumeName"],
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ))
        .ready(json!({
            "metadata": { "annotations": {
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
            }},
            "spec": { "volumeName": "pvc-$uid" },
            "status": {
                "phase": "Bound",
                "accessModes": "$at /spec/accessModes",
                "capacity": "$at /spec/resources/requests",
            },
        }))
}

/// Who may do what.
fn access() -> Vec<BuiltIn> {
    let binding = |kind: BuiltIn| {
        let user = |word: &str| When::Is("kind", json!(word));
        kind.created_by_update()
            .default("/roleRef/apiGroup", RBAC)
            .default_when(user("User"), "/subjects/*/apiGroup", RBAC)
            .default_when(user("Group"), "/subjects/*/apiGroup", RBAC)
            .required("/roleRef/name")
            .immutable("/roleRef")
    };
    let role = |kind: BuiltIn| {
        let verbs = "verbs must contain at least one value";
        kind.created_by_update()
            .default("/rules", Value::Null)
            .check(Check::Required("/rules/*/verbs", "", verbs))
    };
    vec![
        BuiltIn::of::<ServiceAccount>()
            .short_name("sa")
            .shown_when_deleted(),
        role(BuiltIn::of::<Role>()),
        role(BuiltIn::of::<ClusterRole>()),
        binding(BuiltIn::of::<RoleBinding>()),
        binding(BuiltIn::of::<ClusterRoleBinding>()),
    ]
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
