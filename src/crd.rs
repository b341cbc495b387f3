//! The CRD in the cluster: installed from the binary, compared with it.
//!
//! Guarantees: applied by server-side apply under our name, so that other people's annotations stay;
//! an older or newer CRD is one line in the log and a figure, never an end.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::edgeapp::{CRD_REVISION, CRD_YAML};
use crate::metrics::Verb;
use crate::request::{Api, ApiError, Ask, METADATA, OBJECT_BYTES, WHOLE};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/edgeapps.tare.dev";
const APPLY: &str = "application/apply-patch+yaml";

/// Why the CRD is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The server refuses it, or cannot be reached.
    #[error("the CRD cannot be installed: {0}")]
    Refused(#[from] ApiError),
    /// The server took it and does not serve it.
    #[error("the CRD is installed but not Established after {0} s: {1}")]
    NotEstablished(u64, String),
}

#[derive(Deserialize)]
struct Crd {
    #[serde(default)]
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
struct Meta {
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Deserialize, Default)]
struct Annotations {
    #[serde(default, rename = "tare.dev/crd-revision")]
    revision: Option<String>,
}

#[derive(Deserialize, Default)]
struct Status {
    /// `null` on kube-apiserver between the first write and the first condition.
    #[serde(default)]
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    #[serde(default)]
    message: String,
}

/// Applies the CRD and waits until the server serves it.
///
/// # Errors
/// The server refuses it, cannot be reached, or does not establish it within `patience`.
pub async fn install(api: &Api, patience: Duration) -> Result<(), InstallError> {
    let path = format!("{PATH}?fieldManager=tare&force=true");
    let body = Some((APPLY, CRD_YAML.as_bytes().to_vec()));
    let ask = Ask {
        method: Method::PATCH,
        path: &path,
        body,
        accept: METADATA,
    };
    api.call(Verb::Patch, ask, OBJECT_BYTES).await?;
    let until = Instant::now() + patience;
    loop {
        let conditions = read(api, WHOLE)
            .await?
            .status
            .conditions
            .unwrap_or_default();
        let established = conditions
            .iter()
            .any(|c| c.type_ == "Established" && c.status == "True");
        if established {
            return Ok(());
        }
        if Instant::now() >= until {
            let why = conditions
                .into_iter()
                .find(|c| c.status == "False")
                .map(|c| c.message);
            return Err(InstallError::NotEstablished(
                patience.as_secs(),
                why.unwrap_or_default(),
            ));
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Compares the CRD in the cluster with the binary's: at the start, then every hour, a figure and one
/// line whenever it has changed. Never ends.
pub async fn compare(api: &Api) {
    let mut known = None;
    loop {
        let mut again = Duration::from_secs(60);
        match read(api, METADATA).await {
            // Before the annotation there was none.
            Ok(crd) => {
                let revision = crd
                    .metadata
                    .annotations
                    .and_then(|annotations| annotations.revision)
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(0);
                again = Duration::from_secs(3_600);
                if known.replace(revision) != Some(revision) {
                    tell(api, revision);
                }
            }
            // Without the right to read CRDs it stays unknown; a missing CRD is told by the watch.
            Err(error) => tracing::debug!(%error, "the CRD's revision cannot be read"),
        }
        sleep(again).await;
    }
}

fn tell(api: &Api, revision: i64) {
    api.metrics().crd_revision.store(revision, Relaxed);
    match revision.cmp(&CRD_REVISION) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => {
            warn!(
                cluster = revision,
                binary = CRD_REVISION,
                "the CRD is older than this binary: run `tare install`"
            );
        }
        std::cmp::Ordering::Greater => {
            info!(
                cluster = revision,
                binary = CRD_REVISION,
                "the CRD is newer than this binary: fields it added are ignored"
            );
        }
    }
}

async fn read(api: &Api, accept: &'static str) -> Result<Crd, ApiError> {
    let ask = Ask {
        accept,
        ..Ask::get(PATH)
    };
    let body = api.call(Verb::Get, ask, OBJECT_BYTES).await?;
    serde_json::from_slice(&body).map_err(|error| ApiError::undecodable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crd_without_conditions_yet_is_not_an_error() -> Result<(), serde_json::Error> {
        let json = r#"{"metadata":{"name":"edgeapps.tare.dev"},"status":{"conditions":null,"storedVersions":null}}"#;
        let crd: Crd = serde_json::from_str(json)?;
        assert!(crd.status.conditions.is_none() && crd.metadata.annotations.is_none());
        Ok(())
    }
}
