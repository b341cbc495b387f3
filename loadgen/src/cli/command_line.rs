//! Command lines that a user can paste into a shell.
//!
//! Guarantees: each is whole, so that it does what the text beside it says.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::target::context::TargetArgs;

/// The words that call `loadgen`, as the user started this process.
pub(crate) fn program() -> String {
    let package = std::env::var_os("CARGO_PKG_NAME");
    called(std::env::args_os().next(), package)
}

/// `package`: what cargo says that it runs.
fn called(name: Option<OsString>, package: Option<OsString>) -> String {
    if package.is_some_and(|package| package == "loadgen") {
        return "cargo run --release -p loadgen --".to_owned();
    }
    let name = name.unwrap_or_else(|| "loadgen".into());
    quoted(Path::new(&name))
}

/// What was typed, without the folder of the program, as a shell takes it.
pub(crate) fn of_process() -> String {
    typed(program(), std::env::args().skip(1))
}

fn typed(program: String, options: impl Iterator<Item = String>) -> String {
    let program = match program.starts_with("cargo ") {
        true => program,
        false => "loadgen".to_owned(),
    };
    let options = options.map(|text| word(&text));
    let words: Vec<String> = std::iter::once(program).chain(options).collect();
    words.join(" ")
}

/// A path as one word of a POSIX shell.
pub(crate) fn quoted(path: &Path) -> String {
    word(&path.display().to_string())
}

/// A text as one word of a POSIX shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Removes what this run has left, of its workload and where it was. `workload`: as it was named, if it was.
pub(crate) fn clean(run: &str, workload: Option<&str>, target: Option<&TargetArgs>) -> String {
    let kubeconfig = target.and_then(|target| target.kubeconfig.as_deref());
    let context = target.and_then(|target| target.context.as_deref());
    let options = [
        ("--workload", workload.map(word)),
        ("--kubeconfig", kubeconfig.map(quoted)),
        ("--context", context.map(word)),
    ];
    let options = options.into_iter();
    let given = options.filter_map(|(option, value)| Some(format!(" {option} {}", value?)));
    format!(
        "{} clean --run {run}{}",
        program(),
        given.collect::<String>()
    )
}

/// The first program of this name on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_removes_a_run_names_its_workload_and_its_cluster() {
        let target = TargetArgs {
            kubeconfig: Some("my files/x".into()),
            context: Some("edge".to_owned()),
            yes: false,
        };
        let whole = clean("abc", Some("./gadgets"), Some(&target));
        let want = "clean --run abc --workload ./gadgets --kubeconfig 'my files/x' --context edge";
        assert!(whole.ends_with(want), "{whole}");
        assert!(clean("abc", None, None).ends_with("clean --run abc"));
    }

    #[test]
    fn what_was_typed_is_told_as_a_shell_takes_it() {
        for (name, package, want) in [
            ("/usr/bin/loadgen", None, "loadgen bench"),
            ("/usr/bin/loadgen", Some("other"), "loadgen bench"),
            (
                "target/release/loadgen",
                Some("loadgen"),
                "cargo run --release -p loadgen -- bench",
            ),
        ] {
            let program = called(Some(name.into()), package.map(OsString::from));
            let options = ["bench", "--host-label", "Lena's box", "--seed", "2"];
            let whole = typed(program, options.into_iter().map(str::to_owned));
            let options = r"--host-label 'Lena'\''s box' --seed 2";
            assert_eq!(whole, format!("{want} {options}"), "{name} {package:?}");
        }
    }

    #[test]
    fn a_path_is_one_word() {
        for (path, want) in [
            ("/tmp/a-1/x.kubeconfig", "/tmp/a-1/x.kubeconfig"),
            ("/tmp/my files/x", "'/tmp/my files/x'"),
            ("/tmp/it's", r"'/tmp/it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(Path::new(path)), want);
        }
    }
}
