//! How a subject's program is made, as its file says it.
//!
//! Guarantees: pure. Leaves to others: making it (`engine::build`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How the program is made; without it, it is there already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Packages of this workspace: built together with those of other subjects.
    #[serde(default)]
    pub cargo_packages: Vec<String>,
    #[serde(default)]
    pub cargo_profile: Option<String>,
    /// A Go program whose sources are in a folder.
    #[serde(default)]
    pub go: Option<GoBuild>,
    /// A Go program from the module proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_module: Option<GoModule>,
    /// Any other command, run in `base`.
    #[serde(default)]
    pub command: Vec<String>,
}

/// A Go program of a module in a folder, built without cgo and in nobody's workspace to `{bin}/<output>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoBuild {
    /// Has `go.mod`; from the folder of the file.
    pub folder: PathBuf,
    /// The main package, as `./cmd/operator`.
    #[serde(default = "whole_module")]
    pub package: String,
    /// Flags of `go build`. `{commit}` stands for the commit of the folder.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Variables of `go build`, such as `GOEXPERIMENT`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// File name of the program; `<last part of folder>-<last part of package>` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A Go program of a module from the proxy, built without cgo in a copy of the module to `{bin}/<last part of package>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoModule {
    /// Its path, as `example.com/operator`.
    pub module: String,
    /// As `v1.2.3`.
    pub version: String,
    /// The main package, as `./cmd/operator`.
    #[serde(default = "whole_module")]
    pub package: String,
    /// Flags of `go build`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// The package of a module that is one program.
fn whole_module() -> String {
    ".".into()
}

/// What stands for the commit in the flags of `go build`.
const COMMIT: &str = "{commit}";

impl Build {
    /// # Errors
    /// One line that says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let given = [
            !self.cargo_packages.is_empty(),
            self.go.is_some(),
            self.go_module.is_some(),
            !self.command.is_empty(),
        ];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err("[build]: give one of cargo_packages, go, go_module and command".into());
        }
        self.go.as_ref().map_or(Ok(()), GoBuild::check)?;
        self.go_module.as_ref().map_or(Ok(()), GoModule::check)
    }
}

impl GoBuild {
    fn check(&self) -> Result<(), String> {
        check_package("go", &self.package)?;
        match &self.output {
            Some(output) if !is_plain(output) => Err(format!(
                "[build.go] output {output:?}: write the name of a file, such as my-operator"
            )),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// One line: there is no module in the folder.
    pub fn check_folder(&self, base: &Path) -> Result<(), String> {
        let folder = base.join(&self.folder);
        match folder.join("go.mod").is_file() {
            true => Ok(()),
            false => Err(format!(
                "[build.go] folder {}: it has no go.mod; make one there with: go mod init operator && go mod tidy",
                folder.display()
            )),
        }
    }

    /// The file name of the program.
    pub fn program(&self) -> String {
        if let Some(output) = &self.output {
            return output.clone();
        }
        let names = [self.folder.as_path(), Path::new(&self.package)];
        let names = names.map(|path| path.file_name().unwrap_or_default().to_string_lossy());
        let names = names.iter().filter(|name| !name.is_empty());
        names.map(AsRef::as_ref).collect::<Vec<_>>().join("-")
    }

    /// The command that builds it.
    pub fn command(&self, program: &Path, commit: &str) -> Vec<String> {
        let flags = self.flags.iter();
        let flags = flags.map(|flag| flag.replace(COMMIT, commit));
        go_build(&self.env, flags, program, &self.package)
    }
}

impl GoModule {
    fn check(&self) -> Result<(), String> {
        let Self {
            module, package, ..
        } = self;
        if module.is_empty() || module.contains('@') || !module.split('/').all(is_plain) {
            return Err(format!(
                "[build.go_module] module {module:?}: write the path of a module, such as example.com/operator, and its main package as package = \"./cmd/operator\""
            ));
        }
        // What is measured has to be the same program tomorrow.
        let rest = self.version.strip_prefix('v').unwrap_or_default();
        if !(rest.starts_with(|c: char| c.is_ascii_digit()) && is_plain(rest)) {
            let version = &self.version;
            return Err(format!(
                "[build.go_module] {version:?}: name one version, such as v1.2.3"
            ));
        }
        check_package("go_module", package)
    }

    /// `MODULE@VERSION`, as `go mod download` has it.
    pub fn query(&self) -> String {
        format!("{}@{}", self.module, self.version)
    }

    /// The file name of the program.
    pub fn program(&self) -> &str {
        let path = match self.package.as_str() {
            "." => &self.module,
            package => package,
        };
        path.rsplit('/').next().unwrap_or_default()
    }

    /// The command that builds it, in the copy.
    pub fn command(&self, program: &Path) -> Vec<String> {
        let flags = self.flags.iter().cloned();
        go_build(&BTreeMap::new(), flags, program, &self.package)
    }
}

/// The folder may lie in somebody else's repository, whose commit is not this module's.
fn go_build(
    env: &BTreeMap<String, String>,
    flags: impl Iterator<Item = String>,
    program: &Path,
    package: &str,
) -> Vec<String> {
    let words = ["env", "CGO_ENABLED=0", "GOWORK=off"].map(str::to_owned);
    let env = env.iter().map(|(name, value)| format!("{name}={value}"));
    let go = ["go", "build", "-buildvcs=false"].map(str::to_owned);
    let end = [
        "-o".to_owned(),
        program.display().to_string(),
        package.into(),
    ];
    let all = words.into_iter().chain(env).chain(go).chain(flags);
    all.chain(end).collect()
}

/// A folder of the module.
fn check_package(table: &str, package: &str) -> Result<(), String> {
    let inside = package.strip_prefix("./");
    match package == "." || inside.is_some_and(|inside| inside.split('/').all(is_plain)) {
        true => Ok(()),
        false => Err(format!(
            "[build.{table}] package {package:?}: write the folder of a main package, such as ./cmd/operator"
        )),
    }
}

/// Whether it is one part of a path that leads to nowhere else.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\'])
}
