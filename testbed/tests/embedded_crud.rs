//! The embedded server's verbs on single objects, through a kube client in process.
#![allow(clippy::unwrap_used)]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use testbed::embedded::{Options, Server};

pub const CRD: &str = include_str!("data/widget-crd.yaml");

fn server() -> Server {
    let server = Server::new(Options::default());
    server.install(CRD).unwrap();
    server
}

fn widgets(client: kube::Client) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("example.dev", "v1", "Widget");
    Api::namespaced_with(
        client,
        "default",
        &ApiResource::from_gvk_with_plural(&gvk, "widgets"),
    )
}

fn widget(name: &str, spec: Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": name}, "spec": spec,
    }))
    .unwrap()
}

fn deployment(name: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app", "image": "nginx:1.27",
                    "resources": {"limits": {"cpu": "0.5"}},
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "A", "value": "1"}],
                }]},
            },
        },
    }))
    .unwrap()
}

fn status(error: kube::Error) -> kube::core::Status {
    match error {
        kube::Error::Api(status) => *status,
        other => panic!("not a Status: {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn create_get_update_conflict_delete() {
    let server = server();
    let api = widgets(server.client("alice"));
    let made = api
        .create(&PostParams::default(), &widget("a", json!({"size": 1})))
        .await
        .unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(
        made.data["spec"],
        json!({"size": 1, "color": "red"}),
        "defaulted"
    );
    let again = api
        .create(&PostParams::default(), &widget("a", json!({"size": 1})))
        .await;
    assert_eq!(status(again.unwrap_err()).reason, "AlreadyExists");

    let mut changed = made.clone();
    changed.data["spec"]["size"] = json!(2);
    let updated = api
        .replace("a", &PostParams::default(), &changed)
        .await
        .unwrap();
    assert_eq!(updated.metadata.generation, Some(2));
    let stale = api.replace("a", &PostParams::default(), &changed).await;
    let stale = status(stale.unwrap_err());
    assert_eq!((stale.code, stale.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        stale.message,
        "Operation cannot be fulfilled on widgets.example.dev \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );

    let wrong = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some("other".to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    assert_eq!(status(api.delete("a", &wrong).await.unwrap_err()).code, 409);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(status(api.get("a").await.unwrap_err()).code, 404);

    let ledger = server.ledger();
    assert_eq!(ledger.count("alice", "create", "widgets"), 2);
    assert_eq!(ledger.count("alice", "update", "widgets"), 2);
    assert_eq!(ledger.writes("alice"), 6);
    assert_eq!(ledger.reads("alice"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_keeps_the_revision() {
    let server = server();
    let api = widgets(server.client("alice"));
    let made = api
        .create(&PostParams::default(), &widget("a", json!({"size": 1})))
        .await
        .unwrap();
    let before = server.revision();
    let patch = Patch::Merge(json!({"spec": {"size": 1}}));
    let same = api
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(
        same.metadata.resource_version,
        made.metadata.resource_version
    );
    assert_eq!(server.revision(), before);
}

#[tokio::test(start_paused = true)]
async fn status_and_spec_are_isolated() {
    let server = server();
    let api = widgets(server.client("alice"));
    let mut first = widget("a", json!({"size": 1}));
    first.data["status"] = json!({"phase": "Forged"});
    let made = api.create(&PostParams::default(), &first).await.unwrap();
    assert!(made.data.get("status").is_none());

    let patch = Patch::Merge(json!({"spec": {"size": 9}, "status": {"phase": "Ready"}}));
    let after = api
        .patch_status("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(
        (&after.data["spec"]["size"], &after.data["status"]),
        (&json!(1), &json!({"phase": "Ready"}))
    );
    assert_eq!(after.metadata.generation, Some(1));
    let patch = Patch::Merge(json!({"spec": {"size": 9}, "status": {"phase": "Lost"}}));
    let after = api
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(
        (&after.data["spec"]["size"], &after.data["status"]),
        (&json!(9), &json!({"phase": "Ready"}))
    );
    assert_eq!(after.metadata.generation, Some(2));
}

#[tokio::test(start_paused = true)]
async fn bad_input_names_the_field_as_the_real_server_does() {
    let server = server();
    let api = widgets(server.client("alice"));
    let cases = [
        (
            json!({"size": 2000}),
            "Widget.example.dev \"w\" is invalid: spec.size: Invalid value: 2000: spec.size in body should be less than or equal to 1000",
        ),
        (
            json!({}),
            "Widget.example.dev \"w\" is invalid: spec.size: Required value",
        ),
        (
            json!({"size": "x"}),
            "Widget.example.dev \"w\" is invalid: spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
        ),
        (
            json!({"size": 1, "color": "pink"}),
            "Widget.example.dev \"w\" is invalid: spec.color: Unsupported value: \"pink\": supported values: \"red\", \"green\"",
        ),
        (
            json!({"size": 1, "code": "ABC"}),
            "Widget.example.dev \"w\" is invalid: spec.code: Invalid value: \"ABC\": spec.code in body should match '^[a-z]+$'",
        ),
    ];
    for (spec, want) in cases {
        let refusal = status(
            api.create(&PostParams::default(), &widget("w", spec))
                .await
                .unwrap_err(),
        );
        assert_eq!((refusal.code, refusal.message.as_str()), (422, want));
    }
    let long = "a-name-of-more-than-twenty-letters";
    let refusal = status(
        api.create(&PostParams::default(), &widget(long, json!({"size": 1})))
            .await
            .unwrap_err(),
    );
    assert!(
        refusal
            .message
            .ends_with("is invalid: <nil>: Invalid value: at most 20 characters"),
        "{}",
        refusal.message
    );
    let pruned = api
        .create(
            &PostParams::default(),
            &widget("p", json!({"size": 1, "nope": true})),
        )
        .await
        .unwrap();
    assert!(pruned.data["spec"].get("nope").is_none());
    let named = status(
        api.create(
            &PostParams::default(),
            &widget("Bad_Name", json!({"size": 1})),
        )
        .await
        .unwrap_err(),
    );
    assert_eq!(named.code, 422);
    let elsewhere: Api<ConfigMap> = Api::namespaced(server.client("alice"), "nowhere");
    let cm: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
    let missing = status(
        elsewhere
            .create(&PostParams::default(), &cm)
            .await
            .unwrap_err(),
    );
    assert_eq!(missing.message, "namespaces \"nowhere\" not found");
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_deletion_until_the_last_is_gone() {
    let server = server();
    let api = widgets(server.client("alice"));
    let mut held = widget("a", json!({"size": 1}));
    held.metadata.finalizers = Some(vec!["example.dev/a".to_owned(), "example.dev/b".to_owned()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    let marked = api
        .delete("a", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(0));
    assert_eq!(marked.metadata.generation, Some(2));

    let add = json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "example.dev/c"}]);
    let add: json_patch::Patch = serde_json::from_value(add).unwrap();
    let refusal = status(
        api.patch("a", &PatchParams::default(), &Patch::<()>::Json(add))
            .await
            .unwrap_err(),
    );
    assert_eq!(refusal.code, 422, "{}", refusal.message);

    let remove = |at: usize, value: &str| -> json_patch::Patch {
        let path = format!("/metadata/finalizers/{at}");
        serde_json::from_value(json!([
            {"op": "test", "path": path, "value": value},
            {"op": "remove", "path": path},
        ]))
        .unwrap()
    };
    let wrong = Patch::<()>::Json(remove(0, "example.dev/b"));
    assert_eq!(
        status(
            api.patch("a", &PatchParams::default(), &wrong)
                .await
                .unwrap_err()
        )
        .code,
        422
    );
    for name in ["example.dev/a", "example.dev/b"] {
        assert!(server.object("widgets", "default", "a").is_some());
        api.patch(
            "a",
            &PatchParams::default(),
            &Patch::<()>::Json(remove(0, name)),
        )
        .await
        .unwrap();
    }
    assert!(server.object("widgets", "default", "a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deployment_gets_defaults_and_becomes_ready_after_the_delay() {
    let server = Server::new(Options {
        ready_delay: std::time::Duration::from_secs(5),
        ..Options::default()
    });
    let api: Api<Deployment> = Api::default_namespaced(server.client("alice"));
    api.create(&PostParams::default(), &deployment("web"))
        .await
        .unwrap();
    let stored = server.object("deployments", "default", "web").unwrap();
    assert_eq!(stored["spec"]["revisionHistoryLimit"], 10);
    assert_eq!(
        stored["spec"]["strategy"]["rollingUpdate"]["maxSurge"],
        "25%"
    );
    let pod = &stored["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(pod["containers"][0]["ports"][0]["protocol"], "TCP");
    assert_eq!(
        pod["containers"][0]["resources"],
        json!({"limits": {"cpu": "500m"}})
    );
    assert_eq!(pod["securityContext"], json!({}));

    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert!(
        server.object("deployments", "default", "web").unwrap()["status"]
            .get("readyReplicas")
            .is_none()
    );
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let ready = server.object("deployments", "default", "web").unwrap();
    assert_eq!(ready["status"]["readyReplicas"], 2);
    assert_eq!(ready["status"]["observedGeneration"], 1);
    assert_eq!(ready["metadata"]["generation"], 1);

    let patch = Patch::Merge(json!({"spec": {"selector": {"matchLabels": {"app": "x"}}}}));
    assert_eq!(
        status(
            api.patch("web", &PatchParams::default(), &patch)
                .await
                .unwrap_err()
        )
        .code,
        422
    );
}

#[tokio::test(start_paused = true)]
async fn services_get_addresses_that_may_not_change() {
    let server = server();
    let api: Api<Service> = Api::default_namespaced(server.client("alice"));
    let service = |name: &str, ip: Option<&str>| -> Service {
        let mut object = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"app": name}}});
        if let Some(ip) = ip {
            object["spec"]["clusterIP"] = json!(ip);
        }
        serde_json::from_value(object).unwrap()
    };
    let made = api
        .create(&PostParams::default(), &service("a", None))
        .await
        .unwrap();
    assert!(made.spec.unwrap().cluster_ip.unwrap().starts_with("10."));
    let headless = api
        .create(&PostParams::default(), &service("b", Some("None")))
        .await
        .unwrap();
    assert_eq!(
        headless.spec.unwrap().cluster_ips,
        Some(vec!["None".to_owned()])
    );
    let patch = Patch::Merge(json!({"spec": {"clusterIP": "None"}}));
    assert_eq!(
        status(
            api.patch("a", &PatchParams::default(), &patch)
                .await
                .unwrap_err()
        )
        .code,
        422
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_implemented_is_501_and_what_does_not_exist_404() {
    let server = server();
    let client = server.client("alice");
    let code = |path: &'static str| {
        let client = client.clone();
        async move {
            let request = http::Request::get(path).body(Vec::new()).unwrap();
            status(client.request::<Value>(request).await.unwrap_err())
        }
    };
    let secrets = code("/api/v1/namespaces/default/secrets").await;
    assert_eq!(secrets.code, 501);
    assert!(secrets.message.contains("secrets"));
    assert_eq!(code("/apis/none.dev/v1/things").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn events_are_one_store_in_two_groups() {
    use k8s_openapi::api::core::v1::Event;
    use kube::runtime::events::{Event as Occurrence, EventType, Recorder, Reporter};
    let server = server();
    let client = server.client("alice");
    let reporter = Reporter {
        controller: "tare".to_owned(),
        instance: None,
    };
    let about = k8s_openapi::api::core::v1::ObjectReference {
        kind: Some("Widget".to_owned()),
        name: Some("w".to_owned()),
        namespace: Some("default".to_owned()),
        ..Default::default()
    };
    let occurrence = Occurrence {
        type_: EventType::Warning,
        reason: "Degraded".to_owned(),
        note: Some("the Deployment is not ours".to_owned()),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    let recorder = Recorder::new(client.clone(), reporter);
    recorder.publish(&occurrence, &about).await.unwrap();
    recorder.publish(&occurrence, &about).await.unwrap();
    let events: Api<Event> = Api::default_namespaced(client);
    let list = events.list(&Default::default()).await.unwrap();
    assert_eq!(list.items.len(), 1);
    assert_eq!(
        list.items[0].message.as_deref(),
        Some("the Deployment is not ours")
    );
    assert_eq!(list.items[0].series.as_ref().unwrap().count, Some(2));
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_refuse_wrong_types_and_drop_unknown_fields() {
    let server = server();
    let client = server.client("alice");
    let post = |spec: Value| {
        let client = client.clone();
        async move {
            let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec});
            let request = http::Request::post("/api/v1/namespaces/default/services")
                .body(object.to_string().into_bytes())
                .unwrap();
            client.request::<Value>(request).await
        }
    };
    let refusal = status(
        post(json!({"ports": [{"port": "eighty"}]}))
            .await
            .unwrap_err(),
    );
    assert_eq!((refusal.code, refusal.reason.as_str()), (400, "BadRequest"));
    let made = post(json!({"ports": [{"port": 80}], "nope": 1}))
        .await
        .unwrap();
    assert!(made["spec"].get("nope").is_none());
}

#[tokio::test(start_paused = true)]
async fn scale_reads_and_writes_replicas_alone() {
    let server = server();
    let api = widgets(server.client("alice"));
    api.create(&PostParams::default(), &widget("a", json!({"size": 1})))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"spec": {"replicas": 7}}));
    let scale = api
        .patch_scale("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(7));
    let stored = server.object("widgets", "default", "a").unwrap();
    assert_eq!(
        (&stored["spec"]["size"], &stored["metadata"]["generation"]),
        (&json!(7), &json!(2))
    );
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing() {
    let server = server();
    let api = widgets(server.client("alice"));
    let before = server.revision();
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let shown = api
        .create(&params, &widget("a", json!({"size": 1})))
        .await
        .unwrap();
    assert_eq!(shown.data["spec"]["color"], "red");
    assert_eq!(server.revision(), before);
}

#[tokio::test(start_paused = true)]
async fn leases_are_made_by_an_update_and_kept_namespaces_stay() {
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::Namespace;
    let server = server();
    let leases: Api<Lease> = Api::default_namespaced(server.client("alice"));
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "renewTime": "2026-11-21T05:00:00.123456Z"}});
    let lease: Lease = serde_json::from_value(lease).unwrap();
    leases
        .replace("l", &PostParams::default(), &lease)
        .await
        .unwrap();
    let stored = server.object("leases", "default", "l").unwrap();
    assert_eq!(stored["spec"]["renewTime"], "2026-11-21T05:00:00.123456Z");
    let unversioned = leases.replace("l", &PostParams::default(), &lease).await;
    assert_eq!(status(unversioned.unwrap_err()).code, 422);
    let namespaces: Api<Namespace> = Api::all(server.client("alice"));
    let kept = namespaces.delete("default", &DeleteParams::default()).await;
    assert_eq!(status(kept.unwrap_err()).code, 403);
}
