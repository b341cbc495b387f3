//! Installs CRDs.
//!
//! Guarantees: when it returns, every version that is to be served is served.

use std::path::Path;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

use crate::error::Error;

const SERVED_WITHIN: Duration = Duration::from_secs(30);
const POLL_EVERY: Duration = Duration::from_millis(20);

/// # Errors
/// `Crd` with the file and what is wrong with it, or with the server's answer.
pub(crate) async fn install(client: &Client, path: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
    apply(client, &text).await.map_err(|cause| Error::Crd {
        path: path.into(),
        cause,
    })
}

async fn apply(client: &Client, text: &str) -> Result<(), String> {
    let crd: Value = serde_saphyr::from_str(text).map_err(|cause| cause.to_string())?;
    let field = |pointer: &str| {
        let text = crd.pointer(pointer).and_then(Value::as_str);
        text.ok_or_else(|| {
            format!("no {pointer} that is text: is this one CustomResourceDefinition?")
        })
    };
    let url = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
        field("/metadata/name")?
    );
    let (group, plural) = (field("/spec/group")?, field("/spec/names/plural")?);
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions
        .into_iter()
        .flatten()
        .filter(|version| version["served"] == true);
    let lists = served.filter_map(|version| {
        let version = version["name"].as_str()?;
        Some(format!("/apis/{group}/{version}/{plural}?limit=1"))
    });
    let apply = format!("{url}?fieldManager=controlplane&force=true");
    request(client, Method::PATCH, &apply, crd.to_string().into_bytes()).await?;
    let deadline = Instant::now() + SERVED_WITHIN;
    for list in lists {
        is_served(client, &list, deadline).await?;
    }
    Ok(())
}

/// Established comes a moment before the resource is served: a list shows both.
async fn is_served(client: &Client, list: &str, deadline: Instant) -> Result<(), String> {
    loop {
        match request(client, Method::GET, list, Vec::new()).await {
            Ok(_) => return Ok(()),
            Err(cause) if Instant::now() > deadline => {
                let waited_s = SERVED_WITHIN.as_secs();
                return Err(format!("not served within {waited_s} s: {cause}"));
            }
            Err(_) => tokio::time::sleep(POLL_EVERY).await,
        }
    }
}

async fn request(
    client: &Client,
    method: Method,
    url: &str,
    body: Vec<u8>,
) -> Result<Value, String> {
    let request = Request::builder()
        .method(method)
        .uri(url)
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(body)
        .map_err(|cause| cause.to_string())?;
    client
        .request(request)
        .await
        .map_err(|cause| cause.to_string())
}

#[cfg(test)]
mod tests {
    use kubesim::{Options, Server};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_definition_whose_first_version_is_not_served_is_installed() {
        let version = |name: &str, served: bool| {
            serde_json::json!({"name": name, "served": served, "storage": served,
                "schema": {"openAPIV3Schema": {"type": "object"}}})
        };
        let definition = serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [version("v1alpha1", false), version("v1", true)]},
        });
        let server = Server::new(Options::default());
        let installed = apply(&server.client("admin"), &definition.to_string()).await;
        assert_eq!(installed, Ok(()));
    }
}
