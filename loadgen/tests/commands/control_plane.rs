//! `loadgen control-plane up` as a user meets it. Where the programs of a control plane are not
//! there, every test is listed as ignored and the reason is printed.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use controlplane::{Binaries, NodeBinaries};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};

use crate::program::LOADGEN;

const DEADLINE: Duration = Duration::from_secs(120);

type Test = fn(&Binaries) -> Result<(), Failed>;

/// These need root and a container runtime, too.
const NODE_TESTS: &[(&str, Test)] = &[
    (
        "a_node_runs_pods_until_ctrl_c_and_nothing_is_left",
        node_until_ctrl_c,
    ),
    (
        "sigkill_ends_a_node_with_its_pods_and_the_next_start_removes_the_rest",
        node_killed,
    ),
];

const TESTS: &[(&str, Test)] = &[
    (
        "kubectl_works_until_ctrl_c_and_nothing_is_left",
        kubectl_until_ctrl_c,
    ),
    (
        "sigkill_leaves_files_that_the_next_start_removes",
        killed_and_started_again,
    ),
    (
        "a_component_that_dies_takes_the_rest_down_and_leaves_its_logs",
        component_dies,
    ),
];

/// A control plane takes half a gigabyte: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

pub fn trials() -> Vec<Trial> {
    let binaries = Binaries::find();
    if let Err(reason) = &binaries {
        eprintln!("all tests of loadgen control-plane up are ignored: {reason}");
    }
    let no_node = node_missing();
    if let Err(reason) = &no_node {
        eprintln!("tests of loadgen control-plane up --node are ignored: {reason}");
    }
    let trial = |ignored: bool| {
        let binaries = binaries.as_ref().ok().cloned();
        move |&(name, test): &(&'static str, Test)| {
            let found = binaries.clone();
            let run = move || {
                let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
                test(&found.ok_or("the programs are not there")?)
            };
            crate::trial_of(&format!("control_plane::{name}"), run, ignored)
        }
    };
    let plain = TESTS.iter().map(trial(binaries.is_err()));
    let on_node = NODE_TESTS
        .iter()
        .map(trial(binaries.is_err() || no_node.is_err()));
    plain.chain(on_node).collect()
}

/// Why there can be no node here.
fn node_missing() -> Result<(), String> {
    controlplane::node::check().map_err(|error| error.to_string())?;
    NodeBinaries::find()
        .map(drop)
        .map_err(|error| error.to_string())
}

fn node_until_ctrl_c(binaries: &Binaries) -> Result<(), Failed> {
    let bed = Bed::new("node");
    let kubeconfig = bed.0.join("kubeconfig");
    let mut up = bed.up(&["--node", "--kubeconfig", &kubeconfig.display().to_string()])?;
    let pods = up.run_pods(binaries, &kubeconfig)?;
    up.signal(Signal::INT)?;
    assert_eq!(up.ended()?.code(), Some(0));
    assert!(pods.iter().all(|pid| !runs(*pid)), "{pods:?}");
    assert_eq!(bed.entries(), ["said", "told"]);
    assert_eq!(cgroups(up.process.id()), Vec::<PathBuf>::new());
    Ok(())
}

fn node_killed(binaries: &Binaries) -> Result<(), Failed> {
    let bed = Bed::new("node-killed");
    let kubeconfig = bed.0.join("kubeconfig");
    let mut killed = bed.up(&["--node", "--kubeconfig", &kubeconfig.display().to_string()])?;
    let pods = killed.run_pods(binaries, &kubeconfig)?;
    let children = killed.children()?;
    killed.signal(Signal::KILL)?;
    assert_eq!(killed.ended()?.signal(), Some(9));
    until("the node and its pods are gone", || {
        let mut all = pods.iter().chain(&children);
        Ok(all.all(|pid| !runs(*pid)).then_some(()))
    })?;
    let mut next = bed.up(&["--node"])?;
    assert_eq!(cgroups(killed.process.id()), Vec::<PathBuf>::new());
    next.signal(Signal::TERM)?;
    assert_eq!(next.ended()?.code(), Some(0));
    assert_eq!(bed.entries(), ["said", "told"]);
    Ok(())
}

