//! What the documents promise about themselves and about the programs.

use std::collections::BTreeSet;
use std::path::Path;

use tare::edgeapp::EdgeApps;
use tare_runtime::api::Operator;
use tare_runtime::metrics::{Build, Metrics};

use crate::markdown::{Document, Fence};
use crate::programs;
use crate::tree;

#[test]
fn the_readme_is_short() {
    let lines = tree::text(Path::new("README.md")).lines().count();
    assert!(lines <= 150, "README.md has {lines} lines, at most 150");
}

/// `note.rs` beside this file is compiled with these tests.
#[test]
fn the_operator_in_the_readme_compiles() {
    let text = tree::text(Path::new("README.md"));
    let document = Document::parse(&text);
    let block = document
        .fences
        .iter()
        .find(|fence| fence.language == "rust");
    let block = block.expect("a block of Rust in README.md");
    let compiled = include_str!("note.rs");
    assert_eq!(block.text(), compiled.trim_end());
    let lines = block.lines.len();
    assert!(lines <= 25, "{lines} lines, at most 25");
}

/// `page.rs` beside this file is compiled with these tests, and its test is one of them.
#[test]
fn the_programs_in_the_page_of_the_library_compile() {
    let text = tree::text(Path::new("docs/runtime.md"));
    let document = Document::parse(&text);
    let blocks = document
        .fences
        .iter()
        .filter(|fence| fence.language == "rust");
    let shown: Vec<String> = blocks.map(Fence::text).collect();
    let compiled = [include_str!("page.rs"), include_str!("note.rs")];
    let compiled = compiled.map(|text| text.trim_end().to_owned());
    assert_eq!(shown, compiled);
}

/// In both directions.
#[test]
fn every_metric_is_documented() {
    let text = tree::text(Path::new("docs/operator.md"));
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `tare_"));
    let names = rows.filter_map(|rest| rest.split('`').next());
    let documented: BTreeSet<String> = names.map(|name| format!("tare_{name}")).collect();
    let build = Build {
        prefix: &EdgeApps::metrics_prefix(),
        version: tare::VERSION,
        allocator: "none",
    };
    let exist: BTreeSet<String> = Metrics::default()
        .render(&build)
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .filter(|name| name.starts_with("tare_"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        documented, exist,
        "documented in docs/operator.md, and in the program"
    );
}

/// In both directions.
#[test]
fn every_option_of_the_operator_is_documented() {
    let text = tree::text(Path::new("docs/operator.md"));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `--"));
    let names = rows.filter_map(|rest| rest.split([' ', '`']).next());
    let documented: BTreeSet<&str> = names.collect();
    let help = programs::printed(&programs::run(&programs::tare(), &["help"]));
    let lines = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"));
    let exist: BTreeSet<&str> = lines.filter_map(|rest| rest.split(' ').next()).collect();
    assert_eq!(
        documented, exist,
        "documented in docs/operator.md, and in `tare help`"
    );
}
