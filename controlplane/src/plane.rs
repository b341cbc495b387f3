//! A control plane from its start to its end.
//!
//! Guarantees: the order of a start is datastore, kube-apiserver, CRDs, controllers, readiness agent,
//! each begun when the one before answers. Leaves to others: the folders, which stay after the end.

mod backup;
pub(crate) mod compaction;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use http::Request;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

use crate::api_server::crd;
use crate::api_server::port::HeldPort;
use crate::build::binaries::Binaries;
use crate::component::Component;
use crate::credentials::owner_only;
use crate::credentials::{Access, OWN, READINESS};
use crate::error::Error;
use crate::options::{Network, Options};
use crate::readiness::{Agent, Counts};
use crate::{api_server, controllers, datastore};

/// After which a component that was asked to end is killed.
const GRACE: Duration = Duration::from_secs(5);

/// A control plane that answers. Dropped, its processes are killed.
pub struct ControlPlane {
    pub(crate) binaries: Binaries,
    pub(crate) options: Options,
    pub(crate) access: Access,
    port: u16,
    /// Unless it is forwarded.
    _held: Option<HeldPort>,
    client: kube::Client,
    version: String,
    agent: Option<Agent>,
    // Ended in this order when dropped: clients before their servers.
    controllers: Component,
    pub(crate) api_server: Component,
    pub(crate) datastore: Component,
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane")
            .field("url", &self.url())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// CPU time that each component has spent since it was last started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuSeconds {
    pub api_server_s: f64,
    pub datastore_s: f64,
    pub controllers_s: f64,
}

impl ControlPlane {
    /// Returns when kube-apiserver is ready, the CRDs are served and the controllers are started.
    ///
    /// # Errors
    /// One line that says what failed and where its log is; whatever was started is ended.
    pub async fn start(binaries: &Binaries, options: Options) -> Result<ControlPlane, Error> {
        owner_only::folder(&options.dir)?;
        owner_only::folder(&datastore::data(&options.dir))?;
        if let Some(from) = &options.data_from {
            owner_only::copy(from, &datastore::data(&options.dir))?;
        }
        let (port, held) = match &options.network {
            Some(network) => (network.forwarded_from, None),
            None => {
                let held = HeldPort::take(options.port)?;
                (held.number(), Some(held))
            }
        };
        let names = options.network.as_ref().map_or_else(Vec::new, names);
        let access = Access::create(&options.dir, &url(port), &names, &options.users)?;
        let client = client(&access.kubeconfig(OWN)).await?;
        let datastore = start_datastore(&options, binaries, &[]).await?;
        let (api_server, version) =
            start_api_server(&options, binaries, &access, port, &client).await?;
        for path in &options.crds {
            crd::install(&client, path).await?;
        }
        let log = log(&options, "kube-controller-manager");
        let spec = controllers::spec(&options, binaries, &access, log);
        let controllers = Component::spawn("kube-controller-manager", spec).await?;
        let agent = match options.readiness {
            Some(delay) if !options.pods && !options.nodes => {
                let client = self::client(&access.kubeconfig(READINESS)).await?;
                Some(Agent::start(client, delay))
            }
            _ => None,
        };
        Ok(ControlPlane {
            binaries: binaries.clone(),
            options,
            access,
            port,
            _held: held,
            client,
            version,
            agent,
            controllers,
            api_server,
            datastore,
        })
    }

