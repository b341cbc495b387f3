//! Installs CRDs.
//!
//! Guarantees: when it returns, their resources are served.

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
    let list = format!(
        "/apis/{}/{}/{}?limit=1",
        field("/spec/group")?,
        field("/spec/versions/0/name")?,
        field("/spec/names/plural")?
    );
    let apply = format!("{url}?fieldManager=controlplane&force=true");
    request(client, Method::PATCH, &apply, crd.to_string().into_bytes()).await?;
    let deadline = Instant::now() + SERVED_WITHIN;
    // Established comes a moment before the resource is served: a list shows both.
    loop {
        match request(client, Method::GET, &list, Vec::new()).await {
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
