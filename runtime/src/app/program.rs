//! A program around an operator: the commands `run`, `crd`, `install`, `version` and `help`.
//!
//! Guarantees: exit code 2 for an invalid command line, 1 for a failure, each with one line on standard
//! error. Leaves to others: the options (`cli`), what the commands do (`run`).

use std::borrow::Cow;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use kube::core::{CustomResourceExt, Resource};

use crate::api::Operator;
use crate::app::cli;
use crate::app::cli::Command;
use crate::app::run;

/// Texts, version and CRD of a program; its operator is given separately.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// What the program does, in a few words, for `help`.
    pub about: &'static str,
    /// Its version, with the commit that it was built from: `0.1.0+1a2b3c4d5e6f`.
    pub version: &'static str,
    /// The CRD, for `crd` and `install`.
    pub crd: Definition,
    /// Revision of the CRD, if the CRD has it in its annotation `GROUP/crd-revision`: a running operator
    /// then logs when the cluster has another one.
    pub crd_revision: Option<i64>,
}

/// The CRD of a program, as YAML or JSON.
#[derive(Debug, Clone, Copy)]
pub enum Definition {
    /// Written.
    Text(&'static str),
    /// Made from the resource when it is asked for.
    Made(fn() -> String),
}

impl Definition {
    fn text(self) -> Cow<'static, str> {
        match self {
            Definition::Text(text) => text.into(),
            Definition::Made(make) => make().into(),
        }
    }
}

impl Program {
    /// A program of version `version` whose CRD is made from the resource `K`.
    pub const fn of<K: CustomResourceExt>(about: &'static str, version: &'static str) -> Self {
        Self {
            about,
            version,
            crd: Definition::Made(|| {
                // A definition that is made of strings, numbers and maps is JSON.
                serde_json::to_string_pretty(&K::crd()).unwrap_or_default()
            }),
            crd_revision: None,
        }
    }

    /// The CRD, as YAML or JSON.
    pub fn crd(&self) -> Cow<'static, str> {
        self.crd.text()
    }

    /// A program of version `version` with its CRD; the CRD has no revision.
    pub const fn new(about: &'static str, version: &'static str, crd: &'static str) -> Self {
        Self {
            about,
            version,
            crd: Definition::Text(crd),
            crd_revision: None,
        }
    }

    /// Prints why the command line is invalid. Returns exit code 2.
    pub fn misused(self, why: &str) -> ExitCode {
        eprintln!("error: {why}; `help` lists commands and options");
        ExitCode::from(2)
    }

    /// Parses the command line and runs its command. `arguments` are those after the program's name.
    pub fn main<O: Operator>(
        self,
        operator: O,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> ExitCode {
        crate::app::allocator::init();
        let code = self.work(operator, arguments);
        crate::app::allocator::end();
        code
    }

    fn work<O: Operator>(
        self,
        operator: O,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> ExitCode {
        let command = match cli::parse(arguments) {
            Ok(command) => command,
            Err(error) => {
                eprintln!(
                    "error: {error}; `{} help` lists commands and options",
                    O::NAME
                );
                return ExitCode::from(2);
            }
        };
        let done = match command {
            Command::Help => run::print(&cli::help(O::NAME, self.about)),
            Command::Version => run::print(&run::version(O::NAME, &self)),
            Command::Crd => run::print(&self.crd()),
            Command::Install(cluster) => {
                let crd = self.installed::<O>();
                run::block_on(|| run::install::<O>(cluster, &self, &crd))
            }
            Command::Run(options) => {
                let crd = self.installed::<O>();
                run::block_on(|| run::run(options, Arc::new(operator), &self, &crd))
            }
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn installed<O: Operator>(&self) -> crate::app::crd::Crd {
        let (plural, group) = (O::Resource::plural(&()), O::Resource::group(&()));
        crate::app::crd::Crd {
            name: format!("{plural}.{group}"),
            annotation: format!("{group}/crd-revision"),
            manager: O::NAME,
            definition: self.crd(),
            revision: self.crd_revision,
        }
    }
}
