//! A folder for a bench, mock subjects to put into it, and what the tests do with a bench.
//!
//! Guarantees: a folder per test, which its next run empties. Leaves to others: what is expected.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::program::{LOADGEN, folder, loadgen, mock_subject, text};

/// A folder with a subject.toml per behaviour.
pub struct BenchFolder(PathBuf);

impl BenchFolder {
    pub fn new(name: &str) -> Self {
        Self(folder(&format!("bench-{name}")))
    }

    /// The arguments that measure mocks of these behaviours.
    pub fn bench(&self, behaviours: &[&str], objects: &str) -> Vec<String> {
        // A mock is no operator: it would not pass.
        let mut args: Vec<String> = ["bench", "--no-build", "--skip-conformance"]
            .map(str::to_owned)
            .to_vec();
        args.extend(["--objects".into(), objects.into()]);
        // Two points are a sweep, and take less time than five.
        args.extend(["--rates", "20,40"].map(str::to_owned));
        // Other tests are at work on the machine.
        args.extend(["--attempts", "1"].map(str::to_owned));
        args.extend(["--out".into(), self.out().display().to_string()]);
        let names: Vec<String> = behaviours.iter().map(|b| format!("mock/{b}")).collect();
        args.extend(["--subjects".into(), names.join(",")]);
        self.script("run()");
        for behaviour in behaviours {
            let file = self.0.join(format!("{behaviour}.toml"));
            std::fs::write(&file, subject(behaviour)).expect("writable");
            args.extend(["--subject".into(), file.display().to_string()]);
        }
        args
    }

    /// Writes the script that every mock names among its artifacts.
    pub fn script(&self, content: &str) {
        std::fs::write(self.0.join("script.js"), content).expect("writable");
    }

    pub fn out(&self) -> PathBuf {
        self.0.join("out")
    }

    pub fn summary(&self) -> Value {
        let text = std::fs::read(self.out().join("summary.json")).expect("a summary");
        serde_json::from_slice(&text).expect("JSON")
    }
}

/// How long a subject behind a wrapper is at work after each start, without a word to the server: longer than a busy machine
/// needs to start and to create a few objects.
pub const BUSY_S: u64 = 12;

const KUBECONFIG: &str = "env = { KUBECONFIG = \"{kubeconfig}\" }";

fn subject(behaviour: &str) -> String {
    let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
    // "second" is another subject that works, "in-pod" is one that works with a pod's credentials, and "wrapped" is one that
    // a shell has started, which waits for it, beside something that is busy. "wrapped-keeps-secrets" has nothing beside it.
    let (acts, credentials) = match behaviour {
        "second" => ("works", KUBECONFIG),
        "wrapped" => ("works", KUBECONFIG),
        "wrapped-keeps-secrets" => ("keeps-secrets", KUBECONFIG),
        "in-pod" => ("works", "credentials = \"in-pod\""),
        other => (other, KUBECONFIG),
    };
    let mock = mock_subject();
    let run = match behaviour {
        "wrapped-keeps-secrets" => format!(
            "command = \"sh\"\nargs = [\"-c\", \"{mock} mock-subject --admin {{admin}} --behaviour {acts}; true\"]\n"
        ),
        "wrapped" => format!(
            "command = \"sh\"\nargs = [\"-c\", \"timeout --foreground {BUSY_S} sh -c 'while :; do :; done' & \
             {mock} mock-subject --admin {{admin}} --behaviour {acts}; true\"]\n"
        ),
        _ => format!(
            "command = \"{mock}\"\nargs = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--behaviour\", \"{acts}\"]\n"
        ),
    };
    format!(
        "name = \"mock\"\nvariant = \"{behaviour}\"\n[run]\n{run}\
         {credentials}\ncrd = \"{}\"\nartifacts = [\"script.js\"]\n\
         [ready]\nhttp = \"/readyz\"\n\
         [metrics]\nreconcile_histogram = \"mock_seconds\"\nreconcile_errors = \"mock_errors_total\"\n",
        crd.display()
    )
}

pub fn dir_command(command: &str, bench_folder: &BenchFolder) -> Output {
    loadgen(&[command.to_owned(), bench_folder.out().display().to_string()])
}

/// Processes of the bench `pid`, found by its private folder in their arguments and environment.
pub fn children_of(pid: u32) -> Vec<String> {
    let mark = format!("loadgen-{pid}/");
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let told = |path: &Path, file: &str| text(&std::fs::read(path.join(file)).unwrap_or_default());
    let ours = processes.filter_map(|process| {
        let path = process.path();
        let command = told(&path, "cmdline");
        let found = command.contains(&mark) || told(&path, "environ").contains(&mark);
        found.then(|| command.replace('\0', " "))
    });
    ours.collect()
}

/// A bench that runs on its own.
pub fn start(args: &[String]) -> Child {
    let mut command = Command::new(LOADGEN);
    command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("loadgen starts")
}
