//! A real node: kubelet, containerd and runc on one machine, without systemd and without Docker,
//! with a control plane of its own.
//!
//! It lives in mount, process and network namespaces of its own (`namespaces`) and in a cgroup of
//! its own (`cgroups`), so several can run beside each other, and nothing of the machine's is
//! changed: no address, no route, no sysctl. kube-apiserver listens in there on the address of the
//! Service `kubernetes`, so that pods reach it without kube-proxy; a forwarder (`forward`) makes it
//! reachable from 127.0.0.1, so an ordinary kubeconfig works.
//!
//! Guarantees: when it is started the node is Ready and takes pods; everything ends with the process
//! that started it, SIGKILL included; cgroups are removed when it is dropped, or by the next start.
//! Leaves to others: the folder, which stays after the end; images, but for the pause image.
//!
//! Not there: DNS, Services' addresses (no kube-proxy), NetworkPolicy.

mod access;
mod addresses;
mod cgroups;
mod components;
mod error;
mod forward;
mod image;
mod namespaces;
mod programs;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::build::binaries::{Binaries, NodeBinaries};
use crate::component::Component;
use crate::credentials::owner_only;
use crate::node::cgroups::Cgroups;
use crate::node::components::{KUBELET, SCHEDULER};
use crate::node::forward::Forward;
use crate::node::namespaces::Namespaces;
use crate::options::{Datastore, User};
use crate::plane::ControlPlane;

pub use crate::node::addresses::IpFamily;
pub use crate::node::error::Error;
pub use crate::node::image::{PAUSE, of_source};
pub use crate::node::programs::Programs;
pub use crate::node::tools::check;

/// What the node is called.
pub const NAME: &str = "node1";

/// How a node is started.
#[derive(Clone, Debug)]
pub struct Options {
    pub datastore: Datastore,
    /// Empty, or not there yet: what an earlier node left in it would come back.
    pub dir: PathBuf,
    /// Where logs go: a path that a component's name is appended to.
    pub logs: PathBuf,
    pub users: Vec<User>,
    /// CRDs (YAML) that are there from the beginning.
    pub crds: Vec<PathBuf>,
    /// Which addresses there are.
    pub family: IpFamily,
    /// kube-apiserver's port on 127.0.0.1; `None` takes a free one.
    pub port: Option<u16>,
    /// After which a component that is not ready counts as failed.
    pub start_within: Duration,
}

/// A node that is Ready, with its control plane. Dropped, all of it is killed.
pub struct Node {
    options: Options,
    // Ended in this order when dropped: clients before their servers, and the namespaces with all that
    // is still in them at the end.
    kubelet: Component,
    scheduler: Component,
    containerd: Component,
    plane: ControlPlane,
    _forward: Forward,
    namespaces: Namespaces,
    cgroups: Cgroups,
}

impl Node {
    /// Returns when the node is Ready and pods can be put on it.
    ///
    /// # Errors
    /// One line that says what failed and where its log is; whatever was started is ended.
    pub async fn start(
        binaries: &Binaries,
        node_binaries: &NodeBinaries,
        options: Options,
    ) -> Result<Node, Error> {
        tools::check()?;
        namespaces::refuse_hidden(&options.dir)?;
        owner_only::folder(&options.dir)?;
        let cgroups = Cgroups::create()?;
        let log = |component: &str| log(&options.logs, component);
        let pause = image::pause(&options.dir).await?;
        let within = options.start_within;
        let namespaces = Namespaces::start(&options, &cgroups, log("namespaces")).await?;
        let server = options.family.server();
        let forward = Forward::start(options.port, namespaces.pid(), server)?;

        let spec =
            components::containerd(&options.dir, options.family, &namespaces, log("containerd"))?;
        let mut containerd = Component::spawn("containerd", spec).await?;
        let plane = access::options(&options, &namespaces, forward.port())?;
        let plane = ControlPlane::start(binaries, plane).await?;
        let answers = async || namespaces.run(&["ctr", "version"]).await.map(drop);
        containerd
            .until(within, || async {
                answers().await.map_err(|it| it.to_string())
            })
            .await?;
        namespaces.import(&pause).await?;

        let kubeconfig = plane.kubeconfig(SCHEDULER);
        let spec = components::scheduler(node_binaries, &kubeconfig, log("kube-scheduler"));
        let scheduler = Component::spawn("kube-scheduler", spec).await?;
        let kubeconfig = access::from_inside(&plane, KUBELET, &options)?;
        let place = components::Place {
            dir: &options.dir,
            family: options.family,
            namespaces: &namespaces,
            cgroup: cgroups.name(),
        };
        let spec = components::kubelet(node_binaries, &place, &kubeconfig, log("kubelet"))?;
        let mut kubelet = Component::spawn("kubelet", spec).await?;
        let client = plane.client(KUBELET).await?;
        kubelet
            .until(within, || access::takes_pods(&client))
            .await?;
        Ok(Node {
            options,
            kubelet,
            scheduler,
            containerd,
            plane,
            _forward: forward,
            namespaces,
            cgroups,
        })
    }

    /// Its control plane, which also says who may log in and how.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// A program that runs a command inside: with its processes, its network, its mounts.
    pub fn enter(&self) -> &Path {
        self.namespaces.enter()
    }

    /// Makes an image known to the node: an archive that `ctr images import` takes.
    ///
    /// # Errors
    /// What `ctr` says.
    pub async fn import(&self, archive: &Path) -> Result<(), Error> {
        self.namespaces.import(archive).await
    }

    /// Runs a command inside and returns what it prints.
    ///
    /// # Errors
    /// It fails, with what it printed.
    pub async fn run(&self, command: &[&str]) -> Result<String, Error> {
        self.namespaces.run(command).await
    }

    /// The processes that run a program of this name in the node, as this machine numbers them.
    ///
    /// # Errors
    /// The cgroup cannot be read.
    pub fn processes(&self, name: &str) -> Result<Vec<i32>, Error> {
        self.cgroups.processes(name)
    }

    /// Where its components log: this, with `-NAME.log`.
    pub fn logs(&self) -> &Path {
        &self.options.logs
    }

    /// A component that has ended, which none should.
    ///
    /// # Errors
    /// When the kernel refuses to say.
    pub fn exited(&mut self) -> Result<Option<(String, ExitStatus)>, Error> {
        for component in [&mut self.kubelet, &mut self.scheduler, &mut self.containerd] {
            if let Some(status) = component.process.exited()? {
                return Ok(Some((component.name.to_owned(), status)));
            }
        }
        Ok(self.plane.exited()?)
    }
}

/// `logs/run-1` becomes `logs/run-1-kubelet.log`.
fn log(logs: &Path, component: &str) -> PathBuf {
    let mut path = logs.to_owned().into_os_string();
    path.push(format!("-{component}.log"));
    PathBuf::from(path)
}
