//! Puts version and commit into the binaries of this package (build/commit.rs).

#[path = "../../build/commit.rs"]
mod commit;

/// What the binaries are built from, as seen from this package.
const SOURCES: &[&str] = &[
    "build.rs",
    "src",
    "../kube-rs/src",
    "../../runtime/src",
    "Cargo.toml",
    "../../build",
    "../../Cargo.lock",
];

fn main() {
    commit::put_version(SOURCES);
}
