//! A subject and a workload for an operator of somebody's, drafted from the definition of its kind.
//!
//! Guarantees: pure; the files are ones that `loadgen lint` accepts as far as a schema can tell, with a comment at each line
//! that somebody has to look at. Leaves to others: reading the definition and writing the files (`cli::subjects::new`), and
//! an object by its schema (`sample`).

mod sample;

use serde_json::{Value, json};
use thiserror::Error;

use crate::spec::outline::sample::{Sample, sample};

#[derive(Debug, Error, PartialEq, Eq)]
pub enum Error {
    #[error(
        "no CustomResourceDefinition in it; loadgen subjects new needs the one of the operator's kind"
    )]
    NoDefinition,
    #[error("{0} definitions in it; give the one of the kind that is to be created: {1}")]
    Several(usize, String),
    #[error("{0} is missing in the definition")]
    Missing(&'static str),
}

/// A file, by its path below the current folder.
pub type Draft = (String, String);

/// The only definition among the documents of a file.
///
/// # Errors
/// There is none, or more than one; `kind` (the name of a definition) then says which is meant.
pub fn definition(documents: &[Value], kind: Option<&str>) -> Result<Value, Error> {
    let is_meant = |crd: &&Value| {
        crd["kind"] == "CustomResourceDefinition"
            && kind.is_none_or(|kind| crd["metadata"]["name"] == kind)
    };
    let found: Vec<&Value> = documents.iter().filter(is_meant).collect();
    match found[..] {
        [] => Err(Error::NoDefinition),
        [one] => Ok(one.clone()),
        _ => {
            let names = found.iter().map(|crd| text(&crd["metadata"]["name"]));
            let names: Vec<String> = names.map(|name| format!("--kind {name}")).collect();
            Err(Error::Several(found.len(), names.join(", or ")))
        }
    }
}

/// The files for an operator `name` of the kind of a definition, without the definition itself, which belongs to
/// `NAME/crd.yaml`.
///
/// # Errors
/// The definition has no group, kind, plural or version.
pub fn drafts(name: &str, crd: &Value) -> Result<Vec<Draft>, Error> {
    let spec = &crd["spec"];
    let of = |value: &Value, what| match value.as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(Error::Missing(what)),
    };
    let version = stored(spec).ok_or(Error::Missing("spec.versions"))?;
    let kind = Kind {
        group: of(&spec["group"], "spec.group")?,
        version: of(&version["name"], "spec.versions[].name")?,
        kind: of(&spec["names"]["kind"], "spec.names.kind")?,
        plural: of(&spec["names"]["plural"], "spec.names.plural")?,
        is_namespaced: spec["scope"] != "Cluster",
    };
    let schema = &version["schema"]["openAPIV3Schema"]["properties"];
    Ok(vec![
        (format!("{name}.toml"), subject(name)),
        (
            format!("{name}/workload.toml"),
            workload(name, &kind, &schema["status"]),
        ),
        (
            format!("{name}/object.yaml"),
            object(name, &kind, &schema["spec"]),
        ),
    ])
}

struct Kind {
    group: String,
    version: String,
    kind: String,
    plural: String,
    is_namespaced: bool,
}

/// The version that the server keeps, or the first one.
fn stored(spec: &Value) -> Option<&Value> {
    let versions = spec["versions"].as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true);
    stored.or(versions.first())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn subject(name: &str) -> String {
    format!(
        r#"# The operator, and how it is started. All fields: docs/workloads.md of Tare, `loadgen schema` for the workload.
name = "{name}"
variant = "mine"
description = "{name}, as I run it"
language = "other"                      # rust, go, python, java or node
workloads = ["./{name}"]

# Built before each bench, in this folder; remove it where the program is there already.
# [build]
# command = ["make", "build"]

[run]
command = "./{name}"                    # the program; a path is relative to this file
args = []                               # in them {{admin}} is an address and port of its own, {{port}} the port, {{second_port}} another one
env = {{ KUBECONFIG = "{{kubeconfig}}" }}
# credentials = "in-pod"                # where the program reads no kubeconfig, but the files of a pod

# Where it answers 200 once it works. Without, it has started when it has observed an object.
# [ready]
# http = "/readyz"

# Names on its Prometheus page, such as those of controller-runtime.
# [metrics]
# path = "/metrics"
# reconcile_histogram = "controller_runtime_reconcile_time_seconds"
# reconcile_errors = "controller_runtime_reconcile_errors_total"
"#
    )
}

