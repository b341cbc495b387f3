//! Command lines that a user can paste into a shell. They depend on the environment only.

use std::path::{Path, PathBuf};

/// The words that call `loadgen control-plane`, as the user started this process.
pub(crate) fn program() -> String {
    let name = std::env::args_os()
        .next()
        .unwrap_or_else(|| "loadgen".into());
    let from_cargo = std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == "loadgen");
    if from_cargo {
        return "cargo run --release -p loadgen -- control-plane".to_owned();
    }
    format!("{} control-plane", quoted(Path::new(&name)))
}

/// A path as one word of a POSIX shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
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
