//! Words to a [`Usage`].
//!
//! Guarantees: pure; an error is one line that says what is wrong and where the help is.

use std::ffi::OsString;

use lexopt::prelude::*;

use super::{Asked, Command, HELP, Options, Place, Selection, Usage, UsageError};

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Usage, UsageError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Selection comes after `--` belongs to the command in the container.
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
        ["get"] => Command::Get(what(None, output.as_deref())?),
        ["get", name] => Command::Get(what(Some(name), output.as_deref())?),
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
    if place == Place::Everywhere && !command.may_be_everywhere() {
        return Err(UsageError(format!("{}: not in all namespaces", words[0])));
    }
    Ok(Usage { command, place })
}

/// Selection follows `--`.
fn command_line(theirs: &[OsString]) -> Result<Vec<String>, UsageError> {
    let missing = || UsageError("exec: -- and a command are missing".to_owned());
    let words = theirs.get(1..).filter(|words| !words.is_empty());
    let words = words.ok_or_else(missing)?.iter().cloned();
    let words = words.map(|word| word.string().map_err(UsageError::from));
    words.collect()
}

fn what(name: Option<&str>, output: Option<&str>) -> Result<Selection, UsageError> {
    let yaml = match output {
        None | Some("wide") => false,
        Some("yaml") => true,
        Some(other) => return Err(UsageError(format!("-o {other:?} is not wide or yaml"))),
    };
    let name = name.map(str::to_owned);
    Ok(Selection { name, yaml })
}
