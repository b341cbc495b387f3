//! The node that all scenarios share, and a person with kubectl at it.
//!
//! Guarantees: a wait ends by a deadline and says what was waited for, and what was there instead;
//! everything ends with this process, folders go, logs stay.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use controlplane::node;
use controlplane::node::Node;
use controlplane::{Binaries, Datastore, NodeBinaries, User};
use serde_json::Value;
use tare_procstat::temp_dir::TempDir;

use crate::image;

pub const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/install.yaml");
/// Picks the operator's pods.
pub const OPERATOR: &str = "app.kubernetes.io/component=operator";
/// For what a busy machine may take; kubelets report a change within seconds.
pub const TIMEOUT: Duration = Duration::from_secs(120);

const PERSON: &str = "person";
const ASK_EVERY: Duration = Duration::from_millis(200);

/// What must be there.
#[derive(Clone)]
pub struct Needs {
    binaries: Binaries,
    node_binaries: NodeBinaries,
    kubectl: PathBuf,
    layout: PathBuf,
}

impl Needs {
    pub fn find() -> Result<Needs, String> {
        node::check().map_err(|error| error.to_string())?;
        let node_binaries = NodeBinaries::find().map_err(|error| error.to_string())?;
        let binaries = Binaries::find().map_err(|error| error.to_string())?;
        let kubectl = binaries.kubectl.clone();
        Ok(Needs {
            kubectl: kubectl.ok_or("no kubectl; run `loadgen control-plane build`")?,
            layout: image::find()?,
            binaries,
            node_binaries,
        })
    }
}

pub struct Site {
    // Ended before its folder is removed.
    pub node: Node,
    pub kubectl: PathBuf,
    kubeconfig: PathBuf,
    dir: TempDir,
}

impl Site {
    pub async fn start(needs: &Needs) -> Result<Site, String> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = TempDir::create(base, "node").map_err(|error| error.to_string())?;
        let logs = base.join("logs/node");
        // Those of an earlier run are of no use any more.
        let _ = std::fs::remove_dir_all(&logs);
        let options = node::Options {
            datastore: Datastore::Etcd,
            dir: dir.path().join("run"),
            logs: logs.join("node"),
            users: vec![User::admin(PERSON)],
            crds: Vec::new(),
            port: None,
            start_within: TIMEOUT,
        };
        let node = Node::start(&needs.binaries, &needs.node_binaries, options).await;
        let node = node.map_err(|error| error.to_string())?;
        let archive = image::archive(&needs.layout, dir.path())?;
        let imported = node.import(&archive).await;
        imported.map_err(|error| error.to_string())?;
        Ok(Site {
            kubeconfig: node.plane().kubeconfig(PERSON),
            kubectl: needs.kubectl.clone(),
            node,
            dir,
        })
    }

    /// Installs what is shipped, as it is shipped, and waits until it runs.
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

    /// The operator's pods, those that are ending too.
    pub fn operators(&self) -> Vec<Value> {
        self.list(&format!("-n tare-system get pods -l {OPERATOR}"))
    }

    pub fn operator(&self) -> Value {
        let mut pods = self.operators();
        assert_eq!(pods.len(), 1, "{pods:#?}");
        pods.remove(0)
    }

    /// The process of the operator, as this machine numbers it.
    pub fn operator_pid(&self) -> i32 {
        let pids = self.node.processes("tare").expect("read the node's cgroup");
        assert_eq!(pids.len(), 1, "one operator runs: {pids:?}");
        pids[0]
    }

    /// A command of kubectl that succeeds, words separated by spaces; returns what it says.
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

    /// All that kubectl and a script around it need to know of this machine.
    pub fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        vec![
            ("KUBECONFIG", self.kubeconfig.clone().into()),
            ("HOME", self.dir.path().into()),
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
        ]
    }

    /// The same for a process that goes on.
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

    /// Makes an image of a program in C and brings it to the node.
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

    /// Writes a manifest and hands it to a command of kubectl, such as `apply`.
    pub fn give(&self, command: &str, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).expect("write a manifest");
        self.kubectl(&format!("{command} -f {}", path.display()));
    }

    /// A namespace of a scenario's own.
    pub fn namespace(&self, name: &str) {
        self.kubectl(&format!("create namespace {name}"));
    }

    /// Waits for an EdgeApp to say that it is Ready with so many replicas.
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

    /// The pods of an EdgeApp that are not on their way out.
    pub fn pods(&self, namespace: &str, name: &str) -> Vec<Value> {
        let mut pods = self.list(&format!("-n {namespace} get pods -l tare.dev/owner={name}"));
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        pods
    }

    /// Asks kubectl until it says what is wanted; returns that.
    pub fn until_said(&self, line: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.until(line, || {
            let said = self.kubectl(line);
            wanted(&said).then_some(said)
        })
    }

    /// Asks until there is an answer.
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
