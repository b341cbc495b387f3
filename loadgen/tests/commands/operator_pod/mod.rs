//! `loadgen run --operator` on a real node: memory of a pod against what `/proc` says, kills for memory.
//!
//! Needs root, containerd, runc, the CNI plugins, a C compiler and `loadgen control-plane build --node`. Where
//! one is missing, the tests are ignored, with a line that names it. They share one node.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use controlplane::node;
use controlplane::node::{Node, Programs};
use controlplane::shared::Shared;
use controlplane::{Datastore, User};
use libtest_mimic::{Failed, Trial};
use tare_procstat::temp_dir::TempDir;

use crate::program::LOADGEN;

const IMAGE: &str = "localhost/ballast:1";
const BALLAST_MB: u64 = 40;
const PERSON: &str = "person";
const TIMEOUT: Duration = Duration::from_secs(120);

type Scenario = (&'static str, fn(&Bed));

const SCENARIOS: &[Scenario] = &[
    ("memory_by_the_metrics_page_is_what_proc_says", by_metrics),
    ("memory_by_the_kubelet_is_what_proc_says", by_kubelet),
    ("a_kill_for_memory_is_noticed_and_the_log_is_kept", killed),
];

pub fn trials() -> Vec<Trial> {
    let programs = Programs::find().map_err(|error| error.to_string());
    if let Err(reason) = &programs {
        eprintln!("tests of loadgen run --operator on a node are ignored: {reason}");
    }
    let ignored = programs.is_err();
    let shared = Shared::new(move || {
        let programs = programs.clone();
        async move { Bed::start(&programs?).await }
    });
    let shared = Arc::new(shared.expect("a runtime"));
    let trials = SCENARIOS.iter().map(|&(name, scenario)| {
        let shared = Arc::clone(&shared);
        let run = move || {
            let run = async |bed: &Bed| scenario(bed);
            shared.alone(run).map_err(Failed::from)
        };
        crate::trial_of(&format!("operator_pod::{name}"), run, ignored)
    });
    trials.collect()
}

struct Bed {
    // Fields are dropped in this order: the node ends before its folder is removed.
    node: Node,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    dir: TempDir,
}

impl Bed {
    async fn start(programs: &Programs) -> Result<Bed, String> {
        let dir = TempDir::create(Path::new(env!("CARGO_TARGET_TMPDIR")), "operator-pod");
        let dir = dir.map_err(|error| error.to_string())?;
        let options = node::Options {
            datastore: Datastore::Etcd,
            dir: dir.path().join("run"),
            logs: dir.path().join("node"),
            users: vec![User::admin(PERSON)],
            crds: Vec::new(),
            family: node::IpFamily::V4,
            port: None,
            start_within: TIMEOUT,
        };
        let node = Node::start(&programs.plane, &programs.node, options).await;
        let node = node.map_err(|error| error.to_string())?;
        let archive = node::of_source(dir.path(), IMAGE, "ballast", include_str!("ballast.c"));
        let archive = archive.await.map_err(|error| error.to_string())?;
        let imported = node.import(&archive).await;
        imported.map_err(|error| error.to_string())?;
        Ok(Bed {
            kubeconfig: node.plane().kubeconfig(PERSON),
            kubectl: programs.kubectl.clone(),
            node,
            dir,
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.dir.path())
            .current_dir(self.dir.path());
        command
    }

    fn kubectl(&self, line: &str) -> String {
        let output = self.command(&self.kubectl).args(line.split(' ')).output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "kubectl {line}: {error}");
        text
    }

    /// A Deployment of the ballast, once its pod is there.
    fn deploy(&self, name: &str, env: &[(&str, u64)], limit: &str, port: Option<u16>) {
        let env = env
            .iter()
            .map(|(name, value)| format!("{{name: {name}, value: '{value}'}}"));
        let env = env.collect::<Vec<_>>().join(", ");
        let ports = port.map(|port| format!("ports: [{{name: metrics, containerPort: {port}}}], "));
        let ports = ports.unwrap_or_default();
        let manifest = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  \
             selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
             metadata: {{labels: {{app: {name}}}}}\n    spec:\n      \
             terminationGracePeriodSeconds: 1\n      containers:\n      \
             - {{name: manager, image: '{IMAGE}', {ports}env: [{env}], resources: {{limits: {{memory: {limit}}}}}}}\n"
        );
        let path = self.dir.path().join(format!("{name}.yaml"));
        std::fs::write(&path, manifest).unwrap();
        self.kubectl(&format!("apply -f {}", path.display()));
        self.kubectl(&format!("rollout status deployment {name} --timeout=120s"));
    }

    fn remove(&self, name: &str) {
        self.kubectl(&format!(
            "delete deployment {name} --cascade=foreground --timeout=120s"
        ));
        let deadline = Instant::now() + TIMEOUT;
        while !self.node.processes("ballast").unwrap().is_empty() {
            assert!(Instant::now() < deadline, "its process goes on");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn run(&self, operator: &str, more: &[&str]) -> Output {
        let words = ["run", "configmaps", "--count", "20", "--yes", "--operator"];
        let operator = format!("deployment/default/{operator}");
        let mut command = self.command(Path::new(LOADGEN));
        command.args(words).arg(operator).args(more);
        command.output().unwrap()
    }

    /// A line of `/proc/PID/status` of the only process, bytes.
    fn proc_bytes(&self, field: &str) -> f64 {
        let pids = self.node.processes("ballast").unwrap();
        assert_eq!(pids.len(), 1, "{pids:?}");
        let status = std::fs::read_to_string(format!("/proc/{}/status", pids[0])).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib * 1024.0
    }
}

fn text(output: &Output) -> String {
    let of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    of(&output.stdout) + &of(&output.stderr)
}

/// The row of a pod: before, peak, end, limit (MB), CPU (s), restarts.
fn row(said: &str, pod: &str) -> Vec<String> {
    let line = said
        .lines()
        .find(|line| line.starts_with(&format!("{pod}-")));
    let line = line.unwrap_or_else(|| panic!("no row of {pod} in {said}"));
    let words = line.split_whitespace().skip(1);
    words.map(str::to_owned).collect()
}

fn within_a_tenth(said: &str, told_mb: &str, proc_bytes: f64) {
    let told: f64 = told_mb.parse().unwrap();
    let ratio = told * 1e6 / proc_bytes;
    assert!(
        (0.9..=1.1).contains(&ratio),
        "{told} MB told, {proc_bytes} bytes in /proc: {said}"
    );
}

fn by_metrics(bed: &Bed) {
    bed.deploy(
        "paged",
        &[("BALLAST_MB", BALLAST_MB), ("PORT", 8080)],
        "100Mi",
        Some(8080),
    );
    let output = bed.run("paged", &["--idle-s", "2"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let source = "process_resident_memory_bytes of its metrics page, port 8080";
    assert!(said.contains(source), "{said}");
    let row = row(&said, "paged");
    for told in &row[..3] {
        within_a_tenth(&said, told, bed.proc_bytes("VmRSS"));
    }
    assert_eq!((row[3].as_str(), row[5].as_str()), ("105", "0"), "{said}");
    bed.remove("paged");
}

fn by_kubelet(bed: &Bed) {
    bed.deploy("silent", &[("BALLAST_MB", BALLAST_MB)], "100Mi", None);
    let output = bed.run("silent", &[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let source = "rssBytes (anonymous memory) of the kubelet's summary";
    assert!(said.contains(source), "{said}");
    assert!(said.contains("the pod names no port"), "{said}");
    within_a_tenth(&said, &row(&said, "silent")[2], bed.proc_bytes("RssAnon"));
    bed.remove("silent");
}

fn killed(bed: &Bed) {
    // It reaches its limit some 10 s after its start.
    bed.deploy(
        "growing",
        &[("BALLAST_MB", 10), ("GROW_MB", 4)],
        "64Mi",
        None,
    );
    let output = bed.run("growing", &["--idle-s", "30"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for want in [
        "was killed for memory",
        "its limit is 67.1 MB",
        "  holding its ballast",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    bed.kubectl("delete deployment growing --cascade=foreground --timeout=120s");
}
