//! Which commit a program was built from, by the program itself.
//!
//! Guarantees: never the checkout's commit; what a program does not say is `None`. Only programs that
//! are built here are started, for at most `ANSWERS_WITHIN`. Leaves to others: writing it down.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::spec::subject::{Language, Subject};

/// A program prints its version at once, or it does not know the option and would begin to work.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);
/// Before the commit in the build information that Go puts into every program.
const OF_GO: &[u8] = b"build\tvcs.revision=";

/// The commit of this program, where it says one.
pub fn commit(subject: &Subject, program: &Path, content: &[u8]) -> Option<String> {
    let build = subject.build.as_ref();
    let is_ours = build.is_some_and(|it| !it.cargo_packages.is_empty() || it.go.is_some());
    let said = if is_ours { version(program) } else { None };
    let commit = said.as_deref().and_then(of_version);
    let is_go = subject.language == Language::Go;
    commit.or_else(|| is_go.then(|| of_go(content)).flatten())
}

/// What follows the version, `tare 0.1.0+1a2b3c4d5e6f (…)`, or stands in brackets behind it, `NAME 0.1.0 (1a2b3c4d5e6f)`.
fn of_version(said: &str) -> Option<String> {
    let line = said.lines().next()?;
    if let Some((_, rest)) = line.split_once('+') {
        let commit = rest.split_whitespace().next()?;
        return (commit != "unknown").then(|| commit.to_owned());
    }
    let (_, rest) = line.rsplit_once('(')?;
    let commit = rest.strip_suffix(')')?;
    let digits = commit.strip_suffix("-dirty").unwrap_or(commit);
    let is_commit = digits.len() >= 7 && digits.chars().all(|c| c.is_ascii_hexdigit());
    is_commit.then(|| commit.to_owned())
}

fn of_go(content: &[u8]) -> Option<String> {
    let mut places = content.windows(OF_GO.len());
    let start = places.position(|place| place == OF_GO)? + OF_GO.len();
    let digits = content[start..]
        .iter()
        .take_while(|b| b.is_ascii_hexdigit());
    let commit: String = digits.map(|b| char::from(*b)).collect();
    (!commit.is_empty()).then_some(commit)
}

/// The output of `--version`, from an empty environment: a program that ignores the option finds no
/// cluster.
fn version(program: &Path) -> Option<String> {
    let child = Command::new(program)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.ok()?;
    let deadline = Instant::now() + ANSWERS_WITHIN;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(Some(status)) if status.success() => break,
            _ => {
                // Whatever it does, it is not asked any more.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_from_what_a_program_says() {
        for (said, want) in [
            (
                "tare 0.1.0+1a2b3c4d5e6f (x86_64, system)\n",
                Some("1a2b3c4d5e6f"),
            ),
            (
                "tare 0.1.0+1a2b3c4d5e6f-dirty\n",
                Some("1a2b3c4d5e6f-dirty"),
            ),
            ("tare 0.1.0+unknown\n", None),
            ("rival 0.2.0 (1a2b3c4d5e6f)\n", Some("1a2b3c4d5e6f")),
            (
                "rival 0.2.0 (1a2b3c4d5e6f-dirty)\n",
                Some("1a2b3c4d5e6f-dirty"),
            ),
            ("rival 0.2.0 (unknown)\n", None),
            ("operator 1.2 (x86_64, system)\n", None),
            ("operator 1.2\n", None),
            ("", None),
        ] {
            assert_eq!(of_version(said).as_deref(), want, "{said:?}");
        }
    }

    #[test]
    fn a_commit_is_read_from_go_build_information() {
        let with =
            b"\x00\xffbuild\tvcs=git\nbuild\tvcs.revision=0a1b2c\nbuild\tvcs.modified=true\n";
        assert_eq!(of_go(with).as_deref(), Some("0a1b2c"));
        assert_eq!(of_go(b"a program of another language"), None);
    }
}
