//! Fields of children: what the plan says is written and set back, and what others own stays.

use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tare_runtime::api::{DEPLOYMENT, Kind, POD_DISRUPTION_BUDGET};
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::{container, text, web};
use crate::cluster::simulated::{Running, Simulated, config, pass};
use crate::cluster::user::STRATEGIC;
use crate::forms::{Author, WIDGET, deployment};

const MARK: &str = "/metadata/annotations/tare.dev~1plan";

/// Runs an operator of its own in this namespace.
pub async fn operate<const OF: usize>(cluster: &Cluster, author: Author<OF>) -> Running {
    let (client, namespaces) = match cluster.as_simulated() {
        Some(simulated) => (simulated.server.client("tare"), Vec::new()),
        None => (cluster.client.clone(), vec![cluster.namespace.clone()]),
    };
    let config = Config {
        namespaces,
        ..config()
    };
    let running = Running::start(author, cluster.mode, cluster.timeout, client, config);
    running.until_ready().await;
    running
}

/// The EdgeApp is idle on the simulated cluster, where a minute costs nothing.
pub async fn rest(cluster: &Cluster) {
    if cluster.as_simulated().is_some() {
        pass(70).await;
    }
}

fn variables(deployment: &Value) -> Vec<String> {
    let env = container(deployment)["env"].as_array();
    let env = env.into_iter().flatten();
    env.map(|variable| text(variable, "/name")).collect()
}

