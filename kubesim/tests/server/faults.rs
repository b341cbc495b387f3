//! Faults of the server, and what it does to a watch that stalls by itself.

use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use kubesim::{Options, RequestFault, Server};
use serde_json::json;
use tokio::time::{Instant, timeout};

fn named(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn requests_hang_wait_or_are_refused_as_told() {
    let server = Server::new(Options::default());
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("alice"));
    server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.nth) {
            ("alice", "create", 0) => RequestFault::Hang,
            ("alice", "create", 1) => RequestFault::Delay(Duration::from_secs(7)),
            ("alice", "create", 2) => RequestFault::Status {
                code: 429,
                reason: "TooManyRequests".to_owned(),
                message: "slow down".to_owned(),
                retry_after_s: Some(3),
            },
            _ => RequestFault::Pass,
        });
    let create = || async { api.create(&PostParams::default(), &named("a")).await };
    assert!(timeout(Duration::from_secs(3_600), create()).await.is_err());
    let start = Instant::now();
    create().await.unwrap();
    assert!((7..=8).contains(&start.elapsed().as_secs()));
    match create().await.unwrap_err() {
        kube::Error::Api(status) => {
            assert_eq!((status.code, status.message.as_str()), (429, "slow down"));
            assert_eq!(status.details.unwrap().retry_after_seconds, 3);
        }
        other => panic!("{other}"),
    }
    assert_eq!(server.requests().count("alice", "create", "configmaps"), 3);
    server.faults().clear();
    api.create(&PostParams::default(), &named("b"))
        .await
        .unwrap();
}

/// As an administrator's `Forbidden` would; another user may.
#[tokio::test(start_paused = true)]
async fn a_review_says_what_a_fault_would_refuse_and_makes_no_request() {
    let server = Server::new(Options::default());
    server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("alice", "create", "configmaps") => RequestFault::Status {
                code: 403,
                reason: "Forbidden".to_owned(),
                message: "configmaps is forbidden: User \"alice\" cannot create it".to_owned(),
                retry_after_s: None,
            },
            ("alice", "delete", "configmaps") => RequestFault::Hang,
            _ => RequestFault::Pass,
        });
    for (user, verb, want) in [
        ("alice", "create", false),
        ("alice", "list", true),
        ("alice", "delete", true),
        ("bob", "create", true),
    ] {
        let reviews: Api<SelfSubjectAccessReview> = Api::all(server.client(user));
        let review = serde_json::from_value(json!({"spec": {"resourceAttributes": {
            "verb": verb, "resource": "configmaps", "namespace": "default"}}}));
        let params = PostParams::default();
        let answer = reviews.create(&params, &review.unwrap()).await;
        let status = answer.unwrap().status.unwrap();
        assert_eq!(status.allowed, want, "{user} {verb}");
        let says = status.reason.unwrap_or_default();
        assert_eq!(says.contains("cannot create it"), !want, "{says}");
        assert_eq!(server.requests().count(user, verb, "configmaps"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_not_read_is_closed() {
    let server = Server::new(Options::default());
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("alice"));
    let mut watch = pin!(api.watch(&WatchParams::default(), "0").await.unwrap());
    api.create(&PostParams::default(), &named("first"))
        .await
        .unwrap();
    assert!(matches!(
        watch.try_next().await.unwrap(),
        Some(WatchEvent::Added(_))
    ));
    for n in 0..10_500 {
        api.create(&PostParams::default(), &named(&format!("n-{n:05}")))
            .await
            .unwrap();
    }
    let mut seen = 0;
    while watch.try_next().await.unwrap().is_some() {
        seen += 1;
    }
    assert!(seen < 10_500, "{seen} events, then the end");
}

#[tokio::test(start_paused = true)]
async fn the_server_goes_with_its_last_handle() {
    let server = Server::new(Options::default());
    let client = server.client("alice");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &named("a"))
        .await
        .unwrap();
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    assert!(tasks() > 0);
    drop(api);
    drop(server);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tasks(), 0, "no task outlives it");
}
