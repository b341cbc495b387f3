//! Puts version and commit into the program.

#[path = "../../build/commit.rs"]
mod commit;

/// What it is built from, as seen from this package.
const SOURCES: &[&str] = &["src", "Cargo.toml", "../../runtime", "../../Cargo.lock"];

fn main() {
    commit::put_version(SOURCES);
}
