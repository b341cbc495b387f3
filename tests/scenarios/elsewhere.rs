//! Children that their owners cannot be the controllers of: what is told of them, whose they are, and who removes them; and
//! an operator of several namespaces.

use http::Method;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tare::edgeapp::{EdgeApp, EdgeApps};
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, text};
use crate::cluster::simulated::{Simulated, config, pass, web};
use crate::cluster::user::{JSON, MERGE, send};
use crate::places::{Rooms, Scene, Teams, uid_in};

const UID: &str = "scope.example.com/owner-uid";

async fn scene(mode: Mode, owners: &'static str) -> (Simulated, Scene) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    (simulated, Scene::new(cluster, owners).await)
}

pub async fn a_child_where_it_cannot_be_is_told_on_its_owner(mode: Mode) {
    let (simulated, rooms) = scene(mode, "rooms").await;
    let client = || simulated.server.client("tare");
    let running = simulated.operate_with(Rooms::<false>, client(), config());
    let there = &rooms.namespaces[0];
    rooms
        .create("a", json!({"colour": "blue", "namespaces": [there]}))
        .await;
    let told = rooms.until_failed("a", "NeedsFinalizer").await;
    assert!(
        told.contains("default/a has a ConfigMap \"a\" that is not in the namespace of its owner"),
        "{told}"
    );
    assert_eq!(simulated.server.objects("configmaps"), Vec::<Value>::new());
    running.stop().await;

    let only_here = Config {
        namespaces: vec!["default".to_owned()],
        ..config()
    };
    let running = simulated.operate_with(Rooms::<true>, client(), only_here);
    let told = rooms.until_failed("a", "NotWatched").await;
    assert!(
        told.contains(&format!("run it with --namespace {there} too")),
        "{told}"
    );
    let long = "a".repeat(64);
    rooms
        .create(&long, json!({"colour": "blue", "namespaces": [there]}))
        .await;
    let told = rooms.until_failed(&long, "NameTooLong").await;
    assert!(told.contains("63 characters"), "{told}");
    running.stop().await;

    let (simulated, teams) = scene(mode, "teams").await;
    let running = simulated.operate_with(Teams, simulated.server.client("tare"), config());
    teams
        .create("b", json!({"colour": "nowhere", "namespaces": []}))
        .await;
    let told = teams.until_failed("b", "NoNamespace").await;
    assert!(
        told.contains("the plan of b has a ConfigMap \"lost\""),
        "{told}"
    );
    // What is told of an owner without a namespace is an Event of the namespace `default`.
    simulated
        .until("an Event tells it", |cluster| {
            let events = cluster.server.objects("events");
            events.iter().any(|event| {
                event["reason"] == "NoNamespace" && event["metadata"]["namespace"] == "default"
            })
        })
        .await;
    running.stop().await;
}

pub async fn a_plan_sees_the_status_of_a_child_elsewhere(mode: Mode) {
    let (simulated, rooms) = scene(mode, "rooms").await;
    let running = rooms.operate().await;
    let there = &rooms.namespaces[1];
    rooms
        .create(
            &rooms.name,
            json!({"colour": "blue:1", "namespaces": [], "worksIn": there}),
        )
        .await;
    let works = async |colour: &str| {
        let path = rooms.owner_path(&rooms.name);
        let works = |object: &Value| {
            object["status"]["works"] == true
                && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        };
        rooms
            .cluster
            .until_at(&format!("{colour} works"), &path, works)
            .await;
        let deployment = simulated
            .server
            .object("deployments", there, &rooms.name)
            .expect("a Deployment");
        let containers = &deployment["spec"]["template"]["spec"]["containers"];
        assert_eq!(containers[0]["image"], *colour);
    };
    works("blue:1").await;
    pass(3_600).await;
    rooms.change(json!({"colour": "red:1"})).await;
    works("red:1").await;
    // It is found to be as planned at a start.
    let writes = simulated.writes();
    running.kill().await;
    let running = rooms.operate().await;
    pass(60).await;
    assert_eq!(
        simulated.writes(),
        writes,
        "{:?}",
        simulated.server.requests()
    );
    running.stop().await;
}

