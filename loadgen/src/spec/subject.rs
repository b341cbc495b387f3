//! Operators under test, as data: how one is built and started, when it is ready, what
//! "converged" means for its resource.
//!
//! Guarantees: the built-in subjects use the same format as a user's `subject.toml`; an
//! unknown key or placeholder is refused with file and line. Leaves to others: building
//! (`engine::build`) and starting (`engine::session`).

pub mod build;
pub mod known;
pub mod launch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::spec::subject::build::{Build, GoBuild, GoModule};
pub use crate::spec::subject::known::{built_in, one, select};
pub use crate::spec::subject::launch::Places;
use crate::spec::subject::launch::expand;
use crate::spec::toml_line;
use crate::spec::workload::condition::Reading;
use crate::spec::workload::folder::Folder;
use crate::spec::workload::{self, Fixture, Manifest, Scenario, root};

/// Which benches measure a subject without being told to by `--subjects`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    #[default]
    Always,
    /// The whole comparison is made on real control planes; a quick look has no time for it.
    OnRealServers,
    ByName,
}

impl Measured {
    fn by_default(self, on_real_servers: bool) -> bool {
        match self {
            Measured::Always => true,
            Measured::OnRealServers => on_real_servers,
            Measured::ByName => false,
        }
    }
}

/// An operator under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    pub name: String,
    pub variant: String,
    /// What it is, in a few words for the reader of a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub measured: Measured,
    #[serde(default)]
    pub language: Language,
    /// Target triple; that of loadgen unless said.
    #[serde(default)]
    pub target: Option<String>,
    #[serde(default)]
    pub profile: Option<String>,
    #[serde(default)]
    pub allocator: Option<String>,
    #[serde(default)]
    pub build: Option<Build>,
    pub run: Run,
    #[serde(default)]
    pub ready: Ready,
    #[serde(default)]
    pub metrics: Option<Metrics>,
    #[serde(default)]
    pub convergence: Convergence,
    /// The workloads that it serves: names of shipped ones, or paths. The default workload without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// Rules of the conformance scenario that it does not keep, because its framework makes that impossible: they stand beside its
    /// figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviates: Vec<String>,
    /// Files with objects that it needs before it starts, on control planes of loadgen's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixtures: Vec<String>,
    /// What is created for it where that differs from the experiment's objects; not in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Scenario>,
    /// Definitions of its workload, where it brings none of its own.
    #[serde(skip)]
    pub crds: Vec<Manifest>,
    /// What is made before it starts: those of `fixtures`, and of its workload.
    #[serde(skip)]
    pub made_before: Vec<Fixture>,
    /// Where relative paths start: the folder of the file; `None` for one that comes with loadgen.
    #[serde(skip)]
    pub base: Option<PathBuf>,
}

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Rust,
    Go,
    Python,
    Java,
    /// JavaScript or TypeScript.
    Node,
    #[default]
    Other,
}

/// How the program is started. Placeholders: see [`Places`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The CRD's manifest, installed before the start; those of the workload without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crd: Option<PathBuf>,
    /// Files and folders that the program consists of beside its executable, from the folder of the file: scripts, jars, lock
    /// files. They count as the program: hashed, compared by `--resume`, and their bytes are `binary_bytes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// How it is told where the API server is, and as whom it asks.
    #[serde(default, skip_serializing_if = "Credentials::are_usual")]
    pub credentials: Credentials,
}

/// How a program gets its credentials.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Credentials {
    /// A file, by `{kubeconfig}`.
    #[default]
    Kubeconfig,
    /// The files of a service account and two variables, as in a pod.
    InPod,
}

impl Credentials {
    fn are_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// When the program may be given work; neither field: once it has observed an object that was created before it
/// started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// A path on the admin port that answers 200.
    #[serde(default)]
    pub http: Option<String>,
    /// A text that appears in the log.
    #[serde(default)]
    pub log_line: Option<String>,
}

impl Ready {
    /// Whether the program says it by itself.
    pub fn is_told(&self) -> bool {
        self.http.is_some() || self.log_line.is_some()
    }
}

/// Where the reconcile times are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    #[serde(default = "metrics_path")]
    pub path: String,
    pub reconcile_histogram: String,
    #[serde(default)]
    pub reconcile_errors: Option<String>,
}

/// What the watch must show: JSON pointers into `/status`, or conditions in CEL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Convergence {
    pub observed_generation: String,
    pub conditions: String,
    pub ready_condition: String,
    /// CEL over the object, `self`, in place of `observed_generation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    /// CEL over the object, `self`, in place of the condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// A child that is watched in place of an object whose own status does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildWatch>,
}

/// A kind of child, one of which tells about each object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChildWatch {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `deployments`.
    pub plural: String,
    /// What follows the object's name in the child's.
    #[serde(default)]
    pub suffix: String,
}

