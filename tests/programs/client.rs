//! The client end to end: kubeconfig, TLS and token against the simulated API server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kubesim::{Options, Server, Tls};
use tare::edgeapp::CRD_YAML;
use tare_runtime::http::client;
use tare_runtime::internals::{Api, Request};
use tare_runtime::metrics::{Metrics, Verb};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A server over TLS with one EdgeApp, and a folder for kubeconfigs.
struct Cluster {
    server: Server,
    port: u16,
    ca: String,
    folder: PathBuf,
}

impl Cluster {
    async fn start(name: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let server = Server::new(Options::default());
        server.install(CRD_YAML)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let tls = Tls::generate()?;
        let ca = tls.ca_pem().to_owned();
        tokio::spawn(server.clone().serve(listener, tls, std::future::pending()));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("client-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            server,
            port,
            ca,
            folder,
        })
    }

    fn write(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        let path = self.folder.join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// How many EdgeApps a client of this kubeconfig sees; cluster and user as in a flow mapping.
    /// `$PORT`, `$CA` and `$TOKEN` stand for what they say.
    async fn list(&self, cluster: &str, user: &str) -> Result<usize, String> {
        let text = format!(
            "apiVersion: v1\nkind: Config\npreferences: {{}}\ncurrent-context: x\n\
             clusters:\n- cluster: {{{cluster}}}\n  name: c\n\
             contexts:\n- context:\n    cluster: c\n    namespace: shop\n    user: u\n  name: x\n\
             users:\n- name: u\n  user: {{{user}}}\n"
        );
        let text = text
            .replace("$PORT", &self.port.to_string())
            .replace("$CA", &STANDARD.encode(&self.ca))
            .replace("$TOKEN", &self.server.token("ada"));
        let file = self
            .write("config", &text)
            .map_err(|error| error.to_string())?;
        list(&file).await
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// How many EdgeApps the client of a kubeconfig sees.
async fn list(kubeconfig: &Path) -> Result<usize, String> {
    let config = client::from_files(&[kubeconfig.to_owned()], None).map_err(|e| e.to_string())?;
    let client = client::build(&config).map_err(|e| e.to_string())?;
    let api = Api::new(client, Arc::<Metrics>::default(), Duration::from_secs(10));
    let path = "/apis/tare.dev/v1alpha1/namespaces/default/edgeapps";
    let answer = api
        .call(Verb::List, Request::get(path), 1 << 20)
        .await
        .map_err(|error| error.to_string())?;
    let list: serde_json::Value = serde_json::from_slice(&answer).map_err(|e| e.to_string())?;
    Ok(list["items"].as_array().map_or(0, Vec::len))
}

/// The kubelet replaces a token before it expires; one that was revoked is refused earlier. Reads and writes are sent
/// once more with the token that is in the file.
#[tokio::test]
async fn a_token_that_is_refused_is_read_again_and_the_request_repeated() -> Outcome {
    let cluster = Cluster::start("refused").await?;
    let kubeconfig = cluster.write(
        "config",
        &kubesim::kubeconfig(
            &format!("https://127.0.0.1:{}", cluster.port),
            &cluster.ca,
            "ada",
            "unused",
        )
        .replace("token: \"unused\"", "tokenFile: token"),
    )?;
    let file = cluster.write("token", "revoked")?;
    let config = client::from_files(&[kubeconfig], None)?;
    let metrics = Arc::<Metrics>::default();
    let api = Api::new(
        client::build(&config)?,
        Arc::clone(&metrics),
        Duration::from_secs(10),
    );
    let path = "/api/v1/namespaces/default/configmaps";
    let list = || api.call(Verb::List, Request::get(path), 1 << 20);
    let refused = list().await.expect_err("the token is wrong");
    assert_eq!(refused.code(), Some(401));
    assert_eq!(
        metrics.requests(Verb::List),
        1,
        "the file has no other token"
    );

    std::fs::write(&file, cluster.server.token("ada"))?;
    let body = br#"{"metadata":{"name":"a"}}"#.to_vec();
    let create = Request {
        method: http::Method::POST,
        body: Some(("application/json", body)),
        ..Request::get(path)
    };
    api.call(Verb::Create, create, 1 << 20).await?;
    assert_eq!(metrics.requests(Verb::Create), 2, "sent once more");
    assert!(
        cluster
            .server
            .object("configmaps", "default", "a")
            .is_some()
    );
    list().await?;
    assert_eq!(metrics.requests(Verb::List), 2);

    std::fs::write(&file, "revoked")?;
    list().await?;
    assert_eq!(metrics.requests(Verb::List), 3, "the token is still known");
    Ok(())
}

#[tokio::test]
async fn edgeapps_are_listed_with_every_kind_of_kubeconfig() -> Outcome {
    let cluster = Cluster::start("list").await?;
    cluster.write("ca.crt", &cluster.ca)?;
    cluster.write("token", &format!("{}\n", cluster.server.token("ada")))?;
    let data = "server: 'https://127.0.0.1:$PORT', certificate-authority-data: $CA";
    let cases = [
        ("CA from data", data, "token: $TOKEN"),
        (
            "CA from a file beside it",
            "server: 'https://127.0.0.1:$PORT', certificate-authority: ca.crt",
            "token: $TOKEN",
        ),
        ("token file", data, "tokenFile: token"),
        (
            "a host name and a slash",
            "server: 'https://localhost:$PORT/', certificate-authority-data: $CA",
            "token: $TOKEN",
        ),
        (
            "another name in the certificate",
            "server: 'https://127.0.0.1:$PORT', tls-server-name: localhost, certificate-authority-data: $CA",
            "token: $TOKEN",
        ),
        (
            "insecure",
            "server: 'https://127.0.0.1:$PORT', insecure-skip-tls-verify: true",
            "token: $TOKEN",
        ),
    ];
    for (name, at, user) in cases {
        assert_eq!(cluster.list(at, user).await, Ok(0), "{name}");
    }
    let asked = cluster.server.requests().count("ada", "list", "edgeapps");
    assert_eq!(asked, cases.len() as u64);

    let json = serde_json::json!({
        "kind": "Config",
        "apiVersion": "v1",
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{}", cluster.port),
            "certificate-authority-data": STANDARD.encode(&cluster.ca),
        }}],
        "users": [{"name": "u", "user": {"token": cluster.server.token("ada")}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    });
    for text in [json.to_string(), serde_json::to_string_pretty(&json)?] {
        assert_eq!(list(&cluster.write("json", &text)?).await, Ok(0), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn who_is_not_trusted_is_named_with_the_way_out() -> Outcome {
    let cluster = Cluster::start("refuse").await?;
    let stranger = STANDARD.encode(Tls::generate()?.ca_pem());
    cluster.write("stranger.crt", Tls::generate()?.ca_pem())?;
    let at = |rest: &str| format!("server: 'https://127.0.0.1:$PORT', {rest}");
    let not_ours =
        "the certificate authority of the kubeconfig or service account is not the server's";
    let cases = [
        (
            at(&format!("certificate-authority-data: {stranger}")),
            "token: $TOKEN",
            not_ours,
        ),
        (
            at("certificate-authority: stranger.crt"),
            "token: $TOKEN",
            not_ours,
        ),
        (
            at("certificate-authority-data: $CA, tls-server-name: example.org"),
            "token: $TOKEN",
            "example.org",
        ),
        (
            at("certificate-authority-data: $CA"),
            "token: wrong",
            "(Unauthorized, 401)",
        ),
    ];
    for (at, user, want) in cases {
        let error = cluster.list(&at, user).await.expect_err(want);
        assert!(error.contains(want), "{error}");
        assert!(!error.contains(&cluster.server.token("ada")), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_is_not_sent_in_the_clear() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let proxy = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await?;
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"items\":[]}";
        stream.write_all(answer.as_bytes()).await?;
        request.truncate(length);
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&request).into_owned())
    });
    let cluster = Cluster::start("plain").await?;
    let at = format!("server: 'http://127.0.0.1:{port}/k8s/c'");
    assert_eq!(cluster.list(&at, "token: $TOKEN").await, Ok(0));
    let request = proxy.await??.to_ascii_lowercase();
    assert!(
        request.starts_with("get /k8s/c/apis/tare.dev/v1alpha1/"),
        "{request}"
    );
    assert!(!request.contains("authorization"), "{request}");
    Ok(())
}
