//! That a program for kube's Controller is one for ours: what differs are the lines that import.

/// The lines of a program without its doc comment and its imports.
fn without_imports(source: &str) -> Vec<&str> {
    let lines = source.lines();
    let is_kept = |line: &&str| !line.starts_with("//!") && !line.starts_with("use ");
    lines.filter(is_kept).collect()
}

#[test]
fn the_program_of_stock_differs_in_its_imports_alone() {
    let kube = include_str!("../../kube-rs/src/main.rs");
    let tare = include_str!("../src/main.rs");
    assert_eq!(
        without_imports(tare).join("\n").trim(),
        without_imports(kube).join("\n").trim()
    );
    assert!(kube.contains("use kube::runtime::controller::Controller;"));
    assert!(tare.contains("use tare_runtime::free::Controller;"));
}
