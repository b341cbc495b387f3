//! The command line of the example: what can be asked for. [`parse`] reads it.

mod parse;

use std::path::PathBuf;

use super::crud::Selection;
use super::exec::Asked;
use super::label::Change;
use super::logs::Options;
pub use parse::parse;

pub const HELP: &str = include_str!("help.txt");

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
    Get(Selection),
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

impl Command {
    /// All others are about one Pod.
    fn may_be_everywhere(&self) -> bool {
        let of_all = matches!(self, Command::Get(Selection { name: None, .. }));
        let layer = matches!(
            self,
            Command::Client | Command::Watcher | Command::Reflector | Command::Controller
        );
        of_all || layer || *self == Command::Help
    }
}
