//! The node that all scenarios share, and kubectl commands on it.
//!
//! Guarantees: a wait ends by a deadline; its message has what was waited for and the state found. All
//! processes end with this one; folders are removed, logs are kept.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use controlplane::node;
use controlplane::node::{IpFamily, Node};
use controlplane::{Datastore, User};
use serde_json::Value;
use tare_procstat::temp_dir::TempDir;

use crate::node::image;

pub const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/install.yaml");
/// Label selector of the operator's pods.
pub const OPERATOR: &str = "app.kubernetes.io/component=operator";
/// Deadline of a wait. Kubelets report a change within seconds; a busy machine takes longer.
pub const TIMEOUT: Duration = Duration::from_secs(120);

const PERSON: &str = "person";
const ASK_EVERY: Duration = Duration::from_millis(200);

/// The programs and files that the tests need.
#[derive(Clone)]
pub struct Needs {
    programs: node::Programs,
    layout: PathBuf,
}

impl Needs {
    pub fn find() -> Result<Needs, String> {
        let programs = node::Programs::find();
        Ok(Needs {
            programs: programs.map_err(|error| error.to_string())?,
            layout: image::find()?,
        })
    }
}

pub struct TestNode {
    // Fields are dropped in this order: the node has to end before its folder is removed.
    pub node: Node,
    pub kubectl: PathBuf,
    kubeconfig: PathBuf,
    dir: TempDir,
}

impl TestNode {
    /// A node of that name, with addresses of that family.
    pub async fn start(needs: &Needs, name: &str, family: IpFamily) -> Result<TestNode, String> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = TempDir::create(base, name).map_err(|error| error.to_string())?;
        let logs = base.join("logs").join(name);
        // Logs of an earlier run are deleted.
        let _ = std::fs::remove_dir_all(&logs);
        let options = node::Options {
            datastore: Datastore::Etcd,
            dir: dir.path().join("run"),
            logs: logs.join("node"),
            users: vec![User::admin(PERSON)],
            crds: Vec::new(),
            family,
            port: None,
            start_within: TIMEOUT,
        };
        let programs = &needs.programs;
        let node = Node::start(&programs.plane, &programs.node, options).await;
        let node = node.map_err(|error| error.to_string())?;
        let archive = image::archive(&needs.layout, dir.path())?;
        let imported = node.import(&archive).await;
        imported.map_err(|error| error.to_string())?;
        Ok(TestNode {
            kubeconfig: node.plane().kubeconfig(PERSON),
            kubectl: programs.kubectl.clone(),
            node,
            dir,
        })
    }

    /// Applies the shipped manifest, and waits until the operator runs.
    pub fn install(&self) {
        self.kubectl(&format!("apply -f {INSTALL}"));
        self.until_rolled_out();
    }

    pub fn until_rolled_out(&self) {
        self.kubectl("-n tare-system rollout status deployment tare --timeout=120s");
        self.until("one operator is there", || {
            let pods = self.operators();
            (pods.len() == 1).then_some(())
        });
    }

    /// The operator's pods, including those that are terminating.
    pub fn operators(&self) -> Vec<Value> {
        self.list(&format!("-n tare-system get pods -l {OPERATOR}"))
    }

    pub fn operator(&self) -> Value {
        let mut pods = self.operators();
        assert_eq!(pods.len(), 1, "{pods:#?}");
        pods.remove(0)
    }

    /// The operator's pid on this machine, outside of the container's pid namespace.
    pub fn operator_pid(&self) -> i32 {
        let pids = self.node.processes("tare").expect("read the node's cgroup");
        assert_eq!(pids.len(), 1, "one operator runs: {pids:?}");
        pids[0]
    }

    /// Runs a kubectl command, words separated by spaces, which has to succeed; returns its output.
    pub fn kubectl(&self, line: &str) -> String {
        let said = self.try_kubectl(line);
        said.unwrap_or_else(|said| panic!("kubectl {line}: {said}"))
    }

    pub fn try_kubectl(&self, line: &str) -> Result<String, String> {
        let output = Command::new(&self.kubectl)
            .args(line.split(' '))
            .current_dir(self.dir.path())
            .env_clear()
            .envs(self.environment())
            .output()
            .expect("start kubectl");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stdout) + &text(&output.stderr)),
        }
    }

    /// A command with the environment that kubectl, and a script that calls it, need.
    pub fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        vec![
            ("KUBECONFIG", self.kubeconfig.clone().into()),
            ("HOME", self.dir.path().into()),
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
        ]
    }

    /// The same for a process that keeps running.
    pub fn environment_words(&self) -> Vec<(String, String)> {
        let words = self.environment().into_iter();
        words
            .map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()))
            .collect()
    }

    /// A file of a scenario's own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Builds an image of a program in C and imports it into the node.
    pub async fn bring(&self, image: &str, program: &str, source: &str) {
        let archive = node::of_source(self.dir.path(), image, program, source).await;
        let imported = self.node.import(&archive.expect("make an image")).await;
        imported.expect("import an image");
    }

    pub fn get(&self, line: &str) -> Value {
        let said = self.kubectl(&format!("{line} -o json"));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("kubectl {line}: {error}"))
    }

    pub fn list(&self, line: &str) -> Vec<Value> {
        match self.get(line)["items"].take() {
            Value::Array(items) => items,
            other => panic!("kubectl {line}: {other}"),
        }
    }

    /// Writes a manifest and passes it to a kubectl command such as `apply`.
    pub fn give(&self, command: &str, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).expect("write a manifest");
        self.kubectl(&format!("{command} -f {}", path.display()));
    }

    /// A namespace of a scenario's own.
    pub fn namespace(&self, name: &str) {
        self.kubectl(&format!("create namespace {name}"));
    }

    /// Waits until an EdgeApp reports Ready with that many replicas.
    pub fn until_ready(&self, namespace: &str, name: &str, replicas: u32) -> Value {
        self.until("the EdgeApp is Ready", || {
            let app = self.get(&format!("-n {namespace} get ea {name}"));
            let is = |kind: &str| {
                let all = app["status"]["conditions"].as_array();
                let mut all = all.into_iter().flatten();
                all.any(|it| it["type"] == kind && it["status"] == "True")
            };
            let current = app["status"]["observedGeneration"] == app["metadata"]["generation"];
            let ready = app["status"]["readyReplicas"].as_u64().unwrap_or(0);
            (current && is("Ready") && ready == u64::from(replicas)).then_some(app)
        })
    }

    /// The pods of an EdgeApp that are not terminating.
    pub fn pods(&self, namespace: &str, name: &str) -> Vec<Value> {
        let mut pods = self.list(&format!("-n {namespace} get pods -l tare.dev/owner={name}"));
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        pods
    }

    /// Repeats a kubectl command until its output is as wanted; returns the output.
    pub fn until_said(&self, line: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.until(line, || {
            let said = self.kubectl(line);
            wanted(&said).then_some(said)
        })
    }

    /// Polls until `ask` returns a value.
    pub fn until<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            if Instant::now() > deadline {
                let pods = self.try_kubectl("get pods -A -o wide");
                let events = self.try_kubectl("get events -A --sort-by=.lastTimestamp");
                panic!(
                    "never came true: {what}; logs: {}\n{}\n{}",
                    self.node.logs().display(),
                    pods.unwrap_or_else(|error| error),
                    last(&events.unwrap_or_else(|error| error), 15)
                );
            }
            std::thread::sleep(ASK_EVERY);
        }
    }
}

fn last(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}
