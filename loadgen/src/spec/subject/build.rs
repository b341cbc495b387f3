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
    /// A Go program of this workspace.
    #[serde(default)]
    pub go: Option<GoBuild>,
    /// A Go program of somebody else's, from the module proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_install: Option<GoInstall>,
    /// The same for a module with replacements, which go install refuses: built as the main module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_module: Option<GoModule>,
    /// A main package of the user's own that starts somebody else's operator, which is a library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_wrapper: Option<GoWrapper>,
    /// Any other command, run in `base`.
    #[serde(default)]
    pub command: Vec<String>,
}

/// A Go program, built without cgo to `{bin}/<output>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoBuild {
    /// Folder of the module, from the root of this workspace.
    pub module: PathBuf,
    /// The main package, as `./cmd/operator`.
    pub package: String,
    /// Flags of `go build`. `{commit}` stands for the commit of the module's folder.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Variables of `go build`, such as `GOEXPERIMENT`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// File name of the program; `<last part of module>-<last part of package>` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
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
            self.go_install.is_some(),
            self.go_module.is_some(),
            self.go_wrapper.is_some(),
            !self.command.is_empty(),
        ];
        match given.into_iter().filter(|given| *given).count() {
            1 => {}
            _ => {
                return Err(
                    "[build]: give one of cargo_packages, go, go_install, go_module, go_wrapper and command"
                        .into(),
                );
            }
        }
        self.go_install.as_ref().map_or(Ok(()), GoInstall::check)?;
        self.go_module.as_ref().map_or(Ok(()), GoModule::check)?;
        self.go_wrapper.as_ref().map_or(Ok(()), GoWrapper::check)
    }
}

impl Build {
    /// The file name of a program of a Go module that is not of this workspace, whose author has named it.
    pub fn foreign_program(&self) -> Option<&str> {
        let install = self.go_install.as_ref().map(GoInstall::program);
        let module = self.go_module.as_ref().map(GoModule::program);
        let wrapper = self.go_wrapper.as_ref().map(|go| go.output.as_str());
        install.or(module).or(wrapper)
    }
}

/// A main package of a module without replacements, built without cgo to `{bin}/<last part of package>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoInstall {
    /// Its path, as `example.com/operator/cmd/operator`.
    pub package: String,
    /// Of its module, as `v1.2.3`.
    pub version: String,
    /// Flags of `go install`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

impl GoInstall {
    fn check(&self) -> Result<(), String> {
        let Self {
            package, version, ..
        } = self;
        one_version("go_install", version)?;
        match package.contains('/') && !package.contains('@') {
            true => Ok(()),
            false => Err(format!(
                "[build.go_install] {package:?}: write the path of a main package, such as example.com/operator/cmd/operator"
            )),
        }
    }

    /// The file name of the program.
    pub fn program(&self) -> &str {
        self.package.rsplit('/').next().unwrap_or_default()
    }

    /// The arguments of `go`.
    pub fn args(&self) -> Vec<String> {
        let mut args = vec!["install".to_owned()];
        args.extend(self.flags.iter().cloned());
        args.push(format!("{}@{}", self.package, self.version));
        args
    }
}

/// A main package of a module from the proxy, built without cgo to `{bin}/<last part of package>` in a copy of
/// the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoModule {
    /// Its path, as `example.com/operator`.
    pub module: String,
    /// As `v1.2.3`.
    pub version: String,
    /// The main package, as `./cmd/operator`.
    pub package: String,
    /// Flags of `go build`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

impl GoModule {
    fn check(&self) -> Result<(), String> {
        let Self {
            module, package, ..
        } = self;
        one_version("go_module", &self.version)?;
        if module.contains('@') || !module.split('/').all(is_plain) {
            return Err(format!(
                "[build.go_module] {module:?}: write the path of a module, such as example.com/operator"
            ));
        }
        let inside = package.strip_prefix("./");
        match inside.is_some_and(|inside| inside.split('/').all(is_plain)) {
            true => Ok(()),
            false => Err(format!(
                "[build.go_module] {package:?}: write the folder of a main package, such as ./cmd/operator"
            )),
        }
    }

    /// `MODULE@VERSION`, as `go mod download` has it.
    pub fn query(&self) -> String {
        format!("{}@{}", self.module, self.version)
    }

    /// The file name of the program.
    pub fn program(&self) -> &str {
        self.package.rsplit('/').next().unwrap_or_default()
    }

    /// The arguments of `go`. Its copy may lie in somebody else's repository, whose commit is not this
    /// module's.
    pub fn args(&self, program: &Path) -> Vec<String> {
        let mut args = vec!["build".to_owned(), "-buildvcs=false".into()];
        args.extend(self.flags.iter().cloned());
        args.extend(["-o".into(), program.display().to_string()]);
        args.push(self.package.clone());
        args
    }
}

/// A Go module in a folder, whose `go.mod` and `go.sum` name what it needs of the module proxy; built without cgo to
/// `{bin}/<output>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoWrapper {
    /// Has `go.mod`; from the folder of the file.
    pub folder: PathBuf,
    /// File name of the program.
    pub output: String,
    /// The main package, as `./cmd/operator`; that of the folder itself without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Flags of `go build`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

impl GoWrapper {
    fn check(&self) -> Result<(), String> {
        if !is_plain(&self.output) {
            return Err(format!(
                "[build.go_wrapper] output {:?}: write the name of a file, such as my-operator",
                self.output
            ));
        }
        let package = self.package.as_deref();
        let inside = package.map(|package| package.strip_prefix("./"));
        match inside.is_none_or(|inside| inside.is_some_and(|it| it.split('/').all(is_plain))) {
            true => Ok(()),
            false => Err(format!(
                "[build.go_wrapper] package {:?}: write the folder of a main package, such as ./cmd/operator",
                package.unwrap_or_default()
            )),
        }
    }

    /// # Errors
    /// One line: there is no module in the folder.
    pub fn check_folder(&self, base: &Path) -> Result<(), String> {
        let folder = base.join(&self.folder);
        match folder.join("go.mod").is_file() {
            true => Ok(()),
            false => Err(format!(
                "[build.go_wrapper] folder {}: it has no go.mod; make one there with: go mod init wrapper && go mod tidy",
                folder.display()
            )),
        }
    }

    /// The arguments of `go`, in the folder.
    pub fn args(&self, program: &Path) -> Vec<String> {
        let mut args = vec!["build".to_owned(), "-buildvcs=false".into()];
        args.extend(self.flags.iter().cloned());
        args.extend(["-o".into(), program.display().to_string()]);
        args.push(self.package.clone().unwrap_or_else(|| ".".into()));
        args
    }
}

/// What is measured has to be the same program tomorrow.
fn one_version(table: &str, version: &str) -> Result<(), String> {
    let rest = version.strip_prefix('v').unwrap_or_default();
    match rest.starts_with(|c: char| c.is_ascii_digit()) && is_plain(rest) {
        true => Ok(()),
        false => Err(format!(
            "[build.{table}] {version:?}: name one version, such as v1.2.3"
        )),
    }
}

/// Whether it is one part of a path that leads to nowhere else.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\'])
}

impl GoBuild {
    /// The file name of the program.
    pub fn program(&self) -> String {
        if let Some(output) = &self.output {
            return output.clone();
        }
        let last = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        format!("{}-{}", last(&self.module), last(Path::new(&self.package)))
    }

    /// The flags of `go build`.
    pub fn flags(&self, commit: &str) -> Vec<String> {
        let flags = self.flags.iter();
        flags.map(|flag| flag.replace(COMMIT, commit)).collect()
    }
}
