//! Built-in kinds that are declared: when they become ready, and kinds that a test declares itself.

use std::time::Duration;

use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kubesim::{BuiltIn, Options, Readiness, Server, When};
use serde_json::{Value, json};

fn api(server: &Server, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::default_namespaced_with(server.client("alice"), &resource)
}

async fn create(server: &Server, api_version: &str, kind: &str, spec: Value) {
    let object = json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec,
    });
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let api = api(server, api_version, kind);
    api.create(&PostParams::default(), &object).await.unwrap();
}

fn with_pods(more: Value) -> Value {
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "main", "image": "web:1"}]},
    });
    let mut spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template});
    spec.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    spec
}

/// One of each kind that becomes ready.
async fn create_all(server: &Server) {
    create(
        server,
        "apps/v1",
        "StatefulSet",
        with_pods(json!({"replicas": 2})),
    )
    .await;
    create(server, "apps/v1", "DaemonSet", with_pods(json!({}))).await;
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "web:1"}]});
    let job = json!({"completions": 3, "template": {"spec": pod}});
    create(server, "batch/v1", "Job", job).await;
    let budget = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}});
    create(server, "policy/v1", "PodDisruptionBudget", budget).await;
    let storage = json!({"requests": {"storage": "1Gi"}});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": storage});
    create(server, "v1", "PersistentVolumeClaim", claim).await;
}

fn status(server: &Server, plural: &str) -> Value {
    server.object(plural, "default", "a").unwrap()["status"].clone()
}

fn slow(ready: Readiness) -> Server {
    Server::new(Options {
        ready_delay: Duration::from_secs(5),
        ready,
        ..Options::default()
    })
}

async fn after_s(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn declared_kinds_become_ready_after_the_delay() {
    let server = slow(Readiness::All);
    create_all(&server).await;
    after_s(4).await;
    assert_eq!(status(&server, "jobs"), json!({}));
    assert_eq!(status(&server, "statefulsets")["availableReplicas"], 0);
    assert_eq!(
        status(&server, "persistentvolumeclaims")["phase"],
        "Pending"
    );
    after_s(2).await;
    let set = status(&server, "statefulsets");
    assert_eq!(
        (&set["readyReplicas"], &set["observedGeneration"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(status(&server, "daemonsets")["numberReady"], 1);
    let job = status(&server, "jobs");
    assert_eq!(job["succeeded"], 3);
    assert_eq!(job["conditions"][1]["type"], "Complete");
    assert!(job["completionTime"].is_string());
    let budget = status(&server, "poddisruptionbudgets");
    assert_eq!(budget["desiredHealthy"], 1);
    assert_eq!(budget["conditions"][0]["reason"], "InsufficientPods");
    let claim = server
        .object("persistentvolumeclaims", "default", "a")
        .unwrap();
    assert_eq!(claim["status"]["phase"], "Bound");
    assert_eq!(claim["status"]["capacity"], json!({"storage": "1Gi"}));
    assert!(claim["spec"]["volumeName"].is_string());
}

#[tokio::test(start_paused = true)]
async fn declared_kinds_that_are_never_ready_say_what_they_wait_for() {
    let server = slow(Readiness::Never);
    create_all(&server).await;
    after_s(6).await;
    let set = status(&server, "statefulsets");
    assert_eq!(
        (&set["replicas"], set.get("readyReplicas")),
        (&json!(2), None)
    );
    assert_eq!(status(&server, "daemonsets")["numberUnavailable"], 1);
    let job = status(&server, "jobs");
    assert_eq!((&job["active"], job.get("conditions")), (&json!(1), None));
    assert_eq!(
        status(&server, "persistentvolumeclaims")["phase"],
        "Pending"
    );
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_begins_when_it_is_resumed() {
    let server = slow(Readiness::All);
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "web:1"}]});
    let job = json!({"suspend": true, "template": {"spec": pod}});
    create(&server, "batch/v1", "Job", job).await;
    after_s(60).await;
    assert_eq!(status(&server, "jobs"), json!({}));
    let jobs = api(&server, "batch/v1", "Job");
    let resumed = Patch::Merge(json!({"spec": {"suspend": false}}));
    jobs.patch("a", &PatchParams::default(), &resumed)
        .await
        .unwrap();
    after_s(6).await;
    assert_eq!(status(&server, "jobs")["succeeded"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_claim_goes_though_it_has_a_finalizer() {
    let server = slow(Readiness::All);
    create_all(&server).await;
    let claims = api(&server, "v1", "PersistentVolumeClaim");
    let deleted = claims
        .delete("a", &kube::api::DeleteParams::default())
        .await;
    assert!(
        deleted.unwrap().is_left(),
        "it is shown with its deletionTimestamp"
    );
    after_s(1).await;
    assert_eq!(
        server.object("persistentvolumeclaims", "default", "a"),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_kubernetes_is_declared_by_a_test() {
    let server = Server::new(Options::default());
    let undeclared = api(&server, "networking.k8s.io/v1", "Ingress");
    assert!(undeclared.list(&Default::default()).await.is_err());
    let host = When::Is("host", json!("example.com"));
    server.declare(
        BuiltIn::of::<Ingress>()
            .status()
            .generation()
            .default("/spec/ingressClassName", "nginx")
            .default_when(host, "/spec/rules/*/http/paths", json!([]))
            .required("/spec/defaultBackend/service/name")
            .ready(json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}})),
    );
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let spec = json!({"defaultBackend": backend, "unknown": 1});
    create(&server, "networking.k8s.io/v1", "Ingress", spec).await;
    after_s(1).await;
    let ingress = server.object("ingresses", "default", "a").unwrap();
    let want = json!({"defaultBackend": backend, "ingressClassName": "nginx"});
    assert_eq!(ingress["spec"], want);
    assert_eq!(ingress["metadata"]["generation"], 1);
    assert_eq!(
        ingress["status"]["loadBalancer"]["ingress"][0]["ip"],
        "10.0.0.1"
    );
}
