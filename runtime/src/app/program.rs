//! A program around an operator: the commands `run`, `crd`, `install`, `version` and `help`.
//!
//! Guarantees: exit code 2 for a command line that cannot be used, 1 for a failure, each with one
//! line. Leaves to others: the options (`cli`), what the commands do (`run`).

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use kube::core::Resource;

use crate::api::Operator;
use crate::app::cli;
use crate::app::cli::Command;
use crate::app::run;

/// What a program tells of itself, beside its operator.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// In a few words, for `help`.
    pub about: &'static str,
    /// Its own version.
    pub version: &'static str,
    /// The CRD as YAML or JSON, for `crd` and `install`.
    pub crd: &'static str,
    /// What the CRD's annotation `tare.dev/crd-revision` says, where it has one: a running operator
    /// then tells when the cluster has another.
    pub crd_revision: Option<i64>,
}

impl Program {
    /// A program of version `version` with its CRD, without a revision of it.
    pub const fn new(about: &'static str, version: &'static str, crd: &'static str) -> Self {
        Self {
            about,
            version,
            crd,
            crd_revision: None,
        }
    }

    /// Says why the command line cannot be used.
    pub fn misused(self, why: &str) -> ExitCode {
        eprintln!("error: {why}; `help` lists commands and options");
        ExitCode::from(2)
    }

    /// The command line's command, done. `arguments` are those after the program's name.
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
            Command::Crd => run::print(self.crd),
            Command::Install(cluster) => {
                let crd = self.crd::<O>();
                run::block_on(|| run::install(cluster, &crd))
            }
            Command::Run(options) => {
                let crd = self.crd::<O>();
                run::block_on(|| run::run(options, Arc::new(operator), &crd))
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

    fn crd<O: Operator>(&self) -> crate::app::crd::Crd {
        let (plural, group) = (O::Resource::plural(&()), O::Resource::group(&()));
        crate::app::crd::Crd {
            name: format!("{plural}.{group}"),
            manager: O::NAME,
            definition: self.crd,
            revision: self.crd_revision,
        }
    }
}
