//! Logs of Pods on the server: what is kept, what is refused, how it is sent.

use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubesim::{Options, Server, Tls, kubeconfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

async fn create(pods: &Api<Pod>, name: &str, node: Option<&str>) {
    let pod = json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "app", "image": "app:1"}]},
    });
    let pod = serde_json::from_value(pod).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn lines_that_nobody_can_have_written_are_refused() {
    let server = Server::new(Options::default());
    let pods: Api<Pod> = Api::default_namespaced(server.client("user"));
    create(&pods, "web", Some("node1")).await;
    create(&pods, "waiting", None).await;
    let cases = [
        ("nobody", "app", "x", "no such Pod"),
        ("web", "db", "x", "container db is not valid for pod web"),
        ("waiting", "app", "x", "nothing runs before spec.nodeName"),
        ("web", "app", "x\ny", "one line at a time"),
    ];
    for (pod, container, line, want) in cases {
        let refused = server.log_line("default", pod, container, line);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(want), "{pod} {container}: {error}");
    }
    server.log_line("default", "web", "app", "x").unwrap();
    assert_eq!(
        pods.logs("web", &LogParams::default()).await.unwrap(),
        "x\n"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_implemented_is_named() {
    let server = Server::new(Options::default());
    let client = server.client("user");
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    create(&pods, "web", Some("node1")).await;
    let names = [
        "previous=true",
        "timestamps=true",
        "sinceSeconds=5",
        "sinceTime=2026-01-01T00:00:00Z",
        "limitBytes=5",
        "stream=Stderr",
    ];
    let ask = async |query: &str| {
        let path = format!("/api/v1/namespaces/default/pods/web/log?{query}");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(request).await
    };
    for query in names {
        let name = query.split('=').next().unwrap();
        match ask(query).await {
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 501, "{query}");
                let want = format!("does not implement {name} of pods/log");
                assert!(status.message.contains(&want), "{}", status.message);
            }
            other => panic!("{query}: {other:?}"),
        }
    }
    assert_eq!(
        ask("previous=false&stream=All&follow=false").await.unwrap(),
        ""
    );
}

#[tokio::test(start_paused = true)]
async fn the_oldest_lines_go_first() {
    let server = Server::new(Options::default());
    let pods: Api<Pod> = Api::default_namespaced(server.client("user"));
    create(&pods, "web", Some("node1")).await;
    let mib = "x".repeat(1024 * 1024 - 3);
    for i in 0..12 {
        let line = format!("{i:02}{mib}");
        server.log_line("default", "web", "app", &line).unwrap();
    }
    let log = pods.logs("web", &LogParams::default()).await.unwrap();
    assert_eq!((log.len(), &log[..3]), (10 * 1024 * 1024, "02x"));
}

#[tokio::test]
async fn lines_arrive_as_they_are_written_and_a_server_that_goes_ends_them() {
    let server = Server::new(Options::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let tls = Tls::generate().unwrap();
    let text = kubeconfig(&url, tls.ca_pem(), "user", &server.token("user"));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.clone().serve(listener, tls, async move {
        let _ = stopped.await;
    }));
    let file = Kubeconfig::from_yaml(&text).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let client = kube::Client::try_from(config.unwrap()).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client);
    create(&pods, "web", Some("node1")).await;
    let follow = LogParams {
        follow: true,
        ..LogParams::default()
    };
    let mut lines = pods.log_stream("web", &follow).await.unwrap().lines();
    for line in ["one", "two", "three"] {
        server.log_line("default", "web", "app", line).unwrap();
        // Not before the next is written, nor with it.
        assert_eq!(lines.try_next().await.unwrap().as_deref(), Some(line));
    }
    stop.send(()).unwrap();
    assert_eq!(lines.try_next().await.unwrap(), None);
    serving.await.unwrap().unwrap();
}