    /// Where the credentials of a user of [`Options::users`] are.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.access.kubeconfig(user)
    }

    /// A client with a user's credentials that repeats nothing by itself.
    ///
    /// # Errors
    /// `Client` for somebody who is no user.
    pub async fn client(&self, user: &str) -> Result<kube::Client, Error> {
        client(&self.kubeconfig(user)).await
    }

    /// Where kube-apiserver answers.
    pub fn url(&self) -> String {
        url(self.port)
    }

    pub fn ca_pem(&self) -> &str {
        self.access.ca_pem()
    }

    /// kube-apiserver's, such as `v1.37.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn api_server_pid(&self) -> u32 {
        self.api_server.pid()
    }

    pub fn datastore_pid(&self) -> u32 {
        self.datastore.pid()
    }

    pub fn controllers_pid(&self) -> u32 {
        self.controllers.pid()
    }

    /// CPU time of each component since its last start.
    ///
    /// # Errors
    /// When a component is gone.
    pub fn cpu_seconds(&self) -> Result<CpuSeconds, Error> {
        Ok(CpuSeconds {
            api_server_s: tare_procstat::cpu_seconds(self.api_server.pid())?,
            datastore_s: tare_procstat::cpu_seconds(self.datastore.pid())?,
            controllers_s: tare_procstat::cpu_seconds(self.controllers.pid())?,
        })
    }

    /// The requests of the readiness agent, if there is one.
    pub fn readiness_counts(&self) -> Option<Counts> {
        self.agent.as_ref().map(Agent::counts)
    }

    /// Where the audit log is, if there is one: JSON lines, one for each answered request.
    pub fn audit_log(&self) -> Option<PathBuf> {
        self.options
            .audit
            .then(|| api_server::audit_log(&self.options.dir))
    }

    /// The folder with the datastore's files; of an ended control plane it can be another's
    /// [`Options::data_from`].
    pub fn data_dir(&self) -> PathBuf {
        datastore::data(&self.options.dir)
    }

    /// Size of the datastore's files. etcd keeps free pages and preallocates 64 MB of log.
    ///
    /// # Errors
    /// `File` when they cannot be read.
    pub fn datastore_size_bytes(&self) -> Result<u64, Error> {
        owner_only::size_bytes(&self.data_dir())
    }

    /// What the datastore's process has written to files since it was last started: `write_bytes`
    /// of `/proc/PID/io`, pages that became dirty, counted again after each write-back. (`wchar`
    /// would count answers on its sockets too.) Nothing is counted on a tmpfs.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn datastore_written_bytes(&self) -> Result<u64, Error> {
        Ok(tare_procstat::storage_written_bytes(self.datastore.pid())?)
    }

    /// A component that has ended, which none should.
    ///
    /// # Errors
    /// When the kernel refuses to say.
    pub fn exited(&mut self) -> Result<Option<(String, ExitStatus)>, Error> {
        for component in [
            &mut self.datastore,
            &mut self.api_server,
            &mut self.controllers,
        ] {
            if let Some(status) = component.process.exited()? {
                return Ok(Some((component.name.to_owned(), status)));
            }
        }
        Ok(None)
    }

    /// Ends kube-apiserver and starts it again at the same address.
    ///
    /// # Errors
    /// As for [`ControlPlane::start`].
    pub async fn restart_api_server(&mut self) -> Result<(), Error> {
        self.stop_api_server().await?;
        self.start_api_server().await
    }

    pub(crate) async fn stop_api_server(&mut self) -> Result<(), Error> {
        self.api_server.process.terminate(GRACE).await?;
        Ok(())
    }

    pub(crate) async fn start_api_server(&mut self) -> Result<(), Error> {
        let port = self.port;
        let (options, binaries) = (&self.options, &self.binaries);
        let started = start_api_server(options, binaries, &self.access, port, &self.client).await?;
        (self.api_server, self.version) = started;
        Ok(())
    }

    /// Ends the datastore and starts it again, with more arguments.
    pub(crate) async fn restart_datastore(&mut self, extra: &[&str]) -> Result<(), Error> {
        self.datastore.process.terminate(GRACE).await?;
        self.datastore = start_datastore(&self.options, &self.binaries, extra).await?;
        Ok(())
    }

    /// Ends all of it; what does not end within seconds is killed. Files stay.
    ///
    /// # Errors
    /// When the kernel refuses a signal.
    pub async fn stop(mut self) -> Result<(), Error> {
        drop(self.agent.take());
        for component in [
            &mut self.controllers,
            &mut self.api_server,
            &mut self.datastore,
        ] {
            component.process.terminate(GRACE).await?;
        }
        Ok(())
    }
}

/// What the certificate is for besides loopback.
fn names(network: &Network) -> Vec<String> {
    let mut names = vec![network.address.to_string()];
    names.extend_from_slice(&network.names);
    names
}

fn url(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

/// `logs/run-1` becomes `logs/run-1-etcd.log`.
fn log(options: &Options, component: &str) -> PathBuf {
    let mut path = options.logs.clone().into_os_string();
    path.push(format!("-{component}.log"));
    PathBuf::from(path)
}

/// A client with the credentials of a kubeconfig that repeats nothing by itself.
///
/// # Errors
/// `Client` for a file that cannot be read or used.
pub async fn client(kubeconfig: &Path) -> Result<kube::Client, Error> {
    let failed = |cause: String| Error::Client {
        kubeconfig: kubeconfig.to_owned(),
        cause,
    };
    let file = Kubeconfig::read_from(kubeconfig).map_err(|cause| failed(cause.to_string()))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|cause| failed(cause.to_string()))?;
    // A refusal is an answer here: the caller decides whether to repeat it.
    config.default_retry = false;
    kube::Client::try_from(config).map_err(|cause| failed(cause.to_string()))
}

async fn start_datastore(
    options: &Options,
    binaries: &Binaries,
    extra: &[&str],
) -> Result<Component, Error> {
    let name = options.datastore.name();
    let spec = datastore::spec(
        options.datastore,
        options.flags,
        binaries,
        &options.dir,
        log(options, name),
        extra,
    )?;
    let socket = datastore::socket(&options.dir);
    // A socket that was left behind would refuse connections, and etcd does not replace it.
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::file(socket)(error));
        }
        _ => {}
    }
    let mut datastore = Component::spawn(name, spec).await?;
    let connect = || async {
        let connected = tokio::net::UnixStream::connect(&socket).await;
        connected.map(drop).map_err(|cause| cause.to_string())
    };
    datastore.until(options.start_within, connect).await?;
    Ok(datastore)
}

/// Returns the server with its version.
async fn start_api_server(
    options: &Options,
    binaries: &Binaries,
    access: &Access,
    port: u16,
    client: &kube::Client,
) -> Result<(Component, String), Error> {
    let log = log(options, "kube-apiserver");
    let spec = api_server::spec(options, binaries, access, port, log)?;
    let mut server = Component::spawn("kube-apiserver", spec).await?;
    // `default` comes a moment after the server calls itself ready.
    let ready = || async {
        for path in ["/readyz", "/api/v1/namespaces/default"] {
            let request = Request::get(path).body(Vec::new());
            let request = request.map_err(|cause| cause.to_string())?;
            let answer = client.request_text(request).await;
            answer.map_err(|cause| cause.to_string())?;
        }
        let version = client.apiserver_version().await;
        version
            .map(|it| it.git_version)
            .map_err(|cause| cause.to_string())
    };
    let version = server.until(options.start_within, ready).await?;
    Ok((server, version))
}
