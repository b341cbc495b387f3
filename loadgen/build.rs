//! Puts version, commit (build/commit.rs) and target into the loadgen binary, and what is shipped as files:
//! workloads, and subjects that are not of this project.

#[path = "../build/commit.rs"]
mod commit;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What the binary is built from, as seen from this package.
const SOURCES: &[&str] = &[
    "build.rs",
    "src",
    "subjects",
    "Cargo.toml",
    "../build",
    "../workloads",
    "../subjects",
    "../kubesim",
    "../controlplane",
    "../procstat",
    "../Cargo.lock",
];

/// The CRDs that shipped workloads name and that are kept beside what defines them.
const CRDS: &[&str] = &[
    "deploy/base/crd.yaml",
    "examples/echo/crd.yaml",
    "examples/inference_service/crd.yaml",
    "examples/myservice/crd.yaml",
    "examples/webapp/crd.yaml",
];

fn main() {
    commit::put_version(SOURCES);
    let target = std::env::var("TARGET").expect("set by cargo");
    println!("cargo::rustc-env=BUILT_FOR={target}");
    for crd in CRDS {
        println!("cargo::rerun-if-changed=../{crd}");
    }
    let root = Path::new("..").canonicalize().expect("the checkout");
    let mut files = Vec::new();
    for folder in ["workloads", "subjects"] {
        collect(&root.join(folder), &mut files);
    }
    files.extend(CRDS.iter().map(|crd| root.join(crd)));
    files.sort();
    let mut table = String::from("pub const FILES: &[(&str, &str)] = &[\n");
    for file in files {
        let inside = file.strip_prefix(&root).expect("in the checkout");
        let (name, path) = (inside.display().to_string(), file.display().to_string());
        writeln!(table, "    ({name:?}, include_str!({path:?})),").expect("memory");
    }
    table.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("workloads.rs"), table).expect("OUT_DIR is writable");
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect(&path, found),
            false => found.push(path),
        }
    }
}