impl ChildWatch {
    /// Path of the collection.
    pub fn path(&self, namespace: &str) -> String {
        let root = root(&self.api_version);
        format!("{root}/namespaces/{namespace}/{}", self.plural)
    }
}

impl Default for Convergence {
    fn default() -> Self {
        Self {
            observed_generation: "/status/observedGeneration".into(),
            conditions: "/status/conditions".into(),
            ready_condition: "Ready".into(),
            observed: None,
            ready: None,
            child: None,
        }
    }
}

impl Convergence {
    /// # Errors
    /// One line that says what is wrong; the conditions are compiled by `workload::condition`.
    pub fn check(&self) -> Result<(), String> {
        let pointers = [&self.observed_generation, &self.conditions];
        match pointers.into_iter().find(|p| !p.starts_with("/status/")) {
            Some(pointer) => Err(format!(
                "{pointer:?}: only pointers into /status/ are watched"
            )),
            None => Ok(()),
        }
    }
}

fn metrics_path() -> String {
    "/metrics".into()
}

/// A subject that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read subject file {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    File(#[from] workload::Error),
    #[error(
        "unknown subject {name:?}; known: {known}; a file of your own is given with --subject FILE"
    )]
    Unknown { name: String, known: String },
    #[error("subject {0:?} is given twice; change name or variant in one of the files")]
    Twice(String),
    #[error("no subject to measure; name at least one with --subjects, known: {0}")]
    Nothing(String),
}

impl Subject {
    /// `name/variant`, which is unique in an experiment.
    pub fn id(&self) -> String {
        format!("{}/{}", self.name, self.variant)
    }

    /// Whether it is built or started from files beside its own.
    fn needs_folder(&self) -> bool {
        let is_built_there = self.build.as_ref().is_some_and(|it| it.go.is_some());
        let mut texts = self.run.args.iter().chain(self.run.env.values());
        is_built_there || texts.any(|text| text.contains("{folder}"))
    }

    /// # Errors
    /// `Parse` with the line, `Invalid` with the key.
    pub fn parse(file: &str, text: &str) -> Result<Subject, Error> {
        let subject: Subject = toml_line::parse(file, text)?;
        let checked = subject.check();
        checked.map_err(|message| workload::Error::of_file(file, None, message))?;
        Ok(subject)
    }

    /// # Errors
    /// `Read` besides those of [`Subject::parse`].
    pub fn from_file(path: &Path) -> Result<Subject, Error> {
        let read = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(read)?;
        let mut subject = Self::parse(&path.display().to_string(), &text)?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder
            .unwrap_or(Path::new("."))
            .canonicalize()
            .map_err(read)?;
        let build = subject.build.as_ref();
        let go = build.and_then(|build| build.go.as_ref());
        let checked = go.map_or(Ok(()), |go| go.check_folder(&folder));
        let file = path.display().to_string();
        checked.map_err(|message| workload::Error::of_file(file, None, message))?;
        subject.base = Some(folder);
        Ok(subject)
    }

    /// The objects of its `fixtures`.
    ///
    /// # Errors
    /// A file of them cannot be used.
    pub fn read_fixtures(&self) -> Result<Vec<Fixture>, workload::Error> {
        let folder = match &self.base {
            Some(base) => Folder::Own(base.clone()),
            None => Folder::Shipped("subjects".into()),
        };
        let read = self.fixtures.iter().map(|file| {
            let manifest = folder.manifest(file);
            let unread = |why| workload::Error::of_file(self.id(), None, why);
            Fixture::read(&manifest.map_err(unread)?)
        });
        let read: Vec<Vec<Fixture>> = read.collect::<Result<_, _>>()?;
        Ok(read.into_iter().flatten().collect())
    }

    fn check(&self) -> Result<(), String> {
        for (key, value) in [("name", &self.name), ("variant", &self.variant)] {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if value.is_empty() || value.len() > 40 || !value.chars().all(plain) {
                return Err(format!(
                    "{key} {value:?}: use 1 to 40 of a-z, A-Z, 0-9, '-', '_', '.'"
                ));
            }
        }
        if let Some(build) = &self.build {
            build.check()?;
        }
        if self.ready.http.is_some() && self.ready.log_line.is_some() {
            return Err("[ready]: give either http or log_line".into());
        }
        if self.objects.is_some() {
            return Err(
                "[objects]: what is created is a workload; write it as docs/workloads.md says, and name it: workloads = [\"PATH\"]".into(),
            );
        }
        let of_table = |message: String| format!("[convergence] {message}");
        self.convergence.check().map_err(of_table)?;
        Reading::of(&self.convergence).map_err(of_table)?;
        let texts = self
            .run
            .args
            .iter()
            .chain(self.run.env.values())
            .chain([&self.run.command]);
        texts
            .map(|text| expand(text, |_| Some(String::new())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(())
    }
}

#[cfg(test)]
pub mod tests;
