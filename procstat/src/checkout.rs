//! Which state of a checkout is measured.
//!
//! Leaves to others: what a result without one says.

use std::path::Path;
use std::process::Command;

/// The commit of the checkout in `folder`, with `-dirty` where something was changed, but for what lies
/// in `apart_from`; `None` where git knows of none.
pub fn revision(folder: &Path, apart_from: Option<&str>) -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(args)
            // Without optional locks `git status` leaves the index as it is.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .output()
            .ok()?;
        let told = || String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then(told)
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let except = apart_from.map(|path| format!(":!{path}"));
    let mut status = vec!["status", "--porcelain", "--", "."];
    status.extend(except.as_deref());
    Some(match git(&status) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit}-dirty"),
    })
}
