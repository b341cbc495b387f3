//! The server over HTTPS on loopback.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubesim::{Options, RequestFault, Server, Tls, kubeconfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

async fn client(url: &str, ca: &str, user: &str, token: &str) -> kube::Client {
    let text = kubeconfig(url, ca, user, token);
    let parsed = Kubeconfig::from_yaml(&text).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

#[tokio::test]
async fn tokens_name_users_and_shutdown_waits() {
    let server = Server::new(Options::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let tls = Tls::generate().unwrap();
    let ca = tls.ca_pem().to_owned();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.clone().serve(listener, tls, async move {
        let _ = stopped.await;
    }));

    let alice = client(&url, &ca, "alice", &server.token("alice")).await;
    let api: Api<ConfigMap> = Api::default_namespaced(alice.clone());
    let object = serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(server.requests().count("alice", "create", "configmaps"), 1);
    assert!(
        alice
            .apiserver_version()
            .await
            .unwrap()
            .git_version
            .ends_with("-kubesim")
    );

    let stranger = client(&url, &ca, "eve", "wrong").await;
    let refusal = Api::<ConfigMap>::default_namespaced(stranger)
        .list(&ListParams::default())
        .await;
    assert!(matches!(refusal, Err(kube::Error::Api(status)) if status.code == 401));

    server.faults().on_request(|facts| match facts.verb {
        "create" => RequestFault::AfterDrop,
        _ => RequestFault::Pass,
    });
    let object = serde_json::from_value(serde_json::json!({"metadata": {"name": "b"}})).unwrap();
    assert!(api.create(&PostParams::default(), &object).await.is_err());
    assert!(
        server.object("configmaps", "default", "b").is_some(),
        "executed all the same"
    );

    let admin = client(&url, &ca, "admin", &server.token("admin")).await;
    let get = http::Request::get("/kubesim/requests")
        .body(Vec::new())
        .unwrap();
    let requests: kubesim::RequestCounts = admin.request(get).await.unwrap();
    assert_eq!(requests.count("alice", "create", "configmaps"), 2);

    let _watch = api
        .watch(&kube::api::WatchParams::default(), "0")
        .await
        .unwrap();
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}
