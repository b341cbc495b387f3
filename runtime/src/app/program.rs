//! A program around an operator: the commands `run`, `crd`, `install`, `version` and `help`.
//!
//! Guarantees: exit code 2 for an invalid command line, 1 for a failure, each with one line on standard
//! error. Leaves to others: the options (`cli`), what the commands do (`run`).

use std::borrow::Cow;
use std::ffi::OsString;
use std::process::ExitCode;

use kube::core::{CustomResourceExt, Resource};

use crate::api::Operator;
use crate::app::cli;
use crate::app::cli::Command;
use crate::app::crd::Crd;
use crate::app::front::{Front, Shared};
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

    /// A program of version `version` with its CRD; the CRD has no revision. The text is empty where the owner is of a kind of
    /// Kubernetes itself.
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
        let crd = Some(self.installed::<O>());
        // There is none of a kind of Kubernetes itself.
        let front = Front::operator(operator, crd.filter(|crd| !crd.definition.is_empty()));
        main(O::NAME, &self, vec![front], arguments)
    }

    /// A program of several operators and controllers, with the name `name`. They share the command line, the client, the Lease and
    /// the admin port.
    pub fn several(name: &'static str, about: &'static str, version: &'static str) -> Several {
        Several {
            name,
            program: Self::new(about, version, ""),
            fronts: Vec::new(),
            crds: Vec::new(),
        }
    }

    fn installed<O: Operator>(&self) -> Crd {
        let (plural, group) = (O::Resource::plural(&()), O::Resource::group(&()));
        self.named(format!("{plural}.{group}"), &group, O::NAME)
    }

    fn named(&self, name: String, group: &str, manager: &'static str) -> Crd {
        Crd {
            name,
            annotation: format!("{group}/crd-revision"),
            manager,
            definition: self.crd(),
            revision: self.crd_revision,
        }
    }
}

/// Operators and controllers in one program: [`Program::several`].
pub struct Several {
    name: &'static str,
    program: Program,
    fronts: Vec<Front>,
    /// Those of resources that no operator has.
    crds: Vec<Crd>,
}

impl Several {
    /// An operator, with the CRD of its resource.
    #[must_use]
    pub fn operator<O: Operator>(mut self, operator: O) -> Self
    where
        O::Resource: CustomResourceExt,
    {
        let made = Program::of::<O::Resource>(self.program.about, self.program.version);
        let front = Front::operator(operator, Some(made.installed::<O>()));
        self.fronts.push(front);
        self
    }

    /// The CRD of a resource that a controller reconciles or reads, for `crd`, `install` and `--install-crd`.
    #[must_use]
    pub fn resource<K: CustomResourceExt>(mut self) -> Self {
        let made = Program::of::<K>(self.program.about, self.program.version);
        let (name, group) = (K::crd_name(), K::api_resource().group);
        self.crds
            .push(made.named(name.to_owned(), &group, self.name));
        self
    }

    /// The same of a CRD that is written: its name, `PLURAL.GROUP`, and its text, YAML or JSON.
    #[must_use]
    pub fn crd(mut self, name: &str, definition: &'static str) -> Self {
        let program = Program::new(self.program.about, self.program.version, definition);
        let group = name.split_once('.').map_or("", |(_, group)| group);
        self.crds
            .push(program.named(name.to_owned(), group, self.name));
        self
    }

    /// A controller: `run` gets what all share and ends when that says so.
    #[must_use]
    pub fn controller<F>(
        mut self,
        name: &str,
        run: impl FnOnce(Shared) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.fronts.push(Front::controller(name, run));
        self
    }

    /// Parses the command line and runs its command. `arguments` are those after the program's name.
    pub fn main(mut self, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        // Whoever begins first installs them: a controller lists what it watches once it can.
        if let Some(first) = self.fronts.first_mut() {
            first.crds.append(&mut self.crds);
        }
        main(self.name, &self.program, self.fronts, arguments)
    }
}

fn main(
    name: &'static str,
    program: &Program,
    fronts: Vec<Front>,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    crate::allocator::init();
    work(name, program, fronts, arguments)
}

/// The command, where all fronts can run it.
fn fits(command: Command, fronts: &[Front]) -> Result<Command, String> {
    let of_cluster = fronts.iter().find_map(|front| front.of_cluster.as_deref());
    match (&command, of_cluster) {
        (Command::Run(options), Some(kind)) if !options.namespaces.is_empty() => Err(format!(
            "--namespace cannot be given: a {kind} is in no namespace"
        )),
        _ => Ok(command),
    }
}

fn work(
    name: &'static str,
    program: &Program,
    fronts: Vec<Front>,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    let command = cli::parse(arguments).map_err(|error| error.to_string());
    let command = match command.and_then(|command| fits(command, &fronts)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("error: {error}; `{name} help` lists commands and options");
            return ExitCode::from(2);
        }
    };
    let crds = || {
        fronts
            .iter()
            .flat_map(|front| front.crds.clone())
            .collect::<Vec<_>>()
    };
    let done = match command {
        Command::Help => run::print(&cli::help(name, program.about)),
        Command::Version => run::print(&run::version(name, program)),
        Command::Crd => {
            let crds = crds();
            let texts: Vec<&str> = crds.iter().map(|crd| &*crd.definition).collect();
            run::print(&texts.join("\n---\n"))
        }
        Command::Install(cluster) => {
            let crds = crds();
            run::block_on(|| run::install(cluster, name, program, &crds))
        }
        Command::Run(options) => run::block_on(|| run::run(options, name, program, fronts)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_refused_where_owners_are_in_none() {
        let front = |of_cluster: Option<&str>| Front {
            of_cluster: of_cluster.map(str::to_owned),
            ..Front::controller("teams", |_| async {})
        };
        let fronts = [front(None), front(Some("Team"))];
        let run = |line: &str| {
            let arguments = line.split(' ').map(OsString::from);
            cli::parse(arguments).expect("a valid line")
        };
        let narrowed = || run("run --namespace shop");
        assert!(fits(run("run"), &fronts).is_ok() && fits(narrowed(), &fronts[..1]).is_ok());
        let refused = fits(narrowed(), &fronts).err();
        assert_eq!(
            refused.as_deref(),
            Some("--namespace cannot be given: a Team is in no namespace")
        );
    }
}
