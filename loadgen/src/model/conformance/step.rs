//! The steps of the scenario, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One step; each but the first has EdgeApps of its own, so that one failure says nothing of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The subject says that it is ready.
    Start,
    /// The children are as planned, the status follows them.
    Create,
    /// `spec.replicas` reaches the Deployment.
    Scale,
    /// `spec.image` reaches the Deployment.
    ChangeImage,
    /// A variable that leaves the spec leaves the child.
    DropEnvVar,
    /// A deleted child comes back.
    DeleteChild,
    /// A planned field that another changes is put back; what is not planned stays as it is.
    EditChild,
    /// The API server refuses it; nothing changes.
    BadReplicas,
    /// A child of that name belongs to somebody else: Degraded, and it is not touched.
    Collision,
    /// It goes at once, without an act of the subject; the garbage collector deletes its children.
    Delete,
    /// What changed while the subject was down is caught up with.
    Restart,
}

impl Step {
    /// In order. `Restart` is last: it ends the process that the others speak to.
    pub const SCENARIO: [Step; 10] = [
        Step::Create,
        Step::Scale,
        Step::ChangeImage,
        Step::DropEnvVar,
        Step::DeleteChild,
        Step::EditChild,
        Step::BadReplicas,
        Step::Collision,
        Step::Delete,
        Step::Restart,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Step::Start => "start",
            Step::Create => "create",
            Step::Scale => "scale",
            Step::ChangeImage => "change image",
            Step::DropEnvVar => "drop env var",
            Step::DeleteChild => "delete child",
            Step::EditChild => "edit child",
            Step::BadReplicas => "bad replicas",
            Step::Collision => "collision",
            Step::Delete => "delete",
            Step::Restart => "restart",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
