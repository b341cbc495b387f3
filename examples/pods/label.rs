//! An update: read, change, replace.
//!
//! Guarantees: one that meets somebody else's reads again and never overwrites it.

use std::str::FromStr;

use anyhow::bail;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, ResourceExt};

use super::screen::Screen;

/// Updates that met somebody else's, before it is given up.
const ATTEMPTS: usize = 5;

/// Selection becomes of one label.
#[derive(Debug, PartialEq)]
pub struct Change {
    key: String,
    /// `None`: it goes.
    value: Option<String>,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Change, String> {
        let (key, value) = match (text.split_once('='), text.strip_suffix('-')) {
            (Some((key, value)), _) => (key, Some(value.to_owned())),
            (None, Some(key)) => (key, None),
            (None, None) => return Err(format!("{text:?} is not KEY=VALUE or KEY-")),
        };
        let key = key.to_owned();
        Ok(Change { key, value })
    }
}

/// Reads, changes and replaces. The `resourceVersion` that was read goes along: if somebody has written
/// in between, the server answers 409, and it is read again.
pub async fn label(
    pods: &Api<Pod>,
    name: &str,
    change: &Change,
    screen: &Screen,
) -> anyhow::Result<()> {
    for _ in 0..ATTEMPTS {
        let mut pod = pods.get(name).await?;
        match &change.value {
            Some(value) => pod.labels_mut().insert(change.key.clone(), value.clone()),
            None => pod.labels_mut().remove(&change.key),
        };
        match pods.replace(name, &PostParams::default(), &pod).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            replaced => {
                replaced?;
                screen.line(format_args!("pod/{name} labeled"))?;
                return Ok(());
            }
        }
    }
    bail!("Pod {name:?}: changed by others {ATTEMPTS} times in a row; try again")
}
