//! The programs as they are built, and what their help says.
//!
//! Guarantees: `loadgen` is built anew where it is older than its sources. Leaves to others: what the
//! programs do.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::tree;

/// The built `tare`.
pub fn tare() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tare"))
}

/// The built `loadgen`.
pub fn loadgen() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = tare().with_file_name("loadgen");
        let changed = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
        let sources = tree::files("loadgen/src", "rs").into_iter();
        let newest: Option<SystemTime> = sources
            .filter_map(|file| changed(&tree::root().join(file)))
            .max();
        if changed(&path) < newest {
            let mut build = Command::new(env!("CARGO"));
            // With the features that the tests have: any other set compiles half of its crates again.
            build.args([
                "test",
                "--quiet",
                "--workspace",
                "--no-run",
                "--test",
                "commands",
            ]);
            let built = build.current_dir(tree::root()).status();
            assert!(
                built.is_ok_and(|status| status.success()),
                "cannot build loadgen"
            );
        }
        path
    })
}

/// An example, where it is built.
pub fn example(name: &str) -> Option<PathBuf> {
    let path = tare().with_file_name("examples").join(name);
    path.exists().then_some(path)
}

/// Runs a program in the checkout.
pub fn run(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(tree::root());
    // No cluster of the user's, whatever is run.
    command.env("KUBECONFIG", "/nonexistent/kubeconfig");
    let output = command.output();
    output.unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()))
}

/// What a program prints, standard output and error.
pub fn printed(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr];
    both.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// Whether the program accepts these arguments: help is asked for behind them, and is only printed
/// when everything before it is known.
pub fn accepts(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut with_help = arguments.to_vec();
    with_help.push("--help");
    let output = run(program, &with_help);
    match output.status.success() {
        true => Ok(()),
        false => Err(printed(&output)),
    }
}

/// The help of every command of both programs, each with the command line that prints it.
pub fn help_texts() -> Vec<(String, String)> {
    let mut texts = vec![("tare help".to_owned(), printed(&run(&tare(), &["help"])))];
    let mut left: Vec<Vec<String>> = vec![vec![]];
    while let Some(command) = left.pop() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let text = printed(&run(loadgen(), &arguments));
        for name in subcommands(&text) {
            let mut deeper = command.clone();
            deeper.push(name);
            left.push(deeper);
        }
        texts.push((format!("loadgen {}", arguments.join(" ")), text));
    }
    texts
}

/// The names below `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty());
    names
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}
