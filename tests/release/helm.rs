//! Helm, where `scripts/helm.sh` puts it, and its output.
//!
//! Guarantees: the version that the script pins and no other.

use std::path::PathBuf;
use std::process::{Command, Output};

pub const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/helm");
const SCRIPT: &str = include_str!("../../scripts/helm.sh");

/// # Errors
/// It is not there; the message has the command that gets it.
pub fn find() -> Result<PathBuf, String> {
    let version = SCRIPT
        .lines()
        .find_map(|line| line.strip_prefix("helm_version="))
        .ok_or("scripts/helm.sh names no version")?;
    let cache = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => return Err("neither XDG_CACHE_HOME nor HOME is set".to_owned()),
    };
    let helm = cache.join(format!("tare/tools/helm-{version}/bin/helm"));
    match helm.is_file() {
        true => Ok(helm),
        false => Err(format!(
            "no Helm {version}; get it with `scripts/helm.sh version`"
        )),
    }
}

/// What the command has printed.
///
/// # Errors
/// It failed; what it said.
pub fn printed(command: &mut Command) -> Result<String, String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match status.success() {
        true => Ok(text(&stdout)),
        false => Err(text(&stdout) + &text(&stderr)),
    }
}
