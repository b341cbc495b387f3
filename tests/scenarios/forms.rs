//! What an author plans and the server stores in another form: no drift, no field conflict, no further write.

use std::convert::Infallible;
use std::sync::atomic::Ordering::Relaxed;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, DEPLOYMENT, Failure, Kind, Operator, Owner,
    OwnerStatus, POD_DISRUPTION_BUDGET, Plan, Requeue, SECRET, SERVICE,
};
use tare_runtime::cache::Mode;
use tare_runtime::model::ChildState;

use crate::cluster::simulated::{Running, Simulated, config, lossy, pass, web};

/// An operator for EdgeApps whose children are what this function makes of an image. Its kinds are `KINDS[OF]`.
pub struct Author<const OF: usize = 0>(pub fn(&str) -> Vec<(Kind, Value)>);

pub const WIDGET: Kind = Kind {
    api_version: "contract.tare.dev/v1",
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
    status: &[],
};

const KINDS: [&[Kind]; 3] = [
    &[SERVICE, CONFIG_MAP, SECRET, DEPLOYMENT],
    &[WIDGET, DEPLOYMENT],
    &[POD_DISRUPTION_BUDGET, DEPLOYMENT],
];

/// As much of the status of an EdgeApp as is looked at here.
#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    phase: Option<String>,
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

impl OwnerStatus for Status {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }
    fn ready(&self) -> bool {
        self.phase.as_deref() == Some("Running")
    }
    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

impl<const OF: usize> Operator for Author<OF> {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = KINDS[OF];

    fn plan(&self, owner: &Owner<Self>, seen: &Children) -> Result<Plan<Status>, Infallible> {
        let name = &*owner.meta.name;
        let children = (self.0)(&owner.spec.image).into_iter();
        let deployment = seen.get(&DEPLOYMENT, name).cloned();
        let phase = match deployment.is_some_and(|seen: ChildState| seen.is_ready(0)) {
            true => "Running",
            false => "Progressing",
        };
        Ok(Plan {
            children: children
                .map(|(kind, body)| Child::new(kind, name, body))
                .collect(),
            status: status(owner, phase, Vec::new()),
            requeue: Requeue::Default,
        })
    }

    fn failed(&self, owner: &Owner<Self>, _: &Children, failure: &Failure) -> Option<Status> {
        let generation = owner.meta.generation;
        let degraded = Condition::new(
            "Degraded",
            true,
            failure.reason,
            failure.message.as_str(),
            generation,
        );
        Some(status(owner, "Failed", vec![degraded]))
    }
}

fn status<const OF: usize>(
    owner: &Owner<Author<OF>>,
    phase: &str,
    conditions: Vec<Condition>,
) -> Status {
    Status {
        phase: Some(phase.to_owned()),
        observed_generation: Some(owner.meta.generation),
        conditions,
    }
}

pub fn deployment(image: &str) -> Value {
    let labels = json!({"app": "web"});
    let spec = json!({"containers": [{"name": "app", "image": image}]});
    json!({"spec": {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }})
}

