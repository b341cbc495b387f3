//! What a subject runs against: the simulated server, a real control plane of our own, or an
//! existing cluster.
//!
//! Guarantees: when it is started it answers, has the CRD and a kubeconfig per user; a server of
//! our own starts empty and ends with this process. What a source cannot tell is `None`. Leaves to
//! others: what is done with it.

pub mod cleanup;
pub mod cluster;
pub mod context;
pub mod existing;
pub mod fixtures;
pub mod kubesim;
pub mod operator;
pub mod proxy;
pub mod real;

use std::path::{Path, PathBuf};

use controlplane::{Binaries, Datastore};

use crate::record::latency::Latencies;
use crate::record::request_counts::RequestCounts;
use crate::spec::control_plane::ControlPlane;
use crate::spec::workload;
use crate::target::cleanup::bench_namespace;
use crate::target::cluster::Cluster;
use crate::target::existing::{Existing, ExistingCluster};
use crate::target::kubesim::Kubesim;
use crate::target::real::Real;

/// The user of the harness itself.
pub const HARNESS: &str = "loadgen";
/// The user of the subject under test.
pub const SUBJECT: &str = "subject";

/// Where servers come from, for a whole experiment.
#[derive(Debug, Clone)]
pub enum Source {
    Kubesim,
    Real {
        datastore: Datastore,
        binaries: Binaries,
    },
    Existing(Box<ExistingCluster>),
}

impl Source {
    /// Servers of our own; `None` where the user has to say which cluster.
    ///
    /// # Errors
    /// When a real control plane was not built.
    pub fn own(choice: ControlPlane) -> Result<Option<Source>, controlplane::Error> {
        let datastore = match choice {
            ControlPlane::Kubesim => return Ok(Some(Source::Kubesim)),
            ControlPlane::Existing => return Ok(None),
            ControlPlane::Kube => Datastore::Etcd,
            ControlPlane::Kine => Datastore::Kine,
        };
        Ok(Some(Source::Real {
            datastore,
            binaries: Binaries::find()?,
        }))
    }

    /// How the control plane differs from one with default settings, for a report.
    pub fn flags(&self) -> String {
        match self {
            Source::Kubesim => "an in-memory server that holds what operators use; malloc tuned for it, not for subjects".into(),
            Source::Real { datastore, .. } => real::flags(*datastore).into(),
            Source::Existing(existing) => format!("as it was found, at {}", existing.address),
        }
    }
}

/// How one server is started.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    pub source: &'a Source,
    /// Private: credentials and data are written to it.
    pub dir: &'a Path,
    /// Files with one definition each.
    pub crds: Vec<PathBuf>,
    pub ready_delay_ms: u64,
    /// Where logs go, without their suffix.
    pub logs: PathBuf,
    pub audit: bool,
    /// Whether the servers keep their own default flags; only a real control plane has them.
    pub default_flags: bool,
}

/// A server that answers.
#[derive(Debug)]
pub enum Server {
    Kubesim(Kubesim),
    Real(Box<Real>),
    Existing(Box<Existing>),
}

/// Why there is no server, or what was made on it is not there or not gone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot find this program to start the simulated server: {0}")]
    Program(std::io::Error),
    #[error(transparent)]
    Process(#[from] tare_procstat::process::Error),
    #[error("the simulated server ended at once ({status}): {log_tail}")]
    Ended {
        status: std::process::ExitStatus,
        log_tail: String,
    },
    #[error("the simulated server did not answer within {} s; its log: {}", kubesim::START.as_secs(), log.display())]
    Silent { log: PathBuf },
    #[error(transparent)]
    Real(#[from] controlplane::Error),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("the cluster has no {name}; install the subject's CRD first: {way}")]
    NoCrd { name: String, way: String },
    #[error("the cluster has a namespace {0} that no bench made; rename or delete it")]
    Foreign(String),
    #[error(
        "namespace {namespace} was still there after {} s; find out what holds it, then delete it",
        bench_namespace::GONE.as_secs()
    )]
    StillThere { namespace: String },
    /// The place of a fixture, and the way out.
    #[error(transparent)]
    Fixture(#[from] workload::Error),
}

/// Where a datastore stands, and how far the readiness agent has brought it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// Of etcd, or of kine: it counts up by one with each change of an object.
    datastore: u64,
    /// Statuses of Deployments that the agent has written; it writes where something differs only.
    agent_writes: u64,
}

