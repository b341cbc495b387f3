//! Execution of the commands `run`, `install` and `version`.

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http::HeaderValue;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::api::Operator;
use crate::app::cli::{Cluster, LeaseName, Run};
use crate::app::crd;
use crate::app::crd::Crd;
use crate::app::program::Program;
use crate::app::{admin, allocator, pause, telemetry};
use crate::controller;
use crate::controller::Config;
use crate::http::client;
use crate::http::client::{ClientError, Config as Access};
use crate::http::request::Api;
use crate::leader::{Candidate, Election, Lost};
use crate::metrics::{Build, Metrics};

/// How long the CRD may take to be Established.
const ESTABLISHED_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a request of `install` may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no valid configuration.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The CRD cannot be installed.
    #[error("{server}: {cause}")]
    Install {
        /// The API server.
        server: String,
        /// Why not.
        cause: crd::InstallError,
    },
    /// The admin port cannot be opened.
    #[error("admin port {address}: {cause}; choose another one with --admin")]
    Admin {
        /// Its address.
        address: SocketAddr,
        /// Why not.
        cause: String,
    },
    /// Another replica works from now on.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Runs the future of `make` on the only thread.
///
/// # Errors
/// The future fails, or the tokio runtime cannot be started.
#[inline(never)] // Otherwise every command would reserve the stack of the largest one.
pub fn block_on<F>(make: impl FnOnce() -> F) -> Result<(), RunError>
where
    F: Future<Output = Result<(), RunError>>,
{
    let future = boxed(make);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(pause::sleep)
        .build()?
        .block_on(future)
}

/// Boxes the future in a stack frame of its own. Otherwise the copies made while it is built and moved
/// would stay on the stack below everything that it calls.
#[inline(never)]
fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// Prints to standard output; a reader that closes the pipe early is not an error.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), RunError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Version, commit, target and allocator in one line.
pub fn version(name: &str, program: &Program) -> String {
    let revision = program.crd_revision;
    format!(
        "{name} {} ({}-{}, allocator {}{})\n",
        program.version,
        std::env::consts::ARCH,
        if cfg!(target_env = "musl") {
            "musl"
        } else {
            "gnu"
        },
        allocator::NAME,
        revision.map_or_else(String::new, |revision| format!(", CRD revision {revision}")),
    )
}

/// `install`.
///
/// # Errors
/// There is no valid configuration, or the CRD cannot be installed.
pub async fn install<O: Operator>(
    cluster: Cluster,
    program: &Program,
    crd: &Crd,
) -> Result<(), RunError> {
    telemetry::init(cluster.log);
    let access = access::<O>(cluster.context, program).await?;
    let server = access.server.to_string();
    let api = Api::new(client::build(&access)?, Arc::default(), REQUEST_TIMEOUT);
    crd::install(&api, crd, ESTABLISHED_TIMEOUT)
        .await
        .map_err(|cause| RunError::Install { server, cause })?;
    print(&format!("{} is Established\n", crd.name))
}

/// `run`: until SIGTERM or SIGINT.
///
/// # Errors
/// The configuration is invalid, the admin port cannot be opened, or the Lease was lost. Everything else is retried.
pub async fn run<O: Operator>(
    options: Run,
    operator: Arc<O>,
    program: &Program,
    crd: &Crd,
) -> Result<(), RunError> {
    telemetry::init(options.cluster.log);
    let listener = TcpListener::bind(options.admin)
        .await
        .map_err(|error| RunError::Admin {
            address: options.admin,
            cause: reason(&error),
        })?;
    let metrics = Arc::new(Metrics::default());
    metrics.crd_revision.store(-1, Relaxed);
    metrics
        .crd_revision_in_binary
        .store(crd.revision.unwrap_or(0), Relaxed);
    let config = Config {
        namespace: options.namespace,
        selector: options.selector,
        concurrency: options.concurrency,
        resync: options.relist_period,
        deadline: options.timeout,
        trim: allocator::trim,
        pause: pause::set,
        ..Config::default()
    };
    let access = access::<O>(options.cluster.context, program).await?;
    let server = access.server.to_string();
    let client = client::build(&access)?;
    let election = options.lease.map(|lease| {
        let name = match &lease {
            LeaseName::Operators => O::NAME,
            LeaseName::Given(name) => name,
        };
        let candidate = Candidate::new(&access.namespace, name, O::NAME);
        Election::new(client.clone(), Arc::clone(&metrics), candidate)
    });
    drop(access);
    let api = Api::new(
        client.clone(),
        Arc::clone(&metrics),
        config.request_deadline,
    );
    info!(version = program.version, %server, cache = %options.cache, admin = %options.admin, "starting");

    let (stop, stopped) = watch::channel(());
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let signals = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        drop(stop);
        std::future::pending().await
    };
    let ended =
        |mut stopped: watch::Receiver<()>| async move { while stopped.changed().await.is_ok() {} };
    // Also the CRD is written by the replica that works, alone.
    let work = Box::pin(async {
        if options.install_crd {
            tokio::select! {
                () = install_at_start(&api, crd) => {}
                () = ended(stopped.clone()) => return,
            }
        }
        // A task of its own: what comes from the API server then wakes neither the admin port nor the signals,
        // and what is on its way within the process costs no look at the sockets.
        let run = tokio::spawn(controller::run(
            Arc::clone(&operator),
            options.cache.cache(&operator),
            client,
            Arc::clone(&metrics),
            config,
            ended(stopped.clone()),
        ));
        tokio::select! {
            ended = run => {
                if let Err(panicked) = ended {
                    std::panic::resume_unwind(panicked.into_panic());
                }
            }
            () = crd::compare(&api, crd) => {}
        }
    });
    let operate = async {
        match election {
            Some(election) => election.lead(ended(stopped.clone()), work).await,
            None => {
                work.await;
                Ok(())
            }
        }
    };
    let prefix = O::metrics_prefix();
    let build = Build {
        prefix: &prefix,
        version: program.version,
        allocator: allocator::NAME,
    };
    let served = admin::serve(
        listener,
        Arc::clone(&metrics),
        build,
        std::future::pending(),
    );
    tokio::select! {
        // The admin port answers until the last write is done. A Lease that is lost ends the process at once.
        ended = operate => ended?,
        () = signals => {}
        () = served => {}
    }
    info!("stopped");
    Ok(())
}

/// Retries until it succeeds: when a node boots, the API server may start after this program.
async fn install_at_start(api: &Api, crd: &Crd) {
    let mut delay = Duration::from_secs(1);
    while let Err(error) = crd::install(api, crd, ESTABLISHED_TIMEOUT).await {
        api.metrics().set_not_ready(&error.to_string());
        warn!(retry_in_s = delay.as_secs(), "{error}");
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(Duration::from_secs(60));
    }
}

/// The client configuration, with the program's name as `User-Agent`.
async fn access<O: Operator>(
    context: Option<String>,
    program: &Program,
) -> Result<Access, ClientError> {
    let mut access = client::config(context).await?;
    if let Ok(agent) = HeaderValue::try_from(format!("{}/{}", O::NAME, program.version)) {
        access.user_agent = agent;
    }
    Ok(access)
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => "already in use".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
