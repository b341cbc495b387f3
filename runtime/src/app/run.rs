//! Execution of the commands `run`, `install` and `version`.

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures::future::join_all;
use http::HeaderValue;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::allocator;
use crate::app::admin::Page;
use crate::app::cli::{Cluster, LeaseName, Run};
use crate::app::crd;
use crate::app::crd::Crd;
use crate::app::front::{Front, Shared, ended};
use crate::app::program::Program;
use crate::app::{admin, pause, telemetry};
use crate::controller::Config;
use crate::http::client;
use crate::http::client::{ClientError, Config as Access};
use crate::http::request::Api;
use crate::leader::{Candidate, Election, Lost};
use crate::metrics::Metrics;

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
pub fn block_on<'a, F>(make: impl FnOnce() -> F) -> Result<(), RunError>
where
    F: Future<Output = Result<(), RunError>> + 'a,
{
    block_on_boxed(boxed(make))
}

/// Once for all commands.
#[inline(never)] // Otherwise every command would reserve the stack of the largest one.
fn block_on_boxed(
    future: Pin<Box<dyn Future<Output = Result<(), RunError>> + '_>>,
) -> Result<(), RunError> {
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
/// There is no valid configuration, or a CRD cannot be installed.
pub async fn install(
    cluster: Cluster,
    name: &str,
    program: &Program,
    crds: &[Crd],
) -> Result<(), RunError> {
    telemetry::init(cluster.log);
    let access = access(cluster.context, name, program).await?;
    let server = access.server.to_string();
    let api = Api::new(client::build(&access)?, Arc::default(), REQUEST_TIMEOUT);
    for crd in crds {
        let installed = crd::install(&api, crd, ESTABLISHED_TIMEOUT).await;
        installed.map_err(|cause| RunError::Install {
            server: server.clone(),
            cause,
        })?;
        print(&format!("{} is Established\n", crd.name))?;
    }
    Ok(())
}

/// `run`: until SIGTERM or SIGINT.
///
/// # Errors
/// The configuration is invalid, the admin port cannot be opened, or the Lease was lost. Everything else is retried.
pub async fn run(
    options: Run,
    name: &'static str,
    program: &Program,
    fronts: Vec<Front>,
) -> Result<(), RunError> {
    telemetry::init(options.cluster.log);
    let listener = admin::listen(options.admin)
        .await
        .map_err(|error| RunError::Admin {
            address: options.admin,
            cause: reason(&error),
        })?;
    let pages: Vec<Page<'_>> = fronts
        .iter()
        .map(|front| page(front, program.version))
        .collect();
    let config = Config {
        namespaces: options.namespaces,
        selector: options.selector,
        concurrency: options.concurrency,
        resync: options.relist_period,
        deadline: options.timeout,
        trim: allocator::trim,
        pause: pause::set,
        ..Config::default()
    };
    let access = access(options.cluster.context, name, program).await?;
    let server = access.server.to_string();
    let client = client::build(&access)?;
    // The first one tells of the Lease.
    let election = options.lease.zip(pages.first()).map(|(lease, first)| {
        let lease = match &lease {
            LeaseName::Operators => name,
            LeaseName::Given(name) => name,
        };
        let candidate = Candidate::new(&access.namespace, lease, name);
        pages.iter().for_each(|page| page.metrics.set_standby(true));
        Election::new(client.clone(), Arc::clone(&first.metrics), candidate)
    });
    drop(access);
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
    let works = fronts.into_iter().zip(&pages).map(|(front, page)| {
        let shared = Shared {
            client: client.clone(),
            metrics: Arc::clone(&page.metrics),
            namespaces: config.namespaces.clone(),
            config: config.clone(),
            cache: options.cache,
            stopped: stopped.clone(),
            _stop: None,
        };
        work(front, shared, options.install_crd)
    });
    let works: Vec<_> = works.collect();
    let work = Box::pin(async {
        pages
            .iter()
            .for_each(|page| page.metrics.set_standby(false));
        join_all(works).await;
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
    let served = admin::serve(listener, &pages, std::future::pending());
    tokio::select! {
        // The admin port answers until the last write is done. A Lease that is lost ends the process at once.
        ended = operate => ended?,
        () = signals => {}
        () = served => {}
    }
    info!("stopped");
    Ok(())
}

/// What the admin port serves of an operator or a controller.
fn page<'a>(front: &Front, version: &'a str) -> Page<'a> {
    let metrics = Metrics::default();
    metrics.crd_revision.store(-1, Relaxed);
    let revision = front.crds.iter().find_map(|crd| crd.revision);
    metrics
        .crd_revision_in_binary
        .store(revision.unwrap_or(0), Relaxed);
    Page {
        metrics: Arc::new(metrics),
        prefix: front.prefix.clone(),
        version,
    }
}

/// Runs an operator or a controller to its end.
async fn work(front: Front, shared: Shared, install_crd: bool) {
    let Front { crds, run, .. } = front;
    let metrics = Arc::clone(&shared.metrics);
    let api = Api::new(
        shared.client.clone(),
        metrics,
        shared.config.request_deadline,
    );
    // Also the CRD is written by the replica that works, alone.
    for crd in crds.iter().filter(|_| install_crd) {
        tokio::select! {
            () = install_at_start(&api, crd) => {}
            () = shared.ended() => return,
        }
    }
    // A task of its own: what comes from the API server then wakes neither the admin port nor the signals,
    // and what is on its way within the process costs no look at the sockets.
    let run = tokio::spawn(run(shared));
    let compared = async {
        match crds.iter().find(|crd| crd.revision.is_some()) {
            Some(crd) => crd::compare(&api, crd).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        ended = run => {
            if let Err(panicked) = ended {
                std::panic::resume_unwind(panicked.into_panic());
            }
        }
        () = compared => {}
    }
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
async fn access(
    context: Option<String>,
    name: &str,
    program: &Program,
) -> Result<Access, ClientError> {
    let mut access = client::config(context).await?;
    if let Ok(agent) = HeaderValue::try_from(format!("{name}/{}", program.version)) {
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
