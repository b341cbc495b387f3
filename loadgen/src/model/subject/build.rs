//! How a subject's program is made, as its file says it.
//!
//! Guarantees: pure. Leaves to others: making it (`run::build`).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How the program is made; without it, it is there already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Packages of this workspace: built together with those of other subjects.
    #[serde(default)]
    pub cargo_packages: Vec<String>,
    #[serde(default)]
    pub cargo_profile: Option<String>,
    /// A Go program of this workspace.
    #[serde(default)]
    pub go: Option<GoBuild>,
    /// Any other command, run in `base`.
    #[serde(default)]
    pub command: Vec<String>,
}

/// A Go program, built without cgo to `{bin}/<last part of module>-<last part of package>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoBuild {
    /// Folder of the module, from the root of this workspace.
    pub module: PathBuf,
    /// The main package, as `./cmd/operator`.
    pub package: String,
    /// Flags of `go build`.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl Build {
    /// # Errors
    /// One line that says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let given = [
            !self.cargo_packages.is_empty(),
            self.go.is_some(),
            !self.command.is_empty(),
        ];
        match given.into_iter().filter(|given| *given).count() {
            1 => Ok(()),
            _ => Err("[build]: give one of cargo_packages, go and command".into()),
        }
    }
}

impl GoBuild {
    /// The file name of the program.
    pub fn program(&self) -> String {
        let last = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        format!("{}-{}", last(&self.module), last(Path::new(&self.package)))
    }
}
