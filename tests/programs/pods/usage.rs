//! Command lines: what is meant, and what is said of those that mean nothing.

use super::example::cli::{Command, Place, Usage, parse};
use super::example::crud::Selection;
use super::example::exec::Asked;
use super::example::logs::Options;

fn read(line: &str) -> Result<Usage, String> {
    let words = line.split_whitespace().map(Into::into);
    parse(words).map_err(|error| error.to_string())
}

#[test]
fn command_lines() {
    let usage = |command, place| Ok(Usage { command, place });
    let name = "web".to_owned();
    let everything = Selection {
        name: None,
        yaml: false,
    };
    assert_eq!(read("get"), usage(Command::Get(everything), Place::Default));
    let one = Selection {
        name: Some(name.clone()),
        yaml: true,
    };
    let shop = Place::Namespace("shop".to_owned());
    assert_eq!(
        read("get web -o yaml -n shop"),
        usage(Command::Get(one), shop)
    );
    let options = Options {
        container: Some("app".to_owned()),
        follow: true,
        tail: Some(5),
    };
    let logs = Command::Logs {
        name: name.clone(),
        options,
    };
    assert_eq!(
        read("logs web -c app -f --tail 5"),
        usage(logs, Place::Default)
    );
    let exec = Command::Exec(Asked {
        name,
        container: None,
        command: vec!["ls".to_owned(), "-n".to_owned(), "/".to_owned()],
    });
    assert_eq!(read("exec web -- ls -n /"), usage(exec, Place::Default));
    assert_eq!(
        read("watcher -A"),
        usage(Command::Watcher, Place::Everywhere)
    );
    assert_eq!(
        read("tree web --help"),
        usage(Command::Help, Place::Default)
    );
}

#[test]
fn bad_command_lines_say_what_and_where_to_look() {
    let cases = [
        ("", "a command is missing"),
        ("walk", "unknown command \"walk\""),
        ("delete", "delete: too few or too many words"),
        ("tree a b", "tree: too few or too many words"),
        ("get web -o json", "-o \"json\" is not wide or yaml"),
        ("get --tail 3", "invalid option '--tail'"),
        ("logs web --tail many", "cannot parse argument \"many\""),
        ("label web app", "\"app\" is not KEY=VALUE or KEY-"),
        ("exec web", "-- and a command are missing"),
        ("exec web --", "-- and a command are missing"),
        ("delete web -A", "delete: not in all namespaces"),
    ];
    for (line, want) in cases {
        let error = read(line).expect_err(line);
        let named =
            error.contains(want) && error.ends_with("`pods help` lists commands and options");
        assert!(named && !error.contains('\n'), "{line}: {error}");
    }
}
