//! External secrets: the value behind a key of an HTTP backend, as a Secret that is refreshed at an interval of its own.
//!
//! The backend is asked `--per-s` times a second at most, however many objects there are, and about an object again after
//! the `Retry-After` of its answer. A Secret that is as the backend says costs one read; one that was deleted is made again.
//!
//! `cargo run --example external_secrets -- run --install-crd --backend 127.0.0.1:8200`, and in another terminal
//! `kubectl apply -f examples/external_secrets/sample.yaml && kubectl get secret hello -o yaml`

use std::{net::SocketAddr, sync::Arc};

use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::{Client as Http, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt, runtime::watcher::Config};
use tare_runtime::app::cli;
use tare_runtime::free::{Action, Controller};
use tare_runtime::prelude::*;
use tokio::sync::Mutex;
use tokio::time::{Interval, MissedTickBehavior, interval};

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "ExternalSecret")]
#[kube(namespaced, status = "ExternalSecretStatus")]
#[serde(rename_all = "camelCase")]
pub struct ExternalSecretSpec {
    /// The value is what the backend answers to `GET /KEY`.
    pub key: String,
    /// How old the value of the Secret may be.
    pub refresh_s: u64,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub struct ExternalSecretStatus {
    pub observed_generation: Option<i64>,
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the backend cannot be asked: {0}")]
    Unreachable(#[from] Cause),
    #[error("the backend answers {0}")]
    Refused(http::StatusCode),
    #[error("the backend is to be asked again in {0:?}")]
    Later(Duration),
    #[error(transparent)]
    Api(#[from] kube::Error),
}

pub struct Backend {
    address: SocketAddr,
    http: Http<HttpConnector, Empty<bytes::Bytes>>,
    turns: Mutex<Interval>,
}

impl Backend {
    pub fn new(address: SocketAddr, per_s: u32) -> Self {
        let mut turns = interval(Duration::from_secs(1) / per_s.max(1));
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            address,
            http: Http::builder(TokioExecutor::new()).build_http(),
            turns: Mutex::new(turns),
        }
    }

    async fn value(&self, key: &str) -> Result<ByteString, Error> {
        self.turns.lock().await.tick().await;
        let uri = format!("http://{}/{key}", self.address).parse();
        let asked = self.http.get(uri.map_err(Cause::from)?);
        let answer = asked.await.map_err(Cause::from)?;
        let after = answer.headers().get("retry-after");
        let after_s = after.and_then(|after| after.to_str().ok()?.parse().ok());
        match (answer.status().as_u16(), after_s) {
            (200, _) => {
                let body = Limited::new(answer.into_body(), 1 << 20).collect();
                Ok(ByteString(body.await?.to_bytes().to_vec()))
            }
            (429 | 503, Some(after_s)) => Err(Error::Later(Duration::from_secs(after_s))),
            _ => Err(Error::Refused(answer.status())),
        }
    }
}

type Context = (Client, Backend);

async fn reconcile(wanted: Arc<ExternalSecret>, context: Arc<Context>) -> Result<Action, Error> {
    let value = context.1.value(&wanted.spec.key).await?;
    let (name, namespace) = (wanted.name_any(), wanted.namespace().unwrap_or_default());
    let secrets = Api::<Secret>::namespaced(context.0.clone(), &namespace);
    let found = secrets.get_opt(&name).await?.and_then(|secret| secret.data);
    if found.is_none_or(|data| data.get("value") != Some(&value)) {
        let secret = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"value": value},
            "metadata": {"name": name, "ownerReferences": [wanted.controller_owner_ref(&())]},
        }));
        let ours = PatchParams::apply("external-secrets").force();
        secrets.patch(&name, &ours, &secret).await?;
    }
    if !is_observed(&wanted) {
        let status = json!({"status": {"observedGeneration": wanted.metadata.generation}});
        let (ours, status) = (PatchParams::default(), Patch::Merge(status));
        let all = Api::<ExternalSecret>::namespaced(context.0.clone(), &namespace);
        all.patch_status(&name, &ours, &status).await?;
    }
    Ok(Action::requeue(Duration::from_secs(wanted.spec.refresh_s)))
}

fn is_observed(wanted: &ExternalSecret) -> bool {
    let status = wanted.status.as_ref();
    status.is_some_and(|status| status.observed_generation == wanted.metadata.generation)
}

fn policy(_: Arc<ExternalSecret>, error: &Error, _: Arc<Context>) -> Action {
    match error {
        Error::Later(after) => Action::requeue(*after),
        _ => Action::back_off(),
    }
}

pub async fn run(shared: Shared, backend: Backend) {
    let controller = |place: &Place| {
        Controller::new(place.objects::<ExternalSecret>(), place.selected())
            .owns(place.objects::<Secret>(), Config::default())
            .skip(is_observed)
    };
    let context = Arc::new((shared.client.clone(), backend));
    shared.run(controller, reconcile, policy, context).await;
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).collect();
    let default = SocketAddr::from(([127, 0, 0, 1], 8200));
    let address = cli::option(&mut arguments, "--backend", default);
    let per_s = cli::option(&mut arguments, "--per-s", 50);
    let (Ok(address), Ok(per_s)) = (address, per_s) else {
        return ExitCode::from(2);
    };
    let run = move |shared| run(shared, Backend::new(address, per_s));
    let about = "Secrets from a backend";
    Program::several("external-secrets", about, env!("TARE_VERSION"))
        .resource::<ExternalSecret>()
        .controller("external-secrets", run)
        .main(arguments)
}
