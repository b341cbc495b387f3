//! Verbs on single objects, through a kube client in process.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};

use crate::fixtures::{server, status, widget, widgets};

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

    let requests = server.requests();
    assert_eq!(requests.count("alice", "create", "widgets"), 2);
    assert_eq!(requests.count("alice", "update", "widgets"), 2);
    assert_eq!(requests.writes("alice"), 6);
    assert_eq!(requests.reads("alice"), 1);
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
            "Widget.example.dev \"w\" is invalid: [spec.size: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
        ),
        (
            json!({"size": "x"}),
            "Widget.example.dev \"w\" is invalid: [spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\", .spec.size: Invalid value: 0: .spec.size accessor error: x is of the type string, expected int64, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
        ),
        (
            json!({"size": 1, "color": "pink"}),
            "Widget.example.dev \"w\" is invalid: [spec.color: Unsupported value: \"pink\": supported values: \"red\", \"green\", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
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
    let controllers = code("/api/v1/namespaces/default/replicationcontrollers").await;
    assert_eq!(controllers.code, 501);
    assert!(controllers.message.contains("replicationcontrollers"));
    assert_eq!(code("/apis/none.dev/v1/things").await.code, 404);
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
