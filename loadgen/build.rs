//! Puts version and commit into the loadgen binary (build/commit.rs).

#[path = "../build/commit.rs"]
mod commit;

/// What the binary is built from, as seen from this package.
const SOURCES: &[&str] = &[
    "build.rs",
    "src",
    "scenarios",
    "subjects",
    "Cargo.toml",
    "../build",
    "../kubesim",
    "../controlplane",
    "../procstat",
    "../Cargo.lock",
];

fn main() {
    commit::put_version(SOURCES);
}
