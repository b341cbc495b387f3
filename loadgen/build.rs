//! Puts version and commit into the loadgen binary, as `TARE_VERSION`:
//! `VERSION+COMMIT`, with `-dirty` where their sources differ from the commit.
//!
//! `TARE_COMMIT` overrides what git says. Without both the commit is `unknown`.

use std::process::Command;

/// What the binary is built from, as seen from this package.
const SOURCES: [&str; 9] = [
    "build.rs",
    "src",
    "scenarios",
    "subjects",
    "Cargo.toml",
    "../kubesim",
    "../controlplane",
    "../procstat",
    "../Cargo.lock",
];
/// Digits of the commit that are kept.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-env-changed=TARE_COMMIT");
    let commit = match std::env::var("TARE_COMMIT") {
        Ok(commit) if !commit.is_empty() => short(&commit),
        _ => of_git().unwrap_or_else(|| "unknown".to_owned()),
    };
    let version = env!("CARGO_PKG_VERSION");
    println!("cargo::rustc-env=TARE_VERSION={version}+{commit}");
}

/// The commit that is checked out. Watches what moves with it, and the sources.
fn of_git() -> Option<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    // Git appends to `logs/HEAD` with every commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if std::fs::exists(&path).unwrap_or(false) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(SOURCES);
    let changed = git(&status)?;
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    Some(short(&commit) + dirty)
}

/// The first digits of a commit, and whatever follows its digits.
fn short(commit: &str) -> String {
    let digits = commit.find('-').unwrap_or(commit.len());
    let (digits, rest) = commit.split_at(digits);
    format!("{}{rest}", digits.get(..DIGITS).unwrap_or(digits))
}

fn git(arguments: &[&str]) -> Option<String> {
    // Without optional locks `git status` leaves the index as it is.
    let mut git = Command::new("git");
    let output = git.args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
    let output = output.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