impl Revision {
    /// Revisions since then, less those of the agent; `None` where the datastore was made anew.
    pub fn since(self, earlier: Revision) -> Option<u64> {
        let all = self.datastore.checked_sub(earlier.datastore)?;
        all.checked_sub(self.agent_writes.checked_sub(earlier.agent_writes)?)
    }
}

impl Server {
    /// # Errors
    /// See [`Error`].
    pub async fn start(order: Order<'_>) -> Result<Self, Error> {
        Ok(match order.source {
            Source::Kubesim => Server::Kubesim(Kubesim::start(&order).await?),
            Source::Real {
                datastore,
                binaries,
            } => Server::Real(Box::new(Real::start(&order, *datastore, binaries).await?)),
            Source::Existing(existing) => {
                Server::Existing(Box::new(Existing::start(&order, existing).await?))
            }
        })
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        match self {
            Server::Kubesim(server) => server.kubeconfig(user),
            Server::Real(server) => server.plane.kubeconfig(user),
            Server::Existing(server) => server.kubeconfig(),
        }
    }

    /// The API server's process, where it is ours.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Server::Kubesim(server) => Some(server.pid()),
            Server::Real(server) => Some(server.plane.api_server_pid()),
            Server::Existing(_) => None,
        }
    }

    /// CPU time of the API server so far.
    pub fn cpu_s(&self) -> Option<f64> {
        tare_procstat::cpu_seconds(self.pid()?).ok()
    }

    fn real(&self) -> Option<&Real> {
        match self {
            Server::Real(server) => Some(server),
            Server::Kubesim(_) | Server::Existing(_) => None,
        }
    }

    /// CPU time of kube-controller-manager so far; `None` where it is not ours.
    pub fn controllers_cpu_s(&self) -> Option<f64> {
        tare_procstat::cpu_seconds(self.real()?.plane.controllers_pid()).ok()
    }

    /// Requests of all users so far.
    pub async fn request_counts(&self, cluster: &Cluster) -> Option<RequestCounts> {
        match self {
            Server::Kubesim(_) => cluster.request_counts().await.ok(),
            Server::Real(server) => server.request_counts(),
            Server::Existing(_) => None,
        }
    }

    /// The metrics page of a real API server of ours; `None` where it does not answer.
    pub async fn metrics(&self, cluster: &Cluster) -> Option<String> {
        self.real()?;
        cluster.metrics().await.ok()
    }

    /// How long the subject was writing to each object.
    pub fn write_spans(&self) -> Option<Latencies> {
        self.real()?.write_spans()
    }

    /// Bytes that the datastore has written so far.
    pub fn datastore_written_bytes(&self) -> Option<u64> {
        self.real()?.plane.datastore_written_bytes().ok()
    }

    /// Where the datastore stands; `None` on a server that has none, or that others write to.
    pub async fn revision(&self, cluster: &Cluster) -> Option<Revision> {
        let server = self.real()?;
        Some(Revision {
            datastore: cluster.revision().await.ok()?,
            agent_writes: server.agent_writes(),
        })
    }

    /// Size of the datastore's files.
    pub fn datastore_size_bytes(&self) -> Option<u64> {
        self.real()?.plane.datastore_size_bytes().ok()
    }

    /// Which part has ended by itself, and how.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn exited(&mut self) -> Result<Option<String>, Error> {
        let ended = match self {
            Server::Kubesim(server) => server.exited()?.map(|s| ("the API server".to_owned(), s)),
            Server::Real(server) => server.plane.exited()?,
            Server::Existing(_) => None,
        };
        Ok(ended.map(|(part, status)| format!("{part} ended by itself ({status})")))
    }

    /// Ends the API server and starts it again with its data.
    ///
    /// # Errors
    /// It does not start; or it is none that loadgen has started as a process of its own.
    pub async fn restart(&mut self) -> Result<(), String> {
        match self {
            Server::Real(server) => {
                (server.plane.restart_api_server().await).map_err(|error| error.to_string())
            }
            Server::Kubesim(_) | Server::Existing(_) => {
                Err("only a kube-apiserver of loadgen's own can be restarted".to_owned())
            }
        }
    }

    /// # Errors
    /// When the signal cannot be sent, or a namespace cannot be deleted.
    pub async fn stop(self) -> Result<(), Error> {
        match self {
            Server::Kubesim(server) => server.stop().await?,
            Server::Real(server) => server.plane.stop().await?,
            Server::Existing(server) => server.stop().await?,
        }
        Ok(())
    }
}

/// `stem` with something appended to its last part.
fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
