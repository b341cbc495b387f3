//! The files of the checkout.
//!
//! Guarantees: paths are relative to the checkout, sorted; build output and version control are left out.

use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the checkout.
pub fn text(path: &Path) -> String {
    fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// Every file below `folder` whose name ends with `.extension`.
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join(folder), extension, &mut found);
    found.sort();
    found
}

/// Every Markdown document.
pub fn documents() -> Vec<PathBuf> {
    files("", "md")
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let left_out = ["target", "node_modules", "dist"]
            .iter()
            .any(|n| name == *n);
        if path.is_dir() && !left_out && !name.to_string_lossy().starts_with('.') {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) && path.is_file() {
            let inside = path.strip_prefix(root()).expect("below the checkout");
            found.push(inside.to_owned());
        }
    }
}
