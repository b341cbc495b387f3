//! The workloads that come with loadgen, and those of the user.
//!
//! Guarantees: shipped ones are in the program, so that it needs no checkout. Leaves to others: their
//! format (`file`).

use std::path::{Path, PathBuf};

use crate::spec::workload::folder::Folder;
use crate::spec::workload::{Error, Workload, file};

// `FILES`: path in the checkout and text of every file of `workloads/` and `subjects/`, and of the CRDs that
// they name.
include!(concat!(env!("OUT_DIR"), "/workloads.rs"));

/// What a workload's file is called in its folder.
pub const FILE: &str = "workload.toml";

/// The text of a file of the checkout, where the program has it.
pub fn text(path: &str) -> Option<&'static str> {
    let mut files = FILES.iter();
    files.find_map(|(file, text)| (*file == path).then_some(*text))
}

/// The subjects of `subjects/`: path in the checkout, and text.
pub fn subjects() -> impl Iterator<Item = (&'static str, &'static str)> {
    let files = FILES.iter().copied();
    files.filter(|(path, _)| path.starts_with("subjects/") && path.ends_with(".toml"))
}

/// Names of the shipped workloads, sorted.
pub fn names() -> Vec<&'static str> {
    let files = FILES.iter();
    let named = files.filter_map(|(path, _)| {
        let rest = path.strip_prefix("workloads/")?;
        rest.strip_suffix(FILE)?.strip_suffix('/')
    });
    named.collect()
}

/// A shipped workload.
///
/// # Errors
/// The build was given a broken file.
fn shipped(name: &str) -> Result<Workload, Error> {
    let folder = Folder::Shipped(Path::new("workloads").join(name));
    file::read(&folder, FILE, name)
}

/// The workload that is meant where none is named.
///
/// # Errors
/// The build was given a broken file.
pub fn default() -> Result<Workload, Error> {
    let mut names = names().into_iter();
    let marked = |name: &&str| {
        let text = text(&format!("workloads/{name}/{FILE}"));
        text.is_some_and(|text| text.lines().any(|line| line.trim() == "default = true"))
    };
    shipped(names.find(marked).unwrap_or_default())
}

/// The workload of this name, as [`find`] takes it; without one the default.
///
/// # Errors
/// As for [`find`].
pub fn named(name: Option<&str>, base: Option<&Path>) -> Result<Workload, Error> {
    name.map_or_else(default, |name| find(name, base))
}

/// A workload by the name of a shipped one, or by the path of its folder or file, relative to `base`.
///
/// # Errors
/// It is not there, or cannot be used.
pub fn find(name: &str, base: Option<&Path>) -> Result<Workload, Error> {
    if names().contains(&name) {
        return shipped(name);
    }
    let path = base.map_or_else(|| PathBuf::from(name), |base| base.join(name));
    let path = if path.is_dir() { path.join(FILE) } else { path };
    if !path.is_file() {
        let message = format!(
            "no such workload; known: {}; one of your own is a folder with a {FILE}",
            names().join(", ")
        );
        return Err(Error::of_file(name, None, message));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let called = match file_name.as_ref() {
        FILE => folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        _ => path.with_extension(""),
    };
    let called = called.file_name().unwrap_or_default().to_string_lossy();
    file::read(&Folder::Own(folder.to_owned()), &file_name, &called)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_workload_can_be_used() {
        assert!(!names().is_empty());
        for name in names() {
            let workload = shipped(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(workload.name, name);
            assert_eq!(workload.scenario.name, name);
        }
        let default = default().unwrap_or_else(|error| panic!("{error}"));
        assert!(default.conformance.is_some());
    }

    /// What the operators of other people write into a status, as their servers showed it.
    #[test]
    fn statuses_of_other_peoples_operators_are_read() {
        use crate::spec::workload::condition::Reading;
        use serde_json::json;
        for (name, status, want) in [
            (
                "argo-rollouts",
                json!({"observedGeneration": "3", "phase": "Healthy"}),
                (true, true),
            ),
            (
                "argo-rollouts",
                json!({"observedGeneration": "2", "phase": "Healthy"}),
                (false, true),
            ),
            (
                "argo-rollouts",
                json!({"observedGeneration": "12", "phase": "Progressing"}),
                (true, false),
            ),
            ("argo-rollouts", json!({}), (false, false)),
            (
                "dnsendpoint",
                json!({"observedGeneration": 3}),
                (true, true),
            ),
            (
                "dnsendpoint",
                json!({"observedGeneration": 2}),
                (false, false),
            ),
            (
                "helmchart",
                json!({"conditions": [{"type": "JobCreated", "status": "True"}]}),
                (true, true),
            ),
            (
                "sealedsecret",
                json!({"observedGeneration": 2, "conditions": [{"type": "Synced", "status": "True"}]}),
                (false, true),
            ),
        ] {
            let workload = shipped(name).expect("shipped");
            let reading = Reading::of(&workload.convergence).expect("compiles");
            let object = json!({"metadata": {"name": "a", "generation": 3}, "status": status});
            let holds = |condition: &Option<crate::spec::workload::condition::Condition>| {
                condition
                    .as_ref()
                    .is_some_and(|condition| condition.holds(&object))
            };
            let got = (holds(&reading.observed), holds(&reading.ready));
            assert_eq!(got, want, "{name} {status}");
        }
    }

    #[test]
    fn a_workload_that_is_not_there_lists_the_known_ones() {
        let error = find("nothing", None).expect_err("absent").to_string();
        assert!(
            error.starts_with("nothing: no such workload; known: "),
            "{error}"
        );
    }
}
