//! A command in a container, over a WebSocket (kube's feature `ws`).
//!
//! Guarantees: both its outputs are read as they come, so that neither can block the other; its exit
//! code is given back.

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::AttachParams;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::screen::Screen;

/// Selection is run, and where.
#[derive(Debug, PartialEq)]
pub struct Asked {
    pub name: String,
    /// Of several.
    pub container: Option<String>,
    pub command: Vec<String>,
}

pub async fn run(
    pods: &Api<Pod>,
    asked: &Asked,
    screen: &Screen,
    errors: &Screen,
) -> anyhow::Result<u8> {
    let params = AttachParams {
        container: asked.container.clone(),
        ..AttachParams::default()
    };
    let mut process = pods.exec(&asked.name, &asked.command, &params).await?;
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let end = process.take_status().context("no status was asked for")?;
    tokio::try_join!(pour(stdout, screen), pour(stderr, errors))?;
    process.join().await?;
    let status = end.await.context("the connection was lost")?;
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    // A command that ran and failed is told with its exit code among the causes.
    let causes = status.details.and_then(|details| details.causes);
    let mut causes = causes.into_iter().flatten();
    let code = causes.find(|cause| cause.reason.as_deref() == Some("ExitCode"));
    match code.and_then(|cause| cause.message?.parse().ok()) {
        Some(code) => Ok(code),
        None => bail!(
            "{}",
            status.message.as_deref().unwrap_or("the command failed")
        ),
    }
}

/// Writes what comes until its end.
async fn pour(from: Option<impl AsyncRead + Unpin>, to: &Screen) -> anyhow::Result<()> {
    let mut from = from.context("an output was not asked for")?;
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(()),
            count => to.bytes(&buffer[..count])?,
        }
    }
}
