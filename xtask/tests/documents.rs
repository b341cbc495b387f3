//! The documents of this repository are what its results give.

use std::path::Path;
use std::process::Command;

/// Documents with tables that follow from folders of results.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "league/controller-runtime/README.md",
    "deploy/README.md",
    "docs/claims.md",
    "docs/design-notes/memory.md",
    "docs/design-notes/weigh-in.md",
    "docs/design-notes/writes.md",
];

fn is_current(arguments: &[&str]) {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let program = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .arg("--check")
        .current_dir(checkout)
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
    is_current(&[&["tables"], &DOCUMENTS[..]].concat());
}