/// Two owners of one name want the same ConfigMap.
pub async fn a_child_of_a_namesake_in_another_namespace_is_not_touched(mode: Mode) {
    let (simulated, rooms) = scene(mode, "rooms").await;
    let running = rooms.operate().await;
    let [there, other] = &rooms.namespaces;
    let spec = json!({"colour": "blue", "namespaces": [there]});
    let first = rooms.create(&rooms.name, spec).await;
    rooms.until_colour(&rooms.map(0), "blue").await;
    let namesake = json!({
        "apiVersion": "scope.example.com/v1", "kind": "Room",
        "metadata": {"name": rooms.name, "labels": {"scene": "default"}},
        "spec": {"colour": "red", "namespaces": [there]},
    });
    let collection = format!("/apis/scope.example.com/v1/namespaces/{other}/rooms");
    rooms.send(Method::POST, &collection, namesake).await;
    let path = format!("{collection}/{}", rooms.name);
    let collides = |object: &Value| condition(object, "Ready")["reason"] == "Collision";
    let object = rooms.cluster.until_at("it collides", &path, collides).await;
    let told = text(condition(&object, "Ready"), "/message");
    assert!(
        told.contains("was made for Room") && told.contains("in default"),
        "{told}"
    );
    // Neither a start nor the end of the one touches what is the other's.
    running.kill().await;
    let running = rooms.operate().await;
    rooms.delete(&path).await;
    rooms.until_gone(&path).await;
    let child = rooms.until_colour(&rooms.map(0), "blue").await;
    rooms.assert_is_of(&child, &first);
    assert_eq!(simulated.requests("delete", "configmaps"), 0);
    running.stop().await;
}

/// Somebody has removed the finalizer by hand and made the owner anew while no operator ran.
pub async fn children_of_an_earlier_owner_of_the_same_name_are_taken_over(mode: Mode) {
    let (_, rooms) = scene(mode, "rooms").await;
    let running = rooms.operate().await;
    let spec = json!({"colour": "blue", "namespaces": rooms.namespaces});
    rooms.create(&rooms.name, spec.clone()).await;
    rooms.until_seen(3).await;
    running.kill().await;
    let path = rooms.owner_path(&rooms.name);
    rooms
        .send(
            Method::PATCH,
            &path,
            json!({"metadata": {"finalizers": null}}),
        )
        .await;
    rooms.delete(&path).await;
    rooms.until_gone(&path).await;
    let again = rooms.create(&rooms.name, spec).await;
    let running = rooms.operate().await;
    rooms.until_seen(3).await;
    for child in [rooms.map(0), rooms.map(1), rooms.role()] {
        let child = rooms.until_colour(&child, "blue").await;
        rooms.assert_is_of(&child, &again);
    }
    rooms.delete(&path).await;
    for path in [rooms.map(0), rooms.map(1), rooms.role(), path] {
        rooms.until_gone(&path).await;
    }
    running.stop().await;
}

/// A label that names its owner is removed or changed by hand.
pub async fn a_child_without_one_of_its_labels_gets_it_back(mode: Mode) {
    let (_, rooms) = scene(mode, "rooms").await;
    let running = rooms.operate().await;
    let spec = json!({"colour": "blue", "namespaces": rooms.namespaces});
    let owner = rooms.create(&rooms.name, spec).await;
    rooms.until_seen(3).await;
    let labels = [
        "app.kubernetes.io/managed-by",
        "scope.example.com/owner",
        "scope.example.com/owner-namespace",
        UID,
    ];
    let cases = labels.iter().map(|label| (*label, Value::Null));
    // There is a namespace of this name, and an owner.
    let other = rooms.create("other", json!({"colour": "red", "namespaces": []}));
    other.await;
    let changes = [
        (UID, json!("somebody")),
        ("scope.example.com/owner", json!("other")),
        (
            "scope.example.com/owner-namespace",
            json!(rooms.namespaces[0]),
        ),
    ];
    for (label, value) in cases.chain(changes) {
        pass(600).await;
        let path = rooms.map(1);
        rooms
            .send(
                Method::PATCH,
                &path,
                json!({"metadata": {"labels": {label: value}}}),
            )
            .await;
        let is_back = |child: &Value| {
            let labels = &child["metadata"]["labels"];
            labels[label] != value
                && uid_in(labels) == owner["metadata"]["uid"]
                && labels["scope.example.com/owner"] == *rooms.name
        };
        // Where the three are not true together, a relist finds whose the child is, a minute later or more.
        let simulated = rooms.cluster.as_simulated().expect("a simulated cluster");
        let (namespace, name) = (&rooms.namespaces[1], &rooms.name);
        simulated
            .waiting_up_to(std::time::Duration::from_secs(700), "a late relist")
            .until(&format!("{label} is back"), |cluster| {
                cluster
                    .server
                    .object("configmaps", namespace, name)
                    .is_some_and(|child| is_back(&child))
            })
            .await;
    }
    running.stop().await;
}

