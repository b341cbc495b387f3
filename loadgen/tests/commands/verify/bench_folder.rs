//! The folder of a bench, and the changes that are made to copies of it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::program::{loadgen, mock_subject, text};

/// A folder of a small bench, and places for copies of it.
pub struct BenchFolder(PathBuf);

impl BenchFolder {
    pub fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-verify");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("temporary folder");
        let bed = Self(folder);
        let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
        let mock = mock_subject();
        let subject = format!(
            "name = \"mock\"\nvariant = \"works\"\n[run]\ncommand = \"{mock}\"\n\
             args = [\"mock-subject\", \"--admin\", \"{{admin}}\"]\n\
             env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\ncrd = \"{}\"\n",
            crd.display()
        );
        let file = bed.0.join("subject.toml");
        fs::write(&file, subject).expect("writable");
        let (file, out) = (file.display().to_string(), bed.text("out"));
        let bench = loadgen(&[
            "bench",
            "--no-build",
            "--skip-conformance",
            "--objects",
            "12",
            "--repeats",
            "2",
            "--rates",
            "80",
            "--subject",
            &file,
            "--subjects",
            "mock/works",
            "--out",
            &out,
        ]);
        assert!(bench.status.success(), "{}", text(&bench.stderr));
        bed
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub fn copy(&self, name: &str) -> PathBuf {
        let to = self.path(name);
        let _ = fs::remove_dir_all(&to);
        copy(&self.path("out"), &to);
        to
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).expect("writable")),
        }
    }
}

pub fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(path).expect("there")).expect("JSON");
    change(&mut value);
    let mut text = serde_json::to_vec_pretty(&value).expect("plain data");
    text.push(b'\n');
    fs::write(path, text).expect("writable");
}

pub fn change_text(path: &Path, change: impl FnOnce(String) -> String) {
    let before = fs::read_to_string(path).expect("there");
    let after = change(before.clone());
    assert_ne!(before, after, "{}", path.display());
    fs::write(path, after).expect("writable");
}

pub fn change_packed(path: &Path, change: impl FnOnce(String) -> String) {
    let mut before = String::new();
    let packed = fs::read(path).expect("there");
    GzDecoder::new(packed.as_slice())
        .read_to_string(&mut before)
        .expect("gzip");
    let after = change(before.clone());
    assert_ne!(before, after, "{}", path.display());
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(after.as_bytes()).expect("in memory");
    fs::write(path, packed.finish().expect("in memory")).expect("writable");
}

/// On a busy machine timed runs are invalid, and nothing can be said about them.
pub fn all_runs_valid(folder: &Path) {
    change_json(&folder.join("summary.json"), |summary| {
        let runs = summary["subjects"][0]["runs"].as_array_mut();
        for run in runs.expect("runs").iter_mut() {
            run["valid"] = true.into();
            run["invalid_because"] = Value::Array(vec![]);
        }
    });
}

/// Writes the hash of a changed file anew, as somebody would who covers a change.
pub fn cover(folder: &Path, name: &str) {
    let content = fs::read(folder.join(name)).expect("there");
    let sum: String = Sha256::digest(content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    change_text(&folder.join("SHA256SUMS"), |sums| {
        let line = |line: &str| match line.ends_with(&format!("  {name}")) {
            true => format!("{sum}  {name}\n"),
            false => format!("{line}\n"),
        };
        sums.lines().map(line).collect()
    });
}

/// The time of the last object is a second later.
pub fn later(samples: String) -> String {
    let (rest, ready) = samples
        .trim_end()
        .rsplit_once('\t')
        .expect("a line of times");
    let ready: u64 = ready.parse().expect("ready");
    format!("{rest}\t{}\n", ready + 1_000_000)
}
