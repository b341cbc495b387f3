//! How a control plane is set up.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What kube-apiserver keeps its objects in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datastore {
    #[default]
    Etcd,
    /// SQLite behind kine, as k3s runs it.
    Kine,
}

impl Datastore {
    pub fn name(self) -> &'static str {
        match self {
            Datastore::Etcd => "etcd",
            Datastore::Kine => "kine",
        }
    }
}

/// How the servers are set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flags {
    /// For measuring operators: etcd without fsync, kube-apiserver without priority and fairness and
    /// without limits on requests in flight. kine is the same in both: as k3s has it, in WAL mode
    /// it syncs at checkpoints only.
    #[default]
    Quiet,
    /// The servers' own defaults.
    Default,
}

/// Who may log in, with a kubeconfig of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    /// A user who may do anything (`system:masters`).
    pub fn admin(name: impl Into<String>) -> User {
        User {
            name: name.into(),
            groups: vec!["system:masters".to_owned()],
        }
    }
}

/// The network of a node, for a kube-apiserver that listens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The command that runs a program there: the program and its arguments come after these words.
    pub enter: Vec<String>,
    /// Where kube-apiserver listens, which is also the first address of [`Network::services`].
    pub address: IpAddr,
    pub port: u16,
    /// The addresses of Services, such as `10.96.0.0/16`.
    pub services: String,
    /// By which other names it is reached there.
    pub names: Vec<String>,
    /// The port of 127.0.0.1 from which somebody else forwards to it.
    pub forwarded_from: u16,
}

/// How a control plane is started.
#[derive(Clone, Debug)]
pub struct Options {
    pub datastore: Datastore,
    /// Holds data, credentials and sockets. Created for its owner only; a folder that exists must be
    /// closed to others. Data of an earlier control plane in it is used again.
    pub dir: PathBuf,
    /// Where logs go: a path that a component's name is appended to, so that `logs/run-1` makes
    /// `logs/run-1-etcd.log`.
    pub logs: PathBuf,
    pub users: Vec<User>,
    /// Keeps one JSON line of metadata for every answered request of a user that is not part of the
    /// control plane itself.
    pub audit: bool,
    /// From a change of a Deployment's spec until it is reported ready, by the agent that stands in
    /// for nodes; `None` starts no agent.
    pub readiness: Option<Duration>,
    /// The real controllers of Deployments, ReplicaSets, EndpointSlices and ServiceAccounts; the
    /// readiness agent, which would write the same status, is then off.
    pub pods: bool,
    /// For nodes: all of kube-controller-manager's own controllers run (as with `pods`, no agent), and
    /// kube-apiserver has a certificate for kubelets.
    pub nodes: bool,
    /// Where kube-apiserver listens instead of loopback; `port` is then not used.
    pub network: Option<Network>,
    pub flags: Flags,
    /// `ServiceAccount` admission: Pods get a token and are refused without their account.
    pub service_account_admission: bool,
    /// CRDs (YAML) that are there before the controllers start, so that garbage collection knows
    /// their kinds at once; of one installed later it learns within 30 s.
    pub crds: Vec<PathBuf>,
    /// Appended to kube-apiserver's arguments, where a later one wins.
    pub extra_api_server_args: Vec<String>,
    /// A data folder of an ended control plane with the same datastore, copied before the start.
    pub data_from: Option<PathBuf>,
    /// kube-apiserver's port; `None` takes a free one.
    pub port: Option<u16>,
    /// After which a component that is not ready counts as failed.
    pub start_within: Duration,
}

impl Default for Options {
    /// etcd, quiet, one `admin`, no agent. `dir` and `logs` are empty and have to be set.
    fn default() -> Options {
        Options {
            datastore: Datastore::default(),
            dir: PathBuf::new(),
            logs: PathBuf::new(),
            users: vec![User::admin("admin")],
            audit: false,
            readiness: None,
            pods: false,
            nodes: false,
            network: None,
            flags: Flags::default(),
            service_account_admission: false,
            crds: Vec::new(),
            extra_api_server_args: Vec::new(),
            data_from: None,
            port: None,
            start_within: Duration::from_secs(90),
        }
    }
}
