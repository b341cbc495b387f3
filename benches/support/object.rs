//! The EdgeApps that benches create: those of loadgen's scenario, so that figures are comparable.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// The scenario's template.
#[derive(Debug, Clone)]
pub struct Template {
    object: Value,
    /// As JSON on the wire.
    pub object_bytes: usize,
}

impl Template {
    /// Reads `loadgen/scenarios/edgeapp.toml`.
    ///
    /// # Errors
    /// It cannot be read, or has no object.
    pub fn read() -> anyhow::Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("loadgen/scenarios/edgeapp.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let scenario: Value =
            toml::from_str(&text).with_context(|| format!("{} is not TOML", path.display()))?;
        let missing = |field: &str| format!("{} has no {field}", path.display());
        Ok(Self {
            object: scenario
                .get("object")
                .with_context(|| missing("object"))?
                .clone(),
            object_bytes: scenario["object_bytes"]
                .as_u64()
                .and_then(|bytes| usize::try_from(bytes).ok())
                .with_context(|| missing("object_bytes"))?,
        })
    }

    /// The EdgeApp `index`, of the size that the scenario sets.
    pub fn object(&self, name: &str, index: usize) -> Value {
        let build = |words: &str| {
            let mut object = filled(
                &self.object,
                &[
                    ("{name}", name),
                    ("{index}", &index.to_string()),
                    ("{digest}", &format!("{index:064x}")),
                    ("{words}", words),
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