/// Zero values, quantities, annotations, lists whose items share a key, `stringData`, and types as an author
/// gets them who serialises the types of the API.
fn in_other_forms(image: &str) -> Vec<(Kind, Value)> {
    let mut deployment = deployment(image);
    deployment["apiVersion"] = "apps/v1".into();
    deployment["kind"] = "Deployment".into();
    deployment["status"] = json!({});
    deployment["metadata"] = json!({
        "name": "web", "creationTimestamp": null,
        "annotations": {"example.com/image": image, "example.com/empty": ""},
        "labels": {"role": ""},
    });
    deployment["spec"]["minReadySeconds"] = 0.into();
    let pod = &mut deployment["spec"]["template"]["spec"];
    pod["hostNetwork"] = false.into();
    pod["nodeSelector"] = json!({});
    pod["securityContext"] = json!({"runAsUser": 0});
    pod["volumes"] = json!([{"name": "tmp", "emptyDir": {"sizeLimit": "1024Mi", "medium": ""}}]);
    pod["tolerations"] = json!([
        {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    ]);
    let container = &mut pod["containers"][0];
    container["tty"] = false.into();
    container["env"] = json!([{"name": "MODE", "value": ""}, {"name": "UNSET"}]);
    container["args"] = json!([]);
    container["resources"] = json!({"limits": {"cpu": "0.5"}, "requests": {}});
    container["ports"] = json!([
        {"containerPort": 53, "protocol": "UDP", "hostPort": 0}, {"containerPort": 53, "name": "tcp"},
    ]);
    container["volumeMounts"] =
        json!([{"name": "tmp", "mountPath": "/tmp", "subPath": "", "readOnly": false}]);
    let ports = json!([
        {"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 0}, {"name": "dns-tcp", "port": 53},
    ]);
    let service = json!({"spec": {
        "clusterIP": "None", "externalName": "", "publishNotReadyAddresses": false,
        "selector": {"app": "web"}, "ports": ports,
    }});
    let map = json!({"data": {"image": image, "empty": ""}, "binaryData": {}});
    let secret =
        json!({"data": {"a": "b2xk"}, "stringData": {"a": image, "b": ""}, "type": "Opaque"});
    vec![
        (DEPLOYMENT, deployment),
        (SERVICE, service),
        (CONFIG_MAP, map),
        (SECRET, secret),
    ]
}

fn operate(cluster: &Simulated, author: Author) -> Running {
    cluster.operate_with(author, cluster.server.client("tare"), config())
}

fn writes_of_children(cluster: &Simulated) -> Vec<u64> {
    let kinds = ["deployments", "services", "configmaps", "secrets"];
    let patches = kinds.map(|kind| cluster.requests("patch", kind));
    patches.to_vec()
}

pub async fn what_the_server_stores_in_another_form_is_no_drift(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster, Author(in_other_forms));
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(120).await;
    assert_eq!(writes_of_children(&cluster), [0, 0, 0, 0]);
    let before = cluster.get("deployments", "web");
    // What others add makes events, after which the children are compared.
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"theirs": "1"}}}));
    let how = PatchParams::default();
    let services: kube::Api<k8s_openapi::api::core::v1::Service> = cluster.api();
    services.patch("web", &how, &patch).await.expect("annotate");
    let deployments: kube::Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    deployments
        .patch("web", &how, &patch)
        .await
        .expect("annotate");
    pass(120).await;
    // An annotation moves the generation of a Deployment: a zero that is missing may have been removed.
    assert_eq!(writes_of_children(&cluster), [1, 0, 0, 0]);
    assert_eq!(running.metrics.noop_patches.load(Relaxed), 1);
    let spec = cluster.get("deployments", "web")["spec"].clone();
    assert_eq!(spec, before["spec"]);

    cluster.change("web", json!({"image": "web:2"})).await;
    pass(120).await;
    // The Service does not name the image.
    assert_eq!(writes_of_children(&cluster), [2, 0, 1, 1]);
    assert_eq!(cluster.phase("web"), "Running");
    running.stop().await;
    let running = operate(&cluster, Author(in_other_forms));
    running.until_ready().await;
    pass(120).await;
    assert_eq!(writes_of_children(&cluster), [2, 0, 1, 1]);
    assert_eq!(running.metrics.noop_patches.load(Relaxed), 0);
    assert_eq!(cluster.server.objects("events"), Vec::<Value>::new());
    running.stop().await;
}

/// A default stands for a value that is planned empty.
fn with_an_empty_affinity(image: &str) -> Vec<(Kind, Value)> {
    // A label holds no colon.
    let image_label = image.replace(':', "-");
    let service = json!({"spec": {
        "clusterIP": "None", "sessionAffinity": "", "selector": {"app": "web", "image": image_label},
    }});
    vec![(DEPLOYMENT, deployment(image)), (SERVICE, service)]
}

