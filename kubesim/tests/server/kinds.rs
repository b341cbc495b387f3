//! What is particular to the built-in kinds: defaults, readiness, addresses, events, leases.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubesim::{Options, Server};
use serde_json::{Value, json};

use crate::fixtures::{deployment, server, status};

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
async fn a_deployment_whose_pods_fail_loses_its_readiness_for_so_long() {
    use std::time::Duration;
    let server = server();
    let api: Api<Deployment> = Api::default_namespaced(server.client("alice"));
    let made = deployment("web");
    api.create(&PostParams::default(), &made).await.unwrap();
    let second = || tokio::time::sleep(Duration::from_secs(1));
    let ready = || {
        let web = server.object("deployments", "default", "web").unwrap();
        let observed = &web["status"]["observedGeneration"];
        assert_eq!(*observed, web["metadata"]["generation"]);
        web["status"]["readyReplicas"].as_i64()
    };
    second().await;
    assert_eq!(ready(), Some(2));

    let fails = || server.fail_pods("default", "web", Duration::from_millis(1_500));
    assert!(fails());
    second().await;
    assert_eq!(ready(), None);
    // A new spec changes nothing about that, and they fail once more.
    let more = Patch::Merge(json!({"spec": {"replicas": 3}}));
    let params = PatchParams::default();
    api.patch("web", &params, &more).await.unwrap();
    assert!(fails());
    second().await;
    assert_eq!(ready(), None);
    second().await;
    assert_eq!(ready(), Some(3));
    assert!(!server.fail_pods("default", "other", Duration::ZERO));
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
