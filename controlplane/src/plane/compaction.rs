//! How a control plane forgets its history.
//!
//! Guarantees: a watch or a continue token from before is too old afterwards. kube-apiserver answers
//! from its watch cache long after its datastore was compacted, so it is started again.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;

use crate::datastore;
use crate::error::Error;
use crate::options::Datastore;
use crate::plane::ControlPlane;

/// Longest wait for kine's next compaction, which it is told to begin every second.
const KINE_WITHIN: Duration = Duration::from_secs(30);

impl ControlPlane {
    /// Compacts the datastore up to now and starts kube-apiserver again. kine's protocol has no
    /// JSON, so it is started with a compaction every second, and again without.
    ///
    /// # Errors
    /// `Request` in the datastore's words; otherwise as for [`ControlPlane::start`].
    pub async fn compact(&mut self) -> Result<(), Error> {
        match self.options.datastore {
            Datastore::Etcd => {
                self.compact_etcd().await.map_err(|cause| Error::Request {
                    what: "the compaction",
                    cause,
                })?;
                self.restart_api_server().await
            }
            Datastore::Kine => self.compact_kine().await,
        }
    }

    async fn compact_etcd(&self) -> Result<(), String> {
        let key = STANDARD.encode("/");
        let answer = self
            .request_etcd("/v3/kv/range", json!({ "key": key }))
            .await?;
        let revision = answer
            .pointer("/header/revision")
            .ok_or_else(|| format!("no revision in {answer}"))?;
        let all = json!({ "revision": revision, "physical": true });
        self.request_etcd("/v3/kv/compaction", all).await.map(drop)
    }

    /// One request to etcd's JSON gateway on its socket.
    async fn request_etcd(&self, path: &str, body: Value) -> Result<Value, String> {
        let words = |cause: &dyn std::error::Error| cause.to_string();
        let socket = datastore::socket(&self.options.dir);
        let stream = UnixStream::connect(socket).await.map_err(|e| words(&e))?;
        let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|e| words(&e))?;
        let request = http::Request::post(path)
            .header(http::header::HOST, "etcd")
            .body(Full::new(bytes::Bytes::from(body.to_string())))
            .map_err(|e| words(&e))?;
        let exchange = async {
            let answer = send.send_request(request).await.map_err(|e| words(&e))?;
            let status = answer.status();
            let body = answer.into_body().collect().await.map_err(|e| words(&e))?;
            let body = body.to_bytes();
            if !status.is_success() {
                return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
            }
            serde_json::from_slice(&body).map_err(|e| words(&e))
        };
        tokio::select! {
            answer = exchange => answer,
            ended = connection => Err(format!("the connection ended: {ended:?}")),
        }
    }

    async fn compact_kine(&mut self) -> Result<(), Error> {
        self.stop_api_server().await?;
        let eager = [
            "--compact-interval=1s",
            "--compact-interval-jitter=0",
            // The newest row has to stay: were it a deletion, kine would forget it and count anew from
            // a revision below the one it has compacted to, where no watch can begin.
            "--compact-min-retain=1",
        ];
        let log = self.datastore.log.clone();
        let before = compactions(&log);
        self.restart_datastore(&eager).await?;
        let compacted = || {
            let now = compactions(&log);
            async move {
                if now > before {
                    Ok(())
                } else {
                    Err("no compaction yet".to_owned())
                }
            }
        };
        self.datastore.until(KINE_WITHIN, compacted).await?;
        self.restart_datastore(&[]).await?;
        self.start_api_server().await
    }
}

/// How many compactions kine has logged as done.
fn compactions(log: &std::path::Path) -> usize {
    let text = std::fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter(|line| line.contains("COMPACT compacted from"))
        .count()
}
