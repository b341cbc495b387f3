//! Any Kubernetes object as YAML: an extension trait over `kube::Resource`.
//!
//! Guarantees: what kubectl leaves out of `-o yaml` (managedFields) is left out here.

use kube::Resource;
use serde::Serialize;

pub trait ToYaml {
    fn to_yaml(&self) -> anyhow::Result<String>;
}

impl<K: Resource + Serialize + Clone> ToYaml for K {
    fn to_yaml(&self) -> anyhow::Result<String> {
        let mut shown = self.clone();
        shown.meta_mut().managed_fields = None;
        Ok(serde_saphyr::to_string(&shown)?)
    }
}
