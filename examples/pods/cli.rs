//! The command line of the example.
//!
//! Guarantees: pure; an error is one line that says what is wrong and where to look.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;

use super::crud::{Change, What};
use super::exec::Asked;
use super::logs::Options;

pub const HELP: &str = "\
pods: a tour of kube's client, on the cluster of $KUBECONFIG

Usage: pods <command> [options]

One object after the other
  create FILE          creates the Pods of a YAML file
  get [NAME]           prints what `kubectl get pods -o wide` prints; -o yaml for YAML
  label NAME KEY=VALUE sets a label, KEY- removes it (an update)
  delete NAME          deletes a Pod and waits until it is gone
Inside a Pod
  logs NAME            prints its log; -f goes on, --tail N begins N lines before its end
  exec NAME -- COMMAND runs a command in it and ends as that ends
Objects of any kind
  tree NAME            prints what owns a Pod, up to the root
From a client to a controller, until Ctrl-C
  client               lists, then watches from there, as it stands on the wire
  watcher              a watch that recovers
  reflector            a watch that keeps what it has seen
  controller           a function that is called for whatever has changed
Your own kind
  install              installs the CRD of a Rust type (notes.example.com)

Options
  -n, --namespace NS   there instead of the context's namespace
  -A, --all-namespaces everywhere (get and the four layers)
  -c, --container NAME of several containers (logs, exec)
  -o wide|yaml         how objects are printed (get)                       [wide]
";

/// A command and where it works.
#[derive(Debug, PartialEq)]
pub struct Usage {
    pub command: Command,
    pub place: Place,
}

#[derive(Debug, PartialEq)]
pub enum Place {
    /// The namespace of the kubeconfig's context.
    Default,
    Namespace(String),
    Everywhere,
}

#[derive(Debug, PartialEq)]
pub enum Command {
    Help,
    Create { file: PathBuf },
    Get(What),
    Label { name: String, change: Change },
    Delete { name: String },
    Logs { name: String, options: Options },
    Exec(Asked),
    Tree { name: String },
    Client,
    Watcher,
    Reflector,
    Controller,
    Install,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}; `pods help` lists commands and options")]
pub struct UsageError(String);

impl From<lexopt::Error> for UsageError {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Usage, UsageError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // What comes after `--` belongs to the command in the container.
    let end = arguments.iter().position(|one| one == "--");
    let (ours, theirs) = arguments.split_at(end.unwrap_or(arguments.len()));
    let mut words = Vec::new();
    let mut place = Place::Default;
    let (mut container, mut output, mut options) = (None, None, Options::default());
    let mut parser = lexopt::Parser::from_args(ours.iter().cloned());
    while let Some(argument) = parser.next()? {
        let command = words.first().map(String::as_str);
        match argument {
            Value(word) => words.push(word.string()?),
            Short('h') | Long("help") => words = vec!["help".to_owned()],
            Short('n') | Long("namespace") => place = Place::Namespace(parser.value()?.string()?),
            Short('A') | Long("all-namespaces") => place = Place::Everywhere,
            Short('c') | Long("container") if matches!(command, Some("logs" | "exec")) => {
                container = Some(parser.value()?.string()?);
            }
            Short('o') | Long("output") if command == Some("get") => {
                output = Some(parser.value()?.string()?);
            }
            Short('f') | Long("follow") if command == Some("logs") => options.follow = true,
            Long("tail") if command == Some("logs") => {
                options.tail = Some(parser.value()?.parse()?)
            }
            other => return Err(other.unexpected().into()),
        }
    }
    options.container.clone_from(&container);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |word: &str| word.to_owned();
    let command = match words[..] {
        [] => return Err(UsageError("a command is missing".to_owned())),
        ["help", ..] => Command::Help,
        ["create", file] => Command::Create { file: file.into() },
        ["get"] => Command::Get(What::new(None, output.as_deref())?),
        ["get", name] => Command::Get(What::new(Some(name), output.as_deref())?),
        ["label", name, change] => Command::Label {
            name: owned(name),
            change: change.parse().map_err(UsageError)?,
        },
        ["delete", name] => Command::Delete { name: owned(name) },
        ["logs", name] => Command::Logs {
            name: owned(name),
            options,
        },
        ["exec", name] => Command::Exec(Asked {
            name: owned(name),
            container,
            command: command_line(theirs)?,
        }),
        ["tree", name] => Command::Tree { name: owned(name) },
        ["client"] => Command::Client,
        ["watcher"] => Command::Watcher,
        ["reflector"] => Command::Reflector,
        ["controller"] => Command::Controller,
        ["install"] => Command::Install,
        [command, ..] if HELP.contains(&format!("\n  {command} ")) => {
            return Err(UsageError(format!("{command}: too few or too many words")));
        }
        [other, ..] => return Err(UsageError(format!("unknown command {other:?}"))),
    };
    let one_pod = !matches!(
        command,
        Command::Help
            | Command::Get(What { name: None, .. })
            | Command::Client
            | Command::Watcher
            | Command::Reflector
            | Command::Controller
    );
    if place == Place::Everywhere && one_pod {
        return Err(UsageError(format!("{}: not in all namespaces", words[0])));
    }
    Ok(Usage { command, place })
}

/// What follows `--`.
fn command_line(theirs: &[OsString]) -> Result<Vec<String>, UsageError> {
    let missing = || UsageError("exec: -- and a command are missing".to_owned());
    let words = theirs.get(1..).filter(|words| !words.is_empty());
    let words = words.ok_or_else(missing)?.iter().cloned();
    let words = words.map(|word| word.string().map_err(UsageError::from));
    words.collect()
}

impl What {
    fn new(name: Option<&str>, output: Option<&str>) -> Result<What, UsageError> {
        let yaml = match output {
            None | Some("wide") => false,
            Some("yaml") => true,
            Some(other) => return Err(UsageError(format!("-o {other:?} is not wide or yaml"))),
        };
        let name = name.map(str::to_owned);
        Ok(What { name, yaml })
    }
}
