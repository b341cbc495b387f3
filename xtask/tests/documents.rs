//! The documents of this repository are what its results give.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Documents with tables that follow from folders of results: all that have a mark with a folder.
fn documents() -> Vec<String> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ])
        .current_dir(checkout())
        .output()
        .expect("git starts");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let has_table = |name: &&str| {
        let text = std::fs::read_to_string(checkout().join(name)).expect("it is listed");
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("<!-- loadgen ") && line.contains(": begin results/"))
    };
    let found = listed.lines().filter(has_table);
    found.map(str::to_owned).collect()
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn is_current(arguments: &[&str]) {
    let program = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .arg("--check")
        .current_dir(checkout())
        .output()
        .expect("xtask starts");
    let said = [program.stdout, program.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(program.status.success(), "{arguments:?}: {said}");
}

#[test]
fn the_index_has_a_line_for_each_folder() {
    is_current(&["index", "results"]);
}

#[test]
fn every_published_claim_has_its_verdict() {
    is_current(&["claims"]);
}

#[test]
fn tables_are_those_of_their_folders() {
    let documents = documents();
    assert!(
        documents.iter().any(|name| name == "README.md"),
        "{documents:?}"
    );
    let documents = documents.iter().map(String::as_str);
    is_current(&Vec::from_iter(std::iter::once("tables").chain(documents)));
}
