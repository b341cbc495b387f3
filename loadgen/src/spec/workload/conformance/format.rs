//! The format of a workload's conformance file.
//!
//! Guarantees: an unknown field is refused; `loadgen schema conformance-file` prints these types. Leaves to
//! others: what the values may be.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What an operator has to do before it is measured. Paths are relative to `workload.toml`.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConformanceFile {
    /// A YAML file: what the steps create, without apiVersion, kind and name.
    pub object: String,
    /// When an object is settled. What is expected of the object itself is waited for; what is expected of
    /// children of its name has to hold at that moment.
    #[serde(default)]
    pub settled: Vec<SettledFile>,
    /// Expectations by the name under which steps know them.
    #[serde(default)]
    pub expect: BTreeMap<String, Vec<ExpectationFile>>,
    /// In order. One that fails stops no other.
    pub steps: Vec<StepFile>,
}

/// What holds of one kind.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettledFile {
    /// Of `[[children]]`; the objects' own without.
    pub kind: Option<String>,
    /// Names of `[[expect.NAME]]`.
    pub expect: Vec<String>,
}

/// One expectation: `field` with `equals`, or `holds` with `says`. In CEL, `self` is what is looked at, and `owner`
/// the object of the same name.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectationFile {
    /// A JSON pointer to what is compared, or to what a failure shows.
    pub field: Option<String>,
    /// CEL: the value that the field has.
    pub equals: Option<String>,
    /// CEL: true or false.
    pub holds: Option<String>,
    /// What a failure says was expected.
    pub says: Option<String>,
    /// A name, where a subject may deviate from this and say so in its file (`deviates`): then it is not expected. Without, it
    /// is required.
    pub rule: Option<String>,
}

/// A step.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// Also the name of its object.
    pub name: String,
    /// What it shows.
    #[serde(default)]
    #[allow(dead_code)]
    pub about: String,
    /// As that of an expectation: of a subject that deviates the step is not done.
    pub rule: Option<String>,
    pub acts: Vec<Act>,
}

/// What is done. `name` is that of the step where it is left out, and `kind` that of the objects.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// The object is created.
    Create { name: Option<String> },
    /// An object of somebody else's is created from a YAML file without a name.
    CreateOther {
        kind: String,
        file: String,
        name: Option<String>,
    },
    /// The object is waited for until it is `settled`.
    Settle { name: Option<String> },
    /// A merge patch, or a JSON patch where it is a list.
    Patch {
        kind: Option<String>,
        name: Option<String>,
        patch: Value,
    },
    Delete {
        kind: Option<String>,
        name: Option<String>,
    },
    /// Waits until it is as expected.
    Await {
        kind: Option<String>,
        name: Option<String>,
        expect: Vec<String>,
    },
    /// The same, of another object than the one that a step before deleted.
    AwaitAnother {
        kind: Option<String>,
        name: Option<String>,
        expect: Vec<String>,
    },
    /// It is as expected at once.
    Check {
        kind: Option<String>,
        name: Option<String>,
        expect: Vec<String>,
    },
    /// The API server refuses this merge patch of the object as invalid.
    RefusePatch { name: Option<String>, patch: Value },
    /// The API server refuses the object with this merge patch as invalid.
    RefuseCreate { name: Option<String>, patch: Value },
    /// What it is now is kept for `unchanged`.
    Remember {
        kind: Option<String>,
        name: Option<String>,
    },
    /// Spec, labels, owners and finalizers are those that were remembered.
    Unchanged {
        kind: Option<String>,
        name: Option<String>,
    },
    /// Waits until it is gone.
    Gone {
        kind: Option<String>,
        name: Option<String>,
    },
    /// It is gone by now: nobody had to act for it. Of a subject that deviates from `rule` it is waited for.
    GoneAtOnce {
        kind: Option<String>,
        name: Option<String>,
        rule: Option<String>,
    },
    /// The subject is ended with SIGTERM.
    #[serde(rename = "stop")]
    EndSubject {},
    /// It is started again, until it says that it is ready.
    #[serde(rename = "start")]
    StartSubject {},
}

impl Act {
    pub fn kind(&self) -> Option<&str> {
        match self {
            Act::CreateOther { kind, .. } => Some(kind),
            Act::Patch { kind, .. }
            | Act::Delete { kind, .. }
            | Act::Await { kind, .. }
            | Act::AwaitAnother { kind, .. }
            | Act::Check { kind, .. }
            | Act::Remember { kind, .. }
            | Act::Unchanged { kind, .. }
            | Act::Gone { kind, .. }
            | Act::GoneAtOnce { kind, .. } => kind.as_deref(),
            Act::Create { .. }
            | Act::Settle { .. }
            | Act::RefusePatch { .. }
            | Act::RefuseCreate { .. }
            | Act::EndSubject {}
            | Act::StartSubject {} => None,
        }
    }

    pub fn name(&self) -> Option<&str> {
        match self {
            Act::Create { name }
            | Act::CreateOther { name, .. }
            | Act::Settle { name }
            | Act::Patch { name, .. }
            | Act::Delete { name, .. }
            | Act::Await { name, .. }
            | Act::AwaitAnother { name, .. }
            | Act::Check { name, .. }
            | Act::RefusePatch { name, .. }
            | Act::RefuseCreate { name, .. }
            | Act::Remember { name, .. }
            | Act::Unchanged { name, .. }
            | Act::Gone { name, .. }
            | Act::GoneAtOnce { name, .. } => name.as_deref(),
            Act::EndSubject {} | Act::StartSubject {} => None,
        }
    }

    pub fn expectations(&self) -> &[String] {
        match self {
            Act::Await { expect, .. }
            | Act::AwaitAnother { expect, .. }
            | Act::Check { expect, .. } => expect,
            _ => &[],
        }
    }

    pub fn rule(&self) -> Option<&str> {
        match self {
            Act::GoneAtOnce { rule, .. } => rule.as_deref(),
            _ => None,
        }
    }

    pub fn file(&self) -> Option<&str> {
        match self {
            Act::CreateOther { file, .. } => Some(file),
            _ => None,
        }
    }
}
