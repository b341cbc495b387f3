//! What the build scripts of the workspace share: version and commit for the binaries.
//!
//! Guarantees: `-dirty` where the sources of a binary differ from the commit. `TARE_COMMIT` overrides
//! what git says; without both the commit is `unknown`.

use std::process::Command;

/// Digits of the commit that are kept.
const DIGITS: usize = 12;

/// Puts `VERSION+COMMIT` into the package's binaries as `TARE_VERSION`, and the commit alone as
/// `BUILT_FROM`. `sources` are what they are built from, as seen from the package.
pub fn put_version(sources: &[&str]) {
    println!("cargo::rerun-if-env-changed=TARE_COMMIT");
    let commit = match std::env::var("TARE_COMMIT") {
        Ok(commit) if !commit.is_empty() => short(&commit),
        _ => of_git(sources).unwrap_or_else(|| "unknown".to_owned()),
    };
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=TARE_VERSION={version}+{commit}");
    println!("cargo::rustc-env=BUILT_FROM={commit}");
}

/// The commit that is checked out. Watches what moves with it, and the sources.
fn of_git(sources: &[&str]) -> Option<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    // Git appends to `logs/HEAD` with every commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if std::fs::exists(&path).unwrap_or(false) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for source in sources {
        println!("cargo::rerun-if-changed={source}");
    }
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(sources);
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