/// `$(HOST)` needs a `HOST` before it.
pub async fn another_order_of_variables_is_written_and_a_foreign_one_is_set_back(cluster: Cluster) {
    let operator = cluster.operate().await;
    let url = || json!({"name": "URL", "value": "http://$(HOST)/"});
    let host = || json!({"name": "HOST", "value": "db"});
    let spec = json!({"image": "registry.local/web:1", "env": [url(), host()]});
    cluster.create("web", spec).await;
    cluster.until_running("web").await;
    rest(&cluster).await;
    let in_order = |deployment: &Value| variables(deployment) == ["HOST", "URL"];
    cluster.change("web", json!({"env": [host(), url()]})).await;
    let deployment = cluster
        .until("the new order", "deployments", "web", in_order)
        .await;
    cluster.until_running("web").await;
    rest(&cluster).await;
    let mut containers = deployment["spec"]["template"]["spec"]["containers"].clone();
    containers[0]["env"] = json!([url(), host()]);
    let edit = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    cluster.patch("deployments", "web", edit).await;
    cluster
        .until("the order is back", "deployments", "web", in_order)
        .await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn what_others_put_into_a_container_and_a_port_stays(cluster: Cluster) {
    let operator = cluster.operate().await;
    let spec = |image: &str, replicas: u8, port: u16| json!({"image": image, "replicas": replicas, "port": port});
    cluster
        .create("web", spec("registry.local/web:1", 1, 8080))
        .await;
    cluster.until_running("web").await;
    rest(&cluster).await;
    let probe = json!({"httpGet": {"path": "/live", "port": 8080}});
    let added = json!({"spec": {"template": {"spec": {
        "volumes": [{"name": "ca", "emptyDir": {}}],
        "containers": [{"name": "app", "livenessProbe": probe,
            "volumeMounts": [{"name": "ca", "mountPath": "/etc/ca"}]}],
    }}}});
    cluster
        .patch_with("deployments", "web", STRATEGIC, added)
        .await;
    let mut added = json!({"spec": {"type": "NodePort",
        "ports": [{"port": 80, "name": "http", "appProtocol": "http"}]}});
    if cluster.as_simulated().is_some() {
        // It allocates none.
        added["spec"]["ports"][0]["nodePort"] = 30_480.into();
    }
    cluster
        .patch_with("services", "web", STRATEGIC, added)
        .await;
    let service = cluster.get("services", "web").await;
    let port = |service: &Value| service["spec"]["ports"][0].clone();
    let node_port = port(&service)["nodePort"].clone();
    assert!(node_port.is_u64(), "{service}");
    rest(&cluster).await;
    for (image, replicas, target) in [
        ("registry.local/web:1", 2, 8080),
        ("registry.local/web:2", 2, 8081),
    ] {
        cluster.change("web", spec(image, replicas, target)).await;
        let is_planned = |deployment: &Value| {
            container(deployment)["image"] == image && deployment["spec"]["replicas"] == replicas
        };
        let deployment = cluster
            .until("the new spec", "deployments", "web", is_planned)
            .await;
        let container = container(&deployment);
        assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/live");
        assert_eq!(container["volumeMounts"][0]["mountPath"], "/etc/ca");
        let is_planned = |service: &Value| port(service)["targetPort"] == target;
        let service = cluster
            .until("the new port", "services", "web", is_planned)
            .await;
        let port = port(&service);
        let kept = (&port["name"], &port["appProtocol"], &port["nodePort"]);
        assert_eq!(kept, (&json!("http"), &json!("http"), &node_port));
    }
    operator.terminate().await;
    cluster.end().await;
}

fn with_a_volume(image: &str) -> Vec<(Kind, Value)> {
    let mut deployment = deployment("registry.local/web:1");
    let source = match image {
        "registry.local/web:1" => json!({"name": "data", "configMap": {"name": "seed"}}),
        _ => json!({"name": "data", "emptyDir": {}}),
    };
    deployment["spec"]["template"]["spec"]["volumes"] = json!([source]);
    vec![(DEPLOYMENT, deployment)]
}

pub async fn a_volume_becomes_an_empty_dir(cluster: Cluster) {
    let running = operate(&cluster, Author::<0>(with_a_volume)).await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    rest(&cluster).await;
    cluster
        .change("web", json!({"image": "registry.local/web:2"}))
        .await;
    let is_planned = |deployment: &Value| {
        deployment["spec"]["template"]["spec"]["volumes"]
            == json!([{"name": "data", "emptyDir": {}}])
    };
    cluster
        .until("it is an emptyDir", "deployments", "web", is_planned)
        .await;
    // Somebody gives it another source: two would be refused.
    rest(&cluster).await;
    let source = json!([{"name": "data", "configMap": {"name": "other"}}]);
    let edit = json!({"spec": {"template": {"spec": {"volumes": source}}}});
    cluster.patch("deployments", "web", edit).await;
    cluster
        .until("it is an emptyDir again", "deployments", "web", is_planned)
        .await;
    running.stop().await;
    cluster.end().await;
}

fn with_less(image: &str) -> Vec<(Kind, Value)> {
    let mut deployment = deployment("registry.local/web:1");
    if image == "registry.local/web:1" {
        let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        container["env"] = json!([{"name": "DEBUG", "value": "1"}, {"name": "LEVEL", "value": ""}]);
        container["livenessProbe"] = json!({"httpGet": {"path": "/live", "port": 80}});
        container["resources"] = json!({"limits": {"memory": "64Mi", "cpu": "0.5"}});
        container["securityContext"] = json!({"privileged": true});
    }
    vec![(DEPLOYMENT, deployment)]
}

pub async fn what_leaves_the_plan_of_a_container_goes(cluster: Cluster) {
    let running = operate(&cluster, Author::<0>(with_less)).await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    rest(&cluster).await;
    cluster
        .change("web", json!({"image": "registry.local/web:2"}))
        .await;
    let is_gone = |deployment: &Value| {
        let container = container(deployment);
        let gone = ["env", "livenessProbe", "securityContext"];
        gone.iter().all(|field| container[*field].is_null())
            && container["resources"]["limits"].is_null()
    };
    cluster
        .until("all are gone", "deployments", "web", is_gone)
        .await;
    running.stop().await;
    cluster.end().await;
}

/// Beyond 2^53 two numbers are one where they are read as fractions.
fn a_widget(image: &str) -> Vec<(Kind, Value)> {
    let spec = match image {
        "registry.local/web:1" => {
            json!({"size": 1, "limit": 9_007_199_254_740_992_u64, "mode": "slow"})
        }
        _ => json!({"size": 0, "limit": 9_007_199_254_740_993_u64, "mode": "slow",
            "replicas": 0, "settings": {}, "tags": []}),
    };
    vec![
        (WIDGET, json!({ "spec": spec })),
        (DEPLOYMENT, deployment("registry.local/web:1")),
    ]
}

pub async fn zeros_and_large_numbers_of_a_custom_kind_are_written_and_set_back(cluster: Cluster) {
    let installed = kubesim_contract::install(&cluster.client).await;
    installed.unwrap_or_else(|error| panic!("install the CRD: {error:?}"));
    let running = operate(&cluster, Author::<1>(a_widget)).await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    rest(&cluster).await;
    cluster
        .change("web", json!({"image": "registry.local/web:2"}))
        .await;
    let planned = a_widget("registry.local/web:2").swap_remove(0).1["spec"].clone();
    let is_planned = |widget: &Value| widget["spec"] == planned;
    cluster
        .until("the new plan", "widgets", "web", is_planned)
        .await;
    for edit in [
        json!({"size": 5}),
        json!({"limit": 9_007_199_254_740_992_u64}),
        json!({"settings": null}),
        json!({"tags": ["theirs"]}),
    ] {
        rest(&cluster).await;
        cluster
            .patch("widgets", "web", json!({ "spec": edit }))
            .await;
        cluster
            .until(&format!("{edit} is set back"), "widgets", "web", is_planned)
            .await;
    }
    running.stop().await;
    cluster.end().await;
}

fn with_a_budget(_: &str) -> Vec<(Kind, Value)> {
    let budget =
        json!({"spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}});
    vec![
        (POD_DISRUPTION_BUDGET, budget),
        (DEPLOYMENT, deployment("registry.local/web:1")),
    ]
}

pub async fn a_budget_that_loses_its_zero_gets_it_back(cluster: Cluster) {
    let running = operate(&cluster, Author::<2>(with_a_budget)).await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    let is_planned = |budget: &Value| {
        budget["spec"]["maxUnavailable"] == 0 && budget["spec"]["minAvailable"].is_null()
    };
    cluster
        .until("it is there", "poddisruptionbudgets", "web", is_planned)
        .await;
    for edit in [
        json!({"maxUnavailable": null}),
        json!({"maxUnavailable": null, "minAvailable": 1}),
    ] {
        cluster
            .patch("poddisruptionbudgets", "web", json!({ "spec": edit }))
            .await;
        cluster
            .until("it is back", "poddisruptionbudgets", "web", is_planned)
            .await;
    }
    running.stop().await;
    cluster.end().await;
}

/// As children are that an earlier version has made.
pub async fn a_child_without_its_mark_is_written_with_the_next_difference_only(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web_spec()).await;
    cluster.until_phase("web", "Running").await;
    pass(70).await;
    assert!(!text(&cluster.get("deployments", "web"), MARK).is_empty());
    let unmark = json!({"metadata": {"annotations": {"tare.dev/plan": null}}});
    patch_deployment(&cluster, unmark).await;
    let writes = cluster.writes();
    pass(3 * 3_600).await;
    assert_eq!(
        cluster.writes(),
        writes,
        "it is written without a difference"
    );
    assert_eq!(text(&cluster.get("deployments", "web"), MARK), "");
    patch_deployment(&cluster, json!({"spec": {"replicas": 5}})).await;
    pass(10).await;
    let deployment = cluster.get("deployments", "web");
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert!(!text(&deployment, MARK).is_empty(), "it has its mark again");
    running.stop().await;
}

/// Somebody has cleared managedFields: nothing says who owns a field.
pub async fn a_child_without_managed_fields_is_compared_field_by_field(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web_spec()).await;
    cluster.until_phase("web", "Running").await;
    pass(70).await;
    patch_deployment(&cluster, json!({"metadata": {"managedFields": [{}]}})).await;
    patch_deployment(&cluster, json!({"spec": {"replicas": 5, "paused": true}})).await;
    pass(10).await;
    let spec = cluster.get("deployments", "web")["spec"].clone();
    assert_eq!(
        (&spec["replicas"], &spec["paused"]),
        (&json!(1), &json!(true))
    );
    let writes = cluster.writes();
    pass(3 * 3_600).await;
    assert_eq!(
        cluster.writes(),
        writes,
        "it is written without a difference"
    );
    cluster.change("web", json!({"image": "web:2"})).await;
    pass(10).await;
    assert_eq!(
        container(&cluster.get("deployments", "web"))["image"],
        "web:2"
    );
    running.stop().await;
}

fn web_spec() -> Value {
    crate::cluster::simulated::web()
}

async fn patch_deployment(cluster: &Simulated, patch: Value) {
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let (how, patch) = (PatchParams::default(), Patch::Merge(patch));
    let patched = deployments.patch("web", &how, &patch).await;
    patched.expect("patch the Deployment");
}

/// What `kubectl replace --force` does with a file that was edited. The copy bears the mark of the original, and its first
/// generation: nothing else in a list tells that somebody has changed it.
pub async fn a_child_made_again_from_an_edited_copy_is_ours_again(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    operator.terminate().await;
    for (resource, pointer, edit) in [
        ("deployments", "/spec/replicas", json!(9)),
        ("services", "/spec/selector", json!({ "app": "other" })),
    ] {
        let mut copy = cluster.get(resource, "web").await;
        copy["status"].take();
        for of_server in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
        ] {
            copy["metadata"][of_server].take();
        }
        if let Some(edited) = copy.pointer_mut(pointer) {
            *edited = edit;
        }
        cluster.delete(resource, "web").await;
        cluster.until_gone(resource, "web").await;
        cluster.make(resource, copy).await;
    }

    let operator = cluster.operate().await;
    let set_back = |child: &Value| child["spec"]["replicas"] == 1;
    cluster
        .until("the edit is undone", "deployments", "web", set_back)
        .await;
    let selects = |child: &Value| child["spec"]["selector"] == json!({ "tare.dev/owner": "web" });
    cluster
        .until("it selects its Pods", "services", "web", selects)
        .await;

    // What the copy has brought along leaves with the plan.
    let less = json!({ "env": [{ "name": "A", "value": "1" }] });
    cluster.change("web", less).await;
    let is_less = |child: &Value| container(child)["env"].as_array().map(Vec::len) == Some(1);
    cluster
        .until("the variable is gone", "deployments", "web", is_less)
        .await;
    cluster.until_running("web").await;
    operator.terminate().await;
    cluster.end().await;
}