fn workload(name: &str, kind: &Kind, status: &Value) -> String {
    let Kind {
        group,
        version,
        kind: name_of_kind,
        plural,
        is_namespaced,
    } = kind;
    let scope = match is_namespaced {
        true => "",
        false => "namespaced = false                      # objects of the whole cluster\n",
    };
    format!(
        r#"# What is created, and when an object counts as done.
description = "{name_of_kind}s"
object_bytes = 1024                     # filled up by {{{{ words }}}} in object.yaml
crds = ["crd.yaml"]

[object]
api_version = "{group}/{version}"
kind = "{name_of_kind}"
plural = "{plural}"
{scope}name = "{}"
template = "object.yaml"
# update = "update.yaml"                # a merge patch: what a user changes; without, an annotation changes

# What the operator makes for each object, one table for each kind.
# [[children]]
# api_version = "apps/v1"
# kind = "Deployment"
# plural = "deployments"
# found_by = "owner"

{}"#,
        &name[..name.len().min(30)].trim_end_matches('-'),
        convergence(status)
    )
}

const NO_STATUS: &str = r#"# The kind has no status. As it stands, an object counts as done once it is created: watch what the operator makes for it.
[convergence]
observed = "true"
ready = "true"
# ready_condition = "Available"
# child = { api_version = "apps/v1", plural = "deployments" }
"#;

/// What the schema of the status allows to ask for.
fn convergence(status: &Value) -> String {
    if status.is_null() {
        return NO_STATUS.to_owned();
    }
    let fields = &status["properties"];
    let has = |field: &str| fields.get(field).is_some();
    let ready = "self.status.conditions.exists(c, c.type == 'Ready'";
    let (comment, observed, ready) = match (has("observedGeneration"), has("conditions")) {
        (true, true) => (
            "The status has `observedGeneration` and `conditions`: look whether the condition is called Ready.",
            "self.status.observedGeneration >= self.metadata.generation".to_owned(),
            format!("{ready} && c.status == 'True')"),
        ),
        (false, true) => (
            "The status does not say which generation it is about: an update counts as observed with the next event. Look \
             whether the condition is called Ready.",
            format!("{ready})"),
            format!("{ready} && c.status == 'True')"),
        ),
        (true, false) => (
            "The status has no conditions: say which field tells that an object is done.",
            "self.status.observedGeneration >= self.metadata.generation".to_owned(),
            "has(self.status.observedGeneration)".to_owned(),
        ),
        (false, false) if has("phase") => (
            "Look which phases tell that an object is done.",
            "has(self.status.phase)".to_owned(),
            "self.status.phase in ['Ready', 'Running', 'Active', 'Succeeded']".to_owned(),
        ),
        (false, false) => (
            "The schema does not tell what the operator writes: say which field tells that an object is done.",
            "has(self.status)".to_owned(),
            "has(self.status)".to_owned(),
        ),
    };
    format!("# {comment}\n[convergence]\nobserved = \"{observed}\"\nready = \"{ready}\"\n")
}

fn object(name: &str, kind: &Kind, spec: &Value) -> String {
    let Sample { fields, open } = sample(spec);
    let open: String = open
        .iter()
        .map(|(path, why)| format!("# spec{path}: {why}\n"))
        .collect();
    let spec = json!({ "spec": fields });
    // JSON is YAML, too.
    let spec = serde_saphyr::to_string(&spec).unwrap_or_else(|_| format!("{spec}\n"));
    format!(
        "# One {} of those that `{name}` works on, without apiVersion, kind and name.\n{open}metadata:\n  annotations:\n    \
         loadgen.tare.dev/filler: \"{{{{ words }}}}\"\n{spec}",
        kind.kind
    )
}

#[cfg(test)]
mod tests;
