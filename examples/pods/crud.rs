//! Create, read, delete: `Api<Pod>`, one request each. The update is [`super::label`].
//!
//! Guarantees: what is deleted is gone when `delete` returns.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::wait::delete::delete_and_finalize;
use kube::{Api, ResourceExt};

use super::screen::Screen;
use super::table;
use super::yaml::ToYaml;

/// A Pod has 30 s to end, unless its spec says otherwise.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The Pods of a YAML file.
pub fn read(file: &Path) -> anyhow::Result<Vec<Pod>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_saphyr::from_multiple(&text).map_err(|error| {
        // The lines after the first show the place once more.
        let error = error.to_string();
        let what = error.lines().next().unwrap_or_default();
        anyhow!("{}: not Pods in YAML: {what}", file.display())
    })
}

pub async fn create(pods: &Api<Pod>, wanted: &[Pod], screen: &Screen) -> anyhow::Result<()> {
    for pod in wanted {
        let created = pods.create(&PostParams::default(), pod).await?;
        screen.line(format_args!("pod/{} created", created.name_any()))?;
    }
    Ok(())
}

/// Selection `get` prints: one Pod or all, as a table or as YAML.
#[derive(Debug, PartialEq)]
pub struct Selection {
    pub name: Option<String>,
    pub yaml: bool,
}

pub async fn get(
    pods: &Api<Pod>,
    what: &Selection,
    with_namespace: bool,
    screen: &Screen,
    errors: &Screen,
) -> anyhow::Result<()> {
    let found = match &what.name {
        Some(name) => vec![pods.get(name).await?],
        None => pods.list(&ListParams::default()).await?.items,
    };
    if what.yaml {
        let documents: Result<Vec<_>, _> = found.iter().map(ToYaml::to_yaml).collect();
        screen.text(&documents?.join("---\n"))?;
    } else if found.is_empty() {
        errors.line("No resources found")?;
    } else {
        screen.text(&table::wide(&found, with_namespace, Timestamp::now()))?;
    }
    Ok(())
}

pub async fn delete(pods: Api<Pod>, name: &str, screen: &Screen) -> anyhow::Result<()> {
    let options = DeleteParams::default();
    let gone = delete_and_finalize(pods, name, &options);
    match tokio::time::timeout(TIMEOUT, gone).await {
        Ok(Ok(())) => screen.line(format_args!("pod \"{name}\" deleted"))?,
        Ok(Err(kube::runtime::wait::delete::Error::Delete(refused))) => return Err(refused.into()),
        Ok(Err(other)) => return Err(other.into()),
        Err(_) => bail!(
            "Pod {name:?} is still there after {} s: check its finalizers and its node",
            TIMEOUT.as_secs()
        ),
    }
    Ok(())
}