/// The cgroups of a node that this process has started.
fn cgroups(pid: u32) -> Vec<PathBuf> {
    let name = format!("tare-node-{pid}-");
    let entries = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let root = Path::new("/sys/fs/cgroup");
    let hierarchies = entries(root).into_iter().chain([root.to_owned()]);
    let is_it = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|it| it.to_string_lossy().starts_with(&name))
    };
    let all = hierarchies.flat_map(|path| entries(&path));
    all.filter(is_it).collect()
}

fn kubectl_until_ctrl_c(binaries: &Binaries) -> Result<(), Failed> {
    let bed = Bed::new("ctrl-c");
    let kubeconfig = bed.0.join("kubeconfig");
    let mut up = bed.up(&["--kubeconfig", &kubeconfig.display().to_string()])?;
    let said = up.said();
    assert!(
        said.contains(&format!("export KUBECONFIG={}\n", kubeconfig.display())),
        "{said}"
    );
    assert_eq!(
        std::fs::metadata(&kubeconfig)?.permissions().mode() & 0o777,
        0o600
    );
    if let Some(kubectl) = &binaries.kubectl {
        let asked = kubectl_asks(kubectl, &kubeconfig, &["get", "ea", "--all-namespaces"])?;
        let answer = String::from_utf8_lossy(&asked.stderr).into_owned();
        assert!(
            asked.status.success() && answer.contains("No resources found"),
            "{answer}"
        );
    }
    up.signal(Signal::INT)?;
    assert_eq!(up.ended()?.code(), Some(0));
    assert_eq!(bed.entries(), ["said", "told"]);
    Ok(())
}

fn killed_and_started_again(_: &Binaries) -> Result<(), Failed> {
    let bed = Bed::new("sigkill");
    let kubeconfig = bed.0.join("kubeconfig");
    let mut killed = bed.up(&["--kubeconfig", &kubeconfig.display().to_string()])?;
    let children = killed.children()?;
    assert_eq!(children.len(), 3, "{children:?}");
    killed.signal(Signal::KILL)?;
    assert_eq!(killed.ended()?.signal(), Some(9));
    until("the components are gone", || {
        Ok(children.iter().all(|pid| !runs(*pid)).then_some(()))
    })?;
    assert!(kubeconfig.exists());
    // The next start finds a folder that nobody holds, and a file of the same name in the way.
    let left = bed.entries();
    let mut next = bed.up(&[])?;
    let told = std::fs::read_to_string(bed.0.join("told"))?;
    assert!(
        told.contains("left by an earlier control plane"),
        "{left:?}: {told}"
    );
    assert!(!kubeconfig.exists());
    next.signal(Signal::TERM)?;
    assert_eq!(next.ended()?.code(), Some(0));
    assert_eq!(bed.entries(), ["said", "told"]);
    Ok(())
}

fn component_dies(_: &Binaries) -> Result<(), Failed> {
    let bed = Bed::new("component");
    let mut up = bed.up(&["--pods"])?;
    let children = up.children()?;
    let server = children.iter().find(|pid| name(**pid) == "kube-apiserver");
    let pid = Pid::from_raw(*server.ok_or("no kube-apiserver")?).ok_or("no pid")?;
    kill_process(pid, Signal::KILL)?;
    assert_eq!(up.ended()?.code(), Some(1));
    let told = std::fs::read_to_string(bed.0.join("told"))?;
    assert!(
        told.contains("error: kube-apiserver ended (signal: 9"),
        "{told}"
    );
    let logs = told
        .lines()
        .find_map(|line| line.strip_prefix("logs are kept until the next start: "));
    let logs = Path::new(logs.ok_or("no word of the logs")?).join("up-kube-apiserver.log");
    assert!(std::fs::metadata(logs)?.len() > 0);
    until("the components are gone", || {
        Ok(children.iter().all(|pid| !runs(*pid)).then_some(()))
    })
}

