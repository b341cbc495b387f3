//! The CRD in the cluster: installed from the binary, and compared with it.
//!
//! Guarantees: it is written by server-side apply under the operator's name, so that annotations of
//! others stay. Where the cluster's CRD is older or newer than the binary's, one line is logged and a
//! metric is set; the operator continues.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::http::request::{Api, ApiError, METADATA, OBJECT_BYTES, Request, WHOLE};
use crate::metrics::Verb;
use crate::model::decoded;
use crate::reconcile::APPLY_PATCH;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";

/// The CRD that a program carries.
#[derive(Debug, Clone)]
pub struct Crd {
    /// `PLURAL.GROUP`.
    pub name: String,
    /// Field manager of its fields, and the program that installs it.
    pub manager: &'static str,
    /// The CRD as YAML or JSON.
    pub definition: Cow<'static, str>,
    /// The annotation that holds its revision.
    pub annotation: String,
    /// Revision of the CRD, where it has one.
    pub revision: Option<i64>,
}

/// Why the CRD is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The server rejects it, or cannot be reached.
    #[error("the CRD cannot be installed: {0}")]
    Rejected(#[from] ApiError),
    /// The server accepted it but does not serve it.
    #[error("the CRD is installed but not Established after {0} s: {1}")]
    NotEstablished(u64, String),
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
struct Meta {
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
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
/// The server rejects it, cannot be reached, or does not establish it within `timeout`.
pub async fn install(api: &Api, crd: &Crd, timeout: Duration) -> Result<(), InstallError> {
    let path = format!("{CRDS}{}?fieldManager={}&force=true", crd.name, crd.manager);
    let body = Some((APPLY_PATCH, crd.definition.as_bytes().to_vec()));
    let request = Request {
        method: Method::PATCH,
        path: &path,
        body,
        accept: METADATA,
    };
    api.call(Verb::Patch, request, OBJECT_BYTES).await?;
    let until = Instant::now() + timeout;
    loop {
        let conditions = read(api, crd, WHOLE)
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
                timeout.as_secs(),
                why.unwrap_or_default(),
            ));
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Compares the CRD in the cluster with the binary's, at the start and then every hour: sets a metric,
/// and logs one line when it has changed. Never ends.
pub async fn compare(api: &Api, crd: &Crd) {
    let Some(ours) = crd.revision else {
        return std::future::pending().await;
    };
    let mut known = None;
    loop {
        let mut again = Duration::from_secs(60);
        match read(api, crd, METADATA).await {
            Ok(found) => {
                let annotations = found.metadata.annotations.unwrap_or_default();
                let text = annotations.get(&crd.annotation);
                // CRDs of the first versions have no annotation.
                let revision = text.and_then(|text| text.parse().ok()).unwrap_or(0);
                again = Duration::from_secs(3_600);
                if known.replace(revision) != Some(revision) {
                    report(api, crd.manager, revision, ours);
                }
            }
            // Without permission to read CRDs the revision stays unknown; the watch reports a missing CRD.
            Err(error) => tracing::debug!(%error, "the CRD's revision cannot be read"),
        }
        sleep(again).await;
    }
}

fn report(api: &Api, program: &str, revision: i64, ours: i64) {
    api.metrics().crd_revision.store(revision, Relaxed);
    match revision.cmp(&ours) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => {
            warn!(
                cluster = revision,
                binary = ours,
                "the CRD is older than this binary: run `{program} install`"
            );
        }
        std::cmp::Ordering::Greater => {
            info!(
                cluster = revision,
                binary = ours,
                "the CRD is newer than this binary: fields that it added are ignored"
            );
        }
    }
}

async fn read(api: &Api, crd: &Crd, accept: &'static str) -> Result<Found, ApiError> {
    let path = format!("{CRDS}{}", crd.name);
    let request = Request {
        accept,
        ..Request::get(&path)
    };
    let body = api.call(Verb::Get, request, OBJECT_BYTES).await?;
    decoded(&body).map_err(|error| ApiError::undecodable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crd_without_conditions_yet_is_not_an_error() -> Result<(), serde_json::Error> {
        let json = r#"{"metadata":{"name":"notes.example.com"},"status":{"conditions":null,"storedVersions":null}}"#;
        let crd: Found = serde_json::from_str(json)?;
        assert!(crd.status.conditions.is_none() && crd.metadata.annotations.is_none());
        Ok(())
    }
}
