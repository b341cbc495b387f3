//! A client: one list, one watch from where the list was. Both end, and what to do then is yours: the
//! server closes a watch after some minutes, or answers that its history does not reach back that far.

use anyhow::bail;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};

use super::super::screen::Screen;
use super::told;

pub async fn client(pods: Api<Pod>, screen: &Screen) -> anyhow::Result<()> {
    let list = pods.list(&ListParams::default()).await?;
    for pod in &list {
        screen.line(told("LISTED", pod))?;
    }
    let from = list.metadata.resource_version.unwrap_or_default();
    let mut events = pods.watch(&WatchParams::default(), &from).await?.boxed();
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(pod) => screen.line(told("ADDED", &pod))?,
            WatchEvent::Modified(pod) => screen.line(told("MODIFIED", &pod))?,
            WatchEvent::Deleted(pod) => screen.line(told("DELETED", &pod))?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => bail!("the watch has ended: {}", status.message),
        }
    }
    Ok(())
}