/// Nothing but the label tells which children there are.
pub async fn an_owner_without_a_plan_goes_with_its_children_elsewhere(mode: Mode) {
    let (simulated, rooms) = scene(mode, "rooms").await;
    let running = rooms.operate().await;
    let spec = json!({"colour": "blue", "namespaces": rooms.namespaces});
    rooms.create(&rooms.name, spec).await;
    rooms.until_seen(3).await;
    rooms.change(json!({"colour": "panic"})).await;
    rooms.until_failed(&rooms.name, "Panic").await;
    let path = rooms.owner_path(&rooms.name);
    rooms.delete(&path).await;
    for path in [rooms.map(0), rooms.map(1), rooms.role(), path] {
        rooms.until_gone(&path).await;
    }
    assert_eq!(simulated.server.objects("configmaps"), Vec::<Value>::new());
    running.stop().await;
}

/// EdgeApps in three namespaces, of which the operator has two.
pub async fn an_operator_of_two_namespaces_works_in_both_and_nowhere_else(mode: Mode) {
    let cluster = Simulated::new(mode);
    let names = ["edge", "edge-b", "other"];
    let make = async |namespace: &str, name: &str| {
        let app: EdgeApp = serde_json::from_value(json!({
            "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp", "metadata": {"name": name}, "spec": web(),
        }))
        .expect("an EdgeApp");
        let apps = Api::<EdgeApp>::namespaced(cluster.client.clone(), namespace);
        apps.create(&PostParams::default(), &app)
            .await
            .expect("create an EdgeApp");
    };
    for namespace in names {
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        send(
            &cluster.client,
            Method::POST,
            "/api/v1/namespaces",
            JSON,
            &object,
        )
        .await
        .expect("a namespace");
        // More than one first page holds.
        for n in 0..120 {
            make(namespace, &format!("web-{n}")).await;
        }
    }
    let of_two = || Config {
        namespaces: vec!["edge-b".to_owned(), "edge".to_owned()],
        ..config()
    };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), of_two());
    let until_running = async |count: usize| {
        cluster
            .until(&format!("{count} are Running"), |cluster| {
                let all = cluster.server.objects("edgeapps");
                let ours = all
                    .iter()
                    .filter(|app| app["metadata"]["namespace"] != "other");
                ours.filter(|app| app["status"]["phase"] == "Running")
                    .count()
                    == count
            })
            .await;
    };
    until_running(240).await;
    // Drift, a new one and one that goes, in each of them.
    for namespace in &names[..2] {
        pass(600).await;
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/web-7");

        let before = cluster
            .server
            .object("deployments", namespace, "web-7")
            .expect("a Deployment");
        let mut containers = before["spec"]["template"]["spec"]["containers"].clone();
        containers[0]["image"] = "evil:1".into();
        let edit = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        send(&cluster.client, Method::PATCH, &path, MERGE, &edit)
            .await
            .expect("edit it");
        cluster
            .until("it is set back", |cluster| {
                let now = cluster
                    .server
                    .object("deployments", namespace, "web-7")
                    .unwrap_or_default();
                now["spec"]["template"]["spec"]["containers"]
                    == before["spec"]["template"]["spec"]["containers"]
            })
            .await;
        make(namespace, "late").await;
    }
    until_running(242).await;
    let requests = cluster.requests("list", "edgeapps");
    cluster.server.close_watches();
    pass(600).await;
    make("edge", "later").await;
    until_running(243).await;
    assert!(
        cluster.requests("list", "edgeapps") <= requests + 4,
        "one list of one object for each watch"
    );
    // A restart reads every page once and writes nothing.
    pass(600).await;
    let writes = cluster.writes();
    running.kill().await;
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), of_two());
    running.until_ready().await;
    pass(60).await;
    assert_eq!(cluster.writes(), writes);
    let elsewhere = cluster
        .server
        .objects("edgeapps")
        .into_iter()
        .filter(|app| app["metadata"]["namespace"] == "other");
    assert!(elsewhere.into_iter().all(|app| app["status"].is_null()));
    assert!(
        cluster
            .server
            .objects("deployments")
            .iter()
            .all(|one| one["metadata"]["namespace"] != "other")
    );
    running.stop().await;
}
