//! The EdgeApps that benches create: those of loadgen's workload, so that figures are comparable.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// The workload's template.
#[derive(Debug, Clone)]
pub struct Template {
    object: Value,
    /// As JSON on the wire.
    pub object_bytes: usize,
}

impl Template {
    /// Reads `workloads/edgeapp`.
    ///
    /// # Errors
    /// It cannot be read, or does not say how large an object is.
    pub fn read() -> anyhow::Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/edgeapp");
        let text = |file: &str| {
            let path = folder.join(file);
            std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))
        };
        let workload: Value =
            toml::from_str(&text("workload.toml")?).context("workload.toml is not TOML")?;
        Ok(Self {
            object: serde_saphyr::from_str(&text("edgeapp.yaml")?)
                .context("edgeapp.yaml is not YAML")?,
            object_bytes: workload["object_bytes"]
                .as_u64()
                .and_then(|bytes| usize::try_from(bytes).ok())
                .context("workload.toml has no object_bytes")?,
        })
    }

    /// The EdgeApp `index`, of the size that the workload sets.
    pub fn object(&self, name: &str, index: usize) -> Value {
        let build = |words: &str| {
            let mut object = filled(
                &self.object,
                &[
                    ("{{ name }}", name),
                    ("{{ index }}", &index.to_string()),
                    ("{{ digest }}", &format!("{index:064x}")),
                    ("{{ words }}", words),
                ],
            );
            object["apiVersion"] = "tare.dev/v1alpha1".into();
            object["kind"] = "EdgeApp".into();
            object["metadata"]["name"] = name.into();
            object["metadata"]["namespace"] = "default".into();
            object
        };
        let bare = build("").to_string().len();
        build(&"x".repeat(self.object_bytes.saturating_sub(bare)))
    }
}

fn filled(template: &Value, pairs: &[(&str, &str)]) -> Value {
    match template {
        Value::String(text) => {
            let fill = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
            Value::String(pairs.iter().fold(text.clone(), fill))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, pairs)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), filled(value, pairs)))
                .collect()
        }
        other => other.clone(),
    }
}
