//! Garbage collection, namespaces and CustomResourceDefinitions on the server.

use std::pin::pin;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kubesim::{Options, Server};
use serde_json::json;

fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(server.client("alice"))
}

async fn make(api: &Api<ConfigMap>, name: &str, owners: &[(&str, &str)]) -> ConfigMap {
    let owners: Vec<_> = owners
        .iter()
        .map(|(name, uid)| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
        })
        .collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
    api.create(
        &PostParams::default(),
        &serde_json::from_value(object).unwrap(),
    )
    .await
    .unwrap()
}

/// Lets the collector work; time is paused, so this costs none.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

fn has(server: &Server, name: &str) -> bool {
    server.object("configmaps", "default", name).is_some()
}

fn policy(propagation_policy: PropagationPolicy) -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(propagation_policy),
        ..DeleteParams::default()
    }
}

#[tokio::test(start_paused = true)]
async fn children_go_with_their_last_owner_and_by_uid() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    let (a, b) = (make(&api, "a", &[]).await, make(&api, "b", &[]).await);
    let (a, b) = (a.metadata.uid.unwrap(), b.metadata.uid.unwrap());
    make(&api, "of-a", &[("a", &a)]).await;
    make(&api, "of-both", &[("a", &a), ("b", &b)]).await;
    make(
        &api,
        "of-nobody",
        &[("a", "00000000-0000-4000-8000-000000000000")],
    )
    .await;
    settle().await;
    assert!(
        !has(&server, "of-nobody"),
        "an owner of that name but another uid is no owner"
    );
    api.delete("a", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert!(!has(&server, "of-a"));
    let both = server.object("configmaps", "default", "of-both").unwrap();
    assert_eq!(
        both["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    api.delete("b", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert!(!has(&server, "of-both"));
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_waits_for_blocking_children() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    let owner = make(&api, "owner", &[]).await.metadata.uid.unwrap();
    make(&api, "child", &[("owner", &owner)]).await;
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["example.dev/hold"]}}));
    api.patch("child", &PatchParams::default(), &hold)
        .await
        .unwrap();
    api.delete("owner", &policy(PropagationPolicy::Foreground))
        .await
        .unwrap();
    settle().await;
    assert!(has(&server, "owner"), "its child is held");
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("child", &PatchParams::default(), &free)
        .await
        .unwrap();
    settle().await;
    assert!(!has(&server, "child") && !has(&server, "owner"));
}

#[tokio::test(start_paused = true)]
async fn orphaned_children_stay_without_the_reference() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    let owner = make(&api, "owner", &[]).await.metadata.uid.unwrap();
    make(&api, "child", &[("owner", &owner)]).await;
    api.delete("owner", &policy(PropagationPolicy::Orphan))
        .await
        .unwrap();
    settle().await;
    assert!(!has(&server, "owner"));
    let child = server.object("configmaps", "default", "child").unwrap();
    assert!(child["metadata"].get("ownerReferences").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_takes_nothing_new_and_is_emptied() {
    let server = Server::new(Options::default());
    let namespaces: Api<Namespace> = Api::all(server.client("alice"));
    let shop = serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &shop)
        .await
        .unwrap();
    let api: Api<ConfigMap> = Api::namespaced(server.client("alice"), "shop");
    make(&api, "a", &[]).await;
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["example.dev/hold"]}}));
    api.patch("a", &PatchParams::default(), &hold)
        .await
        .unwrap();
    namespaces
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    settle().await;
    let late: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "late"}})).unwrap();
    match api.create(&PostParams::default(), &late).await.unwrap_err() {
        kube::Error::Api(status) => {
            assert_eq!(status.code, 403);
            assert_eq!(
                status.details.unwrap().causes[0].reason,
                "NamespaceTerminating"
            );
        }
        other => panic!("{other}"),
    }
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("a", &PatchParams::default(), &free)
        .await
        .unwrap();
    settle().await;
    assert!(server.object("namespaces", "", "shop").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_definition_takes_its_objects_and_its_path() {
    let server = Server::new(Options::default());
    server.install(crate::fixtures::WIDGETS).unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(server.client("alice"));
    let crd = crds.get("widgets.example.dev").await.unwrap();
    let conditions = crd.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|c| c.type_ == "Established" && c.status == "True")
    );
    let path = "/apis/example.dev/v1/namespaces/default/widgets";
    let get = || http::Request::get(path).body(Vec::new()).unwrap();
    let client = server.client("alice");
    client.request::<serde_json::Value>(get()).await.unwrap();
    crds.delete("widgets.example.dev", &DeleteParams::default())
        .await
        .unwrap();
    assert!(client.request::<serde_json::Value>(get()).await.is_err());
    let found = kube::discovery::Discovery::new(client).run().await.unwrap();
    assert!(!found.groups().any(|group| group.name() == "example.dev"));
    assert!(found.groups().any(|group| group.name() == "apps"));
}

/// What became of the objects of the earlier definition is not known.
#[tokio::test(start_paused = true)]
async fn a_watch_from_before_a_definition_was_installed_again_is_too_old() {
    let server = crate::fixtures::server();
    let client = server.client("alice");
    let path = "/apis/example.dev/v1/namespaces/default/widgets";
    let request = |query: &str| {
        let uri = format!("{path}?{query}");
        http::Request::get(uri).body(Vec::new()).unwrap()
    };
    let list: serde_json::Value = client.request(request("")).await.unwrap();
    let from = list["metadata"]["resourceVersion"].as_str().unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.delete("widgets.example.dev", &DeleteParams::default())
        .await
        .unwrap();
    server.install(crate::fixtures::WIDGETS).unwrap();
    let query = format!("watch=true&resourceVersion={from}");
    let stream = client.request_stream(request(&query)).await.unwrap();
    let line = pin!(stream.lines()).next().await.unwrap().unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
}