/// A temporary folder that `up` is told to work in.
struct Bed(PathBuf);

impl Bed {
    fn new(name: &str) -> Bed {
        let path = std::env::temp_dir().join(format!("lg-cp-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Bed(path)
    }

    /// Starts one and waits until it says that it is ready.
    fn up(&self, args: &[&str]) -> Result<Up, Failed> {
        let (said, told) = (self.0.join("said"), self.0.join("told"));
        let process = Command::new(LOADGEN)
            .args(["control-plane", "up"])
            .args(args)
            .env("TMPDIR", &self.0)
            .stdin(Stdio::null())
            .stdout(File::create(&said)?)
            .stderr(File::create(&told)?)
            .spawn()?;
        let mut up = Up { process, said };
        until("up says that it is ready", || {
            if let Some(status) = up.process.try_wait()? {
                return Err(format!("{status}: {}", std::fs::read_to_string(&told)?).into());
            }
            Ok(up.said().contains("Ctrl-C").then_some(()))
        })?;
        Ok(up)
    }

    fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One that runs; killed when dropped.
struct Up {
    process: Child,
    said: PathBuf,
}

impl Up {
    fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) -> Result<(), Failed> {
        let pid = Pid::from_raw(i32::try_from(self.process.id())?).ok_or("no pid")?;
        Ok(kill_process(pid, signal)?)
    }

    fn ended(&mut self) -> Result<std::process::ExitStatus, Failed> {
        until("up ends", || Ok(self.process.try_wait()?))
    }

    /// Has the node run two pods; returns their processes.
    fn run_pods(&self, binaries: &Binaries, kubeconfig: &Path) -> Result<Vec<i32>, Failed> {
        let kubectl = binaries.kubectl.as_ref().ok_or("no kubectl")?;
        let create = "create deployment web --image=localhost/pause:1 --replicas=2";
        let wait = "wait deployment/web --for=condition=Available --timeout=120s";
        for line in [create, wait] {
            let words: Vec<&str> = line.split(' ').collect();
            let asked = kubectl_asks(kubectl, kubeconfig, &words)?;
            let answer = String::from_utf8_lossy(&asked.stderr).into_owned();
            assert!(asked.status.success(), "{line}: {answer}");
        }
        let mut pods = Vec::new();
        for path in cgroups(self.process.id()) {
            collect(&path, &mut pods)?;
        }
        pods.retain(|pid| name(*pid) == "pause");
        pods.sort_unstable();
        pods.dedup();
        // Each pod has one of its own and one that holds its namespaces.
        assert_eq!(pods.len(), 4, "{pods:?}");
        Ok(pods)
    }

    fn children(&self) -> Result<Vec<i32>, Failed> {
        let mut pids = Vec::new();
        for task in std::fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let children = std::fs::read_to_string(task?.path().join("children"))?;
            for pid in children.split_whitespace() {
                pids.push(pid.parse()?);
            }
        }
        Ok(pids)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The processes in a cgroup and below.
fn collect(path: &Path, pids: &mut Vec<i32>) -> Result<(), Failed> {
    for line in std::fs::read_to_string(path.join("cgroup.procs"))?.lines() {
        pids.push(line.parse()?);
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, pids)?;
        }
    }
    Ok(())
}

fn name(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// Alive, and not a zombie that init has yet to reap.
fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

fn kubectl_asks(kubectl: &Path, kubeconfig: &Path, args: &[&str]) -> Result<Output, Failed> {
    let home = kubeconfig.parent().ok_or("no folder")?.join("home");
    let output = Command::new(kubectl)
        .args(args)
        .env("KUBECONFIG", kubeconfig)
        // kubectl keeps what it discovers there.
        .env("HOME", &home)
        .output()?;
    let _ = std::fs::remove_dir_all(&home);
    Ok(output)
}

fn until<T>(what: &str, mut holds: impl FnMut() -> Result<Option<T>, Failed>) -> Result<T, Failed> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = holds()? {
            return Ok(value);
        }
        if Instant::now() > deadline {
            return Err(format!("{what}: not within {} s", DEADLINE.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
