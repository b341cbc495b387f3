//! The manifests in `deploy/`, applied, upgraded and removed with kubectl as an administrator does it.
//! The removals are tried in the documented order and in others. The operator runs as a process with
//! the shipped service account.
//!
//! Guarantees: every scenario begins without any object of Tare in the cluster.
//! Leaves to others: running pods (there are no nodes), and installation on k3s.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::account::{NAMESPACE, SHIPPED, documents};
use crate::cluster::objects::{container, text};
use crate::cluster::user::JSON;
use crate::kubectl::Person;

const INSTALL: &str = include_str!("../../deploy/install.yaml");
const LOADGEN: &str = include_str!("../../deploy/loadgen/job.yaml");
const README: &str = include_str!("../../deploy/README.md");
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/edgeapps.tare.dev";
/// The objects of `install.yaml`.
const OURS: &str = "get namespaces,crd,clusterroles,clusterrolebindings,serviceaccounts,deployments,\
                    services,networkpolicies -A -l app.kubernetes.io/part-of=tare -o name";

pub async fn install_yaml_is_applied_as_it_is_and_its_pod_is_admitted(cluster: Cluster) {
    let person = clean(&cluster).await;
    let applied = person.types("apply -f install.yaml");
    // Every line says "created": install.yaml holds no object that a cluster creates by itself.
    for line in applied.said.lines() {
        assert!(line.ends_with(" created"), "{line}");
    }
    person
        .types("wait crd edgeapps.tare.dev --for=condition=Established --timeout=30s")
        .says("condition met");
    let pods = format!(
        "/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component=operator"
    );
    let list = cluster
        .until_at("its pod is made", &pods, |list| {
            list["items"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    let pod = &list["items"][0];
    assert_eq!(pod["status"]["phase"], "Pending", "there is no node");
    assert_eq!(pod["spec"]["serviceAccountName"], SHIPPED);
    let volumes = pod["spec"]["volumes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let names: Vec<String> = volumes.iter().map(|one| text(one, "/name")).collect();
    assert!(
        matches!(&names[..], [token] if token.starts_with("kube-api-access-")),
        "its token and nothing else: {names:?}"
    );

    let again = person.types("apply -f install.yaml");
    for line in again.said.lines() {
        assert!(line.ends_with(" unchanged"), "{line}");
    }
}

/// The namespace enforces the restricted Pod Security Standard. The shipped pods are admitted, and without
/// any one of their security settings they are not.
pub async fn a_pod_without_one_of_its_settings_is_refused(cluster: Cluster) {
    let person = clean(&cluster).await;
    person.types("apply -f install.yaml");
    let loadgen: Vec<Value> = serde_saphyr::from_multiple(LOADGEN).expect("job.yaml is YAML");
    let job = loadgen.iter().find(|one| one["kind"] == "Job");
    let deployments = documents(&["Deployment"]);
    for template in [&deployments[0], job.expect("a Job")] {
        let pod = &template["spec"]["template"];
        admitted(&cluster, pod)
            .await
            .expect("the shipped pod is admitted");
        for (at, setting, says) in [
            (
                "/spec/containers/0/securityContext",
                "allowPrivilegeEscalation",
                "allowPrivilegeEscalation != false",
            ),
            (
                "/spec/containers/0/securityContext",
                "capabilities",
                "unrestricted capabilities",
            ),
            (
                "/spec/securityContext",
                "runAsNonRoot",
                "runAsNonRoot != true",
            ),
            ("/spec/securityContext", "seccompProfile", "seccompProfile"),
        ] {
            let mut pod = pod.clone();
            let context = pod.pointer_mut(at).and_then(Value::as_object_mut);
            let removed = context.expect("a securityContext").remove(setting);
            assert!(removed.is_some(), "it has no {setting}");
            match admitted(&cluster, &pod).await {
                Err(kube::Error::Api(status)) => {
                    let message = &status.message;
                    assert_eq!(status.code, 403, "{message}");
                    let violated = "violates PodSecurity \"restricted:latest\"";
                    assert!(
                        message.contains(violated) && message.contains(says),
                        "{message}"
                    );
                }
                other => panic!("without {setting}: {other:?}"),
            }
        }
    }
}

/// Whether a pod of this template would be admitted; a dry run.
async fn admitted(cluster: &Cluster, template: &Value) -> Result<Value, kube::Error> {
    let mut pod = template.clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "probe".into();
    pod["spec"]["serviceAccountName"] = SHIPPED.into();
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All");
    cluster.request(Method::POST, &path, JSON, &pod).await
}

pub async fn a_newer_install_over_an_older_one_restarts_no_child(cluster: Cluster) {
    let person = installed(&cluster).await;
    let operator = cluster.operate().await;
    create_three(&cluster).await;
    operator.terminate().await;
    let before = footprint(&cluster).await;

    person.writes("newer.yaml", &newer());
    let applied = person.types("apply -f newer.yaml");
    applied.says("customresourcedefinition.apiextensions.k8s.io/edgeapps.tare.dev configured");
    applied.says("deployment.apps/tare configured");
    let operator = cluster.operate().await;
    let revision = "tare_crd_revision{where=\"cluster\"}";
    operator.until_figure(revision, |one| one == 99.0).await;
    assert_eq!(footprint(&cluster).await, before, "nothing was touched");
    cluster
        .change("web-0", json!({ "image": "registry.local/web:2" }))
        .await;
    cluster.until_all_running(3).await;
    let changed = cluster.get("deployments", "web-0").await;
    assert_eq!(container(&changed)["image"], "registry.local/web:2");
    operator.terminate().await;

    // Back to the shipped version.
    let before = footprint(&cluster).await;
    person
        .types("apply -f install.yaml")
        .says("deployment.apps/tare configured");
    let operator = cluster.operate().await;
    operator.until_figure(revision, |one| one == 1.0).await;
    assert_eq!(footprint(&cluster).await, before, "nothing was touched");
    operator.terminate().await;
}

/// `install.yaml` as a later version could have it: another image, and a CRD of the next revision with a
/// new field.
fn newer() -> String {
    let mut all: Vec<Value> = serde_saphyr::from_multiple(INSTALL).expect("install.yaml is YAML");
    for object in &mut all {
        match text(object, "/kind").as_str() {
            "CustomResourceDefinition" => {
                object["metadata"]["annotations"]["tare.dev/crd-revision"] = "99".into();
                let schema = &mut object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
                schema["properties"]["spec"]["properties"]["priority"] =
                    json!({ "type": "integer", "description": "Which is started first." });
            }
            "Deployment" => {
                let container = &mut object["spec"]["template"]["spec"]["containers"][0];
                container["image"] = "localhost/tare:99.0.0".into();
            }
            _ => {}
        }
    }
    let documents: Vec<String> = all.iter().map(Value::to_string).collect();
    documents.join("\n---\n")
}

/// State that changes when a child is recreated or written to: uid and generation of each object, and
/// the writes of the operator's account so far.
async fn footprint(cluster: &Cluster) -> (Vec<String>, usize) {
    cluster.until_quiet(&[SHIPPED]).await;
    let mut objects = Vec::new();
    for resource in ["edgeapps", "deployments", "replicasets", "services"] {
        for object in cluster.all(resource).await {
            let meta = &object["metadata"];
            let (name, uid, generation) = (&meta["name"], &meta["uid"], &meta["generation"]);
            objects.push(format!("{resource} {name} {uid} {generation}"));
        }
    }
    let asked = cluster.answered(SHIPPED);
    let writes = asked.iter().filter(|one| one.is_write()).count();
    (objects, writes)
}

pub async fn the_crd_deleted_while_the_operator_is_down_comes_back_with_the_next_install(
    cluster: Cluster,
) {
    let person = installed(&cluster).await;
    let operator = cluster.operate().await;
    create_three(&cluster).await;
    operator.terminate().await;
    delete_crd(&cluster, &person).await;

    let operator = cluster.operate_as(SHIPPED).await;
    operator.until_not_ready("run `tare install`").await;
    person.types("apply -f install.yaml");
    operator.until_ready().await;
    cluster.create("again", idle()).await;
    cluster.until_running("again").await;
    operator.terminate().await;
}

/// The commands are those of `deploy/README.md`.
pub async fn the_crd_deleted_without_an_operator_takes_all_with_it(cluster: Cluster) {
    let person = installed(&cluster).await;
    let operator = cluster.operate().await;
    create_three(&cluster).await;
    operator.terminate().await;
    delete_crd(&cluster, &person).await;

    person.runs(&shell_block("### The CRD was deleted"));
    for resource in ["deployments", "services"] {
        assert_eq!(
            cluster.all(resource).await,
            Vec::<Value>::new(),
            "{resource}"
        );
    }
}

pub async fn removal_in_the_documented_order_leaves_nothing(cluster: Cluster) {
    let person = installed(&cluster).await;
    let mut operator = Some(cluster.operate().await);
    create_three(&cluster).await;
    let block = shell_block("## Removal");
    let lines: Vec<&str> = block
        .lines()
        .filter(|line| line.starts_with("kubectl "))
        .collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in lines {
        let line = line.split(" #").next().unwrap_or_default().trim();
        let line = line.replace("install-k3s.yaml", "install.yaml");
        person.types(line.strip_prefix("kubectl ").unwrap_or_default());
        if line.contains("delete deployment tare")
            && let Some(operator) = operator.take()
        {
            // The kubelet would end the operator's pod now.
            operator.terminate().await;
        }
    }
    assert_eq!(person.types(OURS).said, "");
    for resource in ["deployments", "replicasets", "services"] {
        assert_eq!(
            cluster.all(resource).await,
            Vec::<Value>::new(),
            "{resource}"
        );
    }
}

/// Removes what earlier scenarios have left.
pub async fn clean(cluster: &Cluster) -> Person {
    let person = Person::administrator(cluster).await;
    person.writes("install.yaml", INSTALL);
    if cluster
        .request(Method::GET, CRD, JSON, &Value::Null)
        .await
        .is_ok()
    {
        cluster.release_everywhere().await;
    }
    person.types("delete -f install.yaml --ignore-not-found --timeout=90s");
    person
}

/// Installs Tare, and waits until the operator's account can work.
pub async fn installed(cluster: &Cluster) -> Person {
    let person = clean(cluster).await;
    person.types("apply -f install.yaml");
    person.types("wait crd edgeapps.tare.dev --for=condition=Established --timeout=30s");
    cluster.as_real().plane.log_in(SHIPPED).await;
    cluster
        .as_real()
        .plane
        .until_known(SHIPPED)
        .await
        .expect("our account");
    person
}

/// A spec with `replicas: 0`, because there are no nodes.
fn idle() -> Value {
    json!({ "image": "registry.local/web:1", "port": 8080, "headless": true, "replicas": 0 })
}

pub async fn create_three(cluster: &Cluster) {
    for name in ["web-0", "web-1", "web-2"] {
        cluster.create(name, idle()).await;
    }
    cluster.until_all_running(3).await;
}

/// Deletes the CRD, which takes the EdgeApps with it and waits for nobody.
async fn delete_crd(cluster: &Cluster, person: &Person) {
    person
        .types("delete crd edgeapps.tare.dev --timeout=60s")
        .says("\"edgeapps.tare.dev\" deleted");
    let crd = cluster.request(Method::GET, CRD, JSON, &Value::Null).await;
    assert!(
        matches!(&crd, Err(kube::Error::Api(status)) if status.code == 404),
        "{crd:?}"
    );
}

/// The first block of shell below a heading of the README.
fn shell_block(heading: &str) -> String {
    let start = README
        .find(heading)
        .unwrap_or_else(|| panic!("no {heading:?}"));
    let mut lines = README[start..].lines().map(str::trim);
    let found = lines.by_ref().any(|line| line == "```sh");
    assert!(found, "no shell below {heading:?}");
    let block: Vec<&str> = lines.take_while(|line| *line != "```").collect();
    block.join("\n")
}
