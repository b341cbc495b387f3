//! Watches and lists of the server: nothing missed, one revision per list, 410s.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kubesim::{Options, Server, WatchFault};
use serde_json::{Value, json};

fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(server.client("alice"))
}

async fn make(api: &Api<ConfigMap>, name: &str, label: &str) -> ConfigMap {
    let object = json!({"metadata": {"name": name, "labels": {"app": label}}, "data": {"k": "v"}});
    api.create(
        &PostParams::default(),
        &serde_json::from_value(object).unwrap(),
    )
    .await
    .unwrap()
}

/// Raw lines, so that bookmarks and errors are seen as they are sent.
async fn lines(server: &Server, query: &str) -> impl futures::Stream<Item = Value> + use<> {
    let path = format!("/api/v1/namespaces/default/configmaps?watch=true&{query}");
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let stream = server.client("bob").request_stream(request).await.unwrap();
    stream
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

fn brief(event: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    (
        text(&event["type"]),
        text(&event["object"]["metadata"]["name"]),
    )
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_list_misses_nothing() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    make(&api, "before", "x").await;
    let list = api.list(&ListParams::default()).await.unwrap();
    let from = list.metadata.resource_version.unwrap();
    // Written before the watch opens, and after.
    for n in 0..500 {
        make(&api, &format!("early-{n:03}"), "x").await;
    }
    let mut watch = pin!(api.watch(&WatchParams::default(), &from).await.unwrap());
    let writer = tokio::spawn({
        let api = api.clone();
        async move {
            for n in 0..500 {
                make(&api, &format!("late-{n:03}"), "x").await;
            }
            api.delete("before", &DeleteParams::default())
                .await
                .unwrap();
        }
    });
    let mut seen = BTreeMap::new();
    while let Some(event) = watch.try_next().await.unwrap() {
        match event {
            WatchEvent::Added(object) => {
                *seen.entry(object.metadata.name.unwrap()).or_insert(0) += 1;
            }
            WatchEvent::Deleted(object) => {
                assert_eq!(object.metadata.name.as_deref(), Some("before"));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    writer.await.unwrap();
    assert_eq!(seen.len(), 1_000);
    assert!(seen.values().all(|times| *times == 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_label_arrives_as_deleted_and_a_gained_one_as_added() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    make(&api, "a", "mine").await;
    let watch = lines(&server, "labelSelector=app%3Dmine&resourceVersion=0").await;
    let mut watch = pin!(watch);
    let label = |value: &str| Patch::Merge(json!({"metadata": {"labels": {"app": value}}}));
    api.patch("a", &PatchParams::default(), &label("other"))
        .await
        .unwrap();
    make(&api, "b", "other").await;
    let back = api
        .patch("a", &PatchParams::default(), &label("mine"))
        .await
        .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(watch.next().await.unwrap());
    }
    let kinds: Vec<_> = seen.iter().map(brief).collect();
    let want =
        ["ADDED", "DELETED", "ADDED", "DELETED"].map(|kind| (kind.to_owned(), "a".to_owned()));
    assert_eq!(kinds, want);
    let last_version = seen[2]["object"]["metadata"]["resourceVersion"].as_str();
    assert_eq!(last_version, back.metadata.resource_version.as_deref());
}

#[tokio::test(start_paused = true)]
async fn pages_show_the_revision_of_the_first_under_writes() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    for n in 0..100 {
        make(&api, &format!("c-{n:03}"), "x").await;
    }
    let mut params = ListParams::default().limit(10);
    let mut names = Vec::new();
    let mut revision = None;
    for page in 0.. {
        let list = api.list(&params).await.unwrap();
        if page == 0 {
            assert_eq!(list.metadata.remaining_item_count, Some(90));
        }
        let this = list.metadata.resource_version.clone();
        assert_eq!(*revision.get_or_insert_with(|| this.clone()), this);
        names.extend(list.items.into_iter().filter_map(|c| c.metadata.name));
        // Behind, ahead and at the cursor: none of it may show.
        make(&api, &format!("a-new-{page}"), "x").await;
        make(&api, &format!("z-new-{page}"), "x").await;
        api.delete(&format!("c-{:03}", 99 - page), &DeleteParams::default())
            .await
            .unwrap();
        let touch = Patch::Merge(json!({"data": {"k": "changed"}}));
        api.patch("c-050", &PatchParams::default(), &touch)
            .await
            .unwrap();
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = ListParams::default().limit(10).continue_token(&token),
            None => break,
        }
    }
    let want: Vec<String> = (0..100).map(|n| format!("c-{n:03}")).collect();
    assert_eq!(names, want);
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_gives_one_that_works() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    for n in 0..6 {
        make(&api, &format!("c-{n}"), "x").await;
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    make(&api, "z", "x").await;
    server.compact();
    let token = first.metadata.continue_.unwrap();
    let path = format!("/api/v1/namespaces/default/configmaps?limit=100&continue={token}");
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let refusal = match server
        .client("alice")
        .request::<Value>(request)
        .await
        .unwrap_err()
    {
        kube::Error::Api(status) => status,
        other => panic!("{other}"),
    };
    assert_eq!((refusal.code, refusal.reason.as_str()), (410, "Expired"));
    let fresh = refusal.metadata.unwrap().continue_.unwrap();
    let rest = api
        .list(&ListParams::default().limit(100).continue_token(&fresh))
        .await
        .unwrap();
    let names: Vec<_> = rest
        .items
        .into_iter()
        .filter_map(|c| c.metadata.name)
        .collect();
    assert_eq!(names, ["c-2", "c-3", "c-4", "c-5", "z"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_forgotten_revision_is_told_410_in_the_stream() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    let first = make(&api, "a", "x")
        .await
        .metadata
        .resource_version
        .unwrap();
    make(&api, "b", "x").await;
    server.compact();
    let watch = lines(&server, &format!("resourceVersion={first}")).await;
    let mut watch = pin!(watch);
    let error = watch.next().await.unwrap();
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_on_time_and_initial_events_end_with_one() {
    let server = Server::new(Options {
        bookmark_every: Duration::from_secs(10),
        ..Options::default()
    });
    let api = config_maps(&server);
    make(&api, "a", "x").await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=15";
    let watch = lines(&server, query).await;
    let seen: Vec<Value> = watch.collect().await;
    assert_eq!(brief(&seen[0]), ("ADDED".to_owned(), "a".to_owned()));
    assert_eq!(
        seen[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(seen[2]["type"], "BOOKMARK");
    assert_eq!(
        seen[2]["object"]["metadata"],
        json!({"resourceVersion": server.revision().to_string()})
    );
    // At 10 s, and 2 s before the timeout.
    assert_eq!(seen[3]["type"], "BOOKMARK");
    assert_eq!(seen.len(), 4, "then the timeout");
}

#[tokio::test(start_paused = true)]
async fn watch_faults_do_what_they_say() {
    for (fault, want) in [
        (WatchFault::Drop, vec!["a", "c"]),
        (WatchFault::Close, vec!["a"]),
        (WatchFault::Error410, vec!["a", "ERROR"]),
        (WatchFault::Garbage, vec!["a", "b", "c"]),
    ] {
        let server = Server::new(Options::default());
        let shown = fault.clone();
        server.faults().on_watch(move |facts| {
            if facts.name == "b" {
                fault.clone()
            } else {
                WatchFault::Pass
            }
        });
        let api = config_maps(&server);
        for name in ["a", "b", "c"] {
            make(&api, name, "x").await;
        }
        let watch = lines(&server, "resourceVersion=0&timeoutSeconds=5").await;
        let seen: Vec<String> = watch
            .map(|event| match brief(&event) {
                (kind, _) if kind == "ERROR" => kind,
                (_, name) => name,
            })
            .collect()
            .await;
        assert_eq!(seen, want, "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_only_is_metadata_only() {
    let server = Server::new(Options::default());
    make(&config_maps(&server), "a", "x").await;
    let list = config_maps(&server)
        .list_metadata(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(list.items[0].metadata.name.as_deref(), Some("a"));
    let one = config_maps(&server).get_metadata("a").await.unwrap();
    assert!(one.metadata.managed_fields.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_set_back_to_a_backup_starts_its_revisions_over() {
    let server = Server::new(Options::default());
    let api = config_maps(&server);
    make(&api, "kept", "x").await;
    let backup = server.backup();
    let revision = server.revision();
    make(&api, "lost", "x").await;
    api.delete("kept", &DeleteParams::default()).await.unwrap();
    let from = format!("resourceVersion={}", server.revision());
    let mut open = pin!(lines(&server, &from).await);

    server.restore(&backup);
    assert_eq!(open.next().await, None, "every watch ends");
    assert_eq!(server.revision(), revision);
    let names: Vec<_> = server.objects("configmaps");
    assert_eq!(names.len(), 1);
    assert_eq!(names[0]["metadata"]["name"], "kept");
    let from = format!("resourceVersion={revision}");
    let mut watch = pin!(lines(&server, &from).await);
    make(&api, "later", "x").await;
    let event = watch.next().await.unwrap();
    assert_eq!(brief(&event), ("ADDED".to_owned(), "later".to_owned()));
}
