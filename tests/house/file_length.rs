//! A file has one job: no Rust file is so long that it has several.
//!
//! Guarantees: all lines count, also comments and tests; a failure names the file and its lines.

use crate::tree;

/// About 400 is the rule; what is a little longer is not split for the count alone.
const MOST_LINES: usize = 450;

#[test]
fn no_rust_file_is_too_long() {
    let mut too_long = Vec::new();
    for file in tree::files("", "rs") {
        let lines = tree::text(&file).lines().count();
        if lines > MOST_LINES {
            too_long.push(format!("{}: {lines} lines", file.display()));
        }
    }
    assert!(
        too_long.is_empty(),
        "longer than {MOST_LINES} lines; split by noun, so that one type's impl stands in one file:\n{}",
        too_long.join("\n")
    );
}