pub async fn what_only_the_server_knows_to_be_the_same_costs_no_patch(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster, Author(with_an_empty_affinity));
    for n in 0..3 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    cluster.until_all_running(3).await;
    pass(120).await;
    for round in 0..5 {
        for n in 0..3 {
            let patch = json!({"metadata": {"annotations": {"round": round.to_string()}}});
            let (name, patch) = (format!("web-{n}"), Patch::Merge(patch));
            let services: kube::Api<k8s_openapi::api::core::v1::Service> = cluster.api();
            let patched = services.patch(&name, &PatchParams::default(), &patch).await;
            patched.expect("annotate the Service");
            pass(90).await;
        }
    }
    assert_eq!(cluster.requests("patch", "services"), 0);
    assert!(
        running
            .rendered_metrics()
            .contains("tare_noop_patches_total 0")
    );

    // Another value than the one that the server has set is a change.
    let patch = Patch::Merge(json!({"spec": {"sessionAffinity": "ClientIP"}}));
    let services: kube::Api<k8s_openapi::api::core::v1::Service> = cluster.api();
    let patched = services
        .patch("web-1", &PatchParams::default(), &patch)
        .await;
    patched.expect("edit the Service");
    cluster
        .until("it is set back", |cluster| {
            cluster.get("services", "web-1")["spec"]["sessionAffinity"] == "None"
        })
        .await;
    assert_eq!(cluster.requests("patch", "services"), 1);
    assert_eq!(cluster.phase("web-1"), "Running");
    assert_eq!(cluster.server.objects("events"), Vec::<Value>::new());
    running.stop().await;
}

/// No generation tells of annotations. The owner has an entry as long as it is not ready.
pub async fn annotations_of_a_deployment_are_set_back_while_its_owner_waits(mode: Mode) {
    let cluster = Simulated::never_ready(mode);
    let running = operate(&cluster, Author(in_other_forms));
    cluster.create("web", web()).await;
    pass(5).await;
    let edit = Patch::Merge(json!({"metadata": {"annotations": {"example.com/image": "other"}}}));
    let deployments: kube::Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let edited = deployments
        .patch("web", &PatchParams::default(), &edit)
        .await;
    edited.expect("edit the annotation");
    pass(2).await;
    let annotations = &cluster.get("deployments", "web")["metadata"]["annotations"];
    assert_eq!(annotations["example.com/image"], "web:1");
    running.stop().await;
}

pub async fn a_thousand_objects_in_other_forms_cost_no_patch(mode: Mode) {
    const OWNERS: usize = 1_000;
    let cluster = Simulated::new(mode);
    for n in 0..OWNERS {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    let author: Author = Author(with_an_empty_affinity);
    let running = cluster.operate_with(author, cluster.server.client("tare"), lossy());
    cluster.until_all_running(OWNERS).await;
    let mut lists = cluster.requests("list", "edgeapps");
    let read = cluster.requests("get", "services");
    for _ in 0..2 {
        pass(650).await;
        let listed = cluster.requests("list", "edgeapps");
        assert!(listed > lists, "it relists");
        lists = listed;
        assert_eq!(cluster.requests("patch", "services"), 0);
        assert_eq!(
            cluster.requests("get", "services"),
            read,
            "a relist costs none"
        );
    }
    assert_eq!(cluster.server.objects("events"), Vec::<Value>::new());
    running.stop().await;
}

fn with_a_typo(image: &str) -> Vec<(Kind, Value)> {
    let mut deployment = deployment(image);
    if image == "typo:1" {
        deployment["spec"]["replcas"] = 2.into();
    }
    vec![(DEPLOYMENT, deployment)]
}

pub async fn a_typo_in_a_plan_is_refused_and_told(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster, Author(with_a_typo));
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    cluster.create("new", json!({"image": "typo:1"})).await;
    cluster.change("web", json!({"image": "typo:1"})).await;
    for name in ["web", "new"] {
        cluster.until_phase(name, "Failed").await;
        let degraded = cluster.condition(name, "Degraded");
        assert_eq!(degraded["reason"], "Rejected");
        let message = degraded["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("unknown field \"spec.replcas\""),
            "{message}"
        );
        assert!(message.len() < 200, "{message}");
    }
    running.stop().await;
}
