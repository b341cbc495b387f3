//! The log of a container, line by line as it is written.
//!
//! Guarantees: one line is held at a time, however long the log; with `follow` it ends when the
//! container does.

use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use super::screen::Screen;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Of several.
    pub container: Option<String>,
    pub follow: bool,
    /// How many lines before the end.
    pub tail: Option<u32>,
}

pub async fn show(
    pods: &Api<Pod>,
    name: &str,
    options: &Options,
    screen: &Screen,
) -> anyhow::Result<()> {
    let params = LogParams {
        container: options.container.clone(),
        follow: options.follow,
        tail_lines: options.tail.map(i64::from),
        ..LogParams::default()
    };
    let mut lines = pods.log_stream(name, &params).await?.lines();
    while let Some(line) = lines.try_next().await? {
        screen.line(line)?;
    }
    Ok(())
}
