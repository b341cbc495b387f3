//! The programs of `examples/`, for tests that run them.
//!
//! Guarantees: a program that is missing is built. `cargo test` builds the examples with the tests of a package, but not where it is
//! called with `--test`. Leaves to others: whether a program that is there is current, which cargo decides.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of an example, in the profile of the tests.
pub fn program(name: &str) -> PathBuf {
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let program = tare.with_file_name("examples").join(name);
    if !program.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "tare", "--example", name]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(
            built.is_ok_and(|status| status.success()) && program.exists(),
            "cannot build {name}: run `cargo build -p tare --example {name}`"
        );
    }
    program
}
