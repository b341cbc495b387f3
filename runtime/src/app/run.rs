//! What the commands do, from their options to their end.

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::api::Operator;
use crate::app::cli::{Cluster, Run};
use crate::app::crd;
use crate::app::crd::Crd;
use crate::app::program::Program;
use crate::app::{admin, telemetry};
use crate::controller;
use crate::controller::Config;
use crate::http::client;
use crate::http::client::ClientError;
use crate::http::request::Api;
use crate::metrics::Metrics;

/// How long the CRD is given to be Established.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a request of `install` may take.
const REQUEST: Duration = Duration::from_secs(10);

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no usable configuration.
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
    /// The admin port is not to be had.
    #[error("admin port {address}: {cause}; choose another one with --admin")]
    Admin {
        /// Where it should be.
        address: SocketAddr,
        /// Why not.
        cause: String,
    },
    /// The operating system refuses something.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Runs what `make` gives on the one thread there is.
///
/// # Errors
/// Those of the future, and a runtime that cannot be started.
#[inline(never)] // What one command needs of the stack is not there while another runs.
pub fn block_on<F>(make: impl FnOnce() -> F) -> Result<(), RunError>
where
    F: Future<Output = Result<(), RunError>>,
{
    let future = boxed(make);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(future)
}

/// In a frame of its own: the place where a future was made, and each it was moved through, would
/// else stay on the stack below everything that it calls.
#[inline(never)]
fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// Prints to standard output; a reader that goes away early is not an error.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), RunError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Version, target and allocator in one line.
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
        crate::app::allocator::NAME,
        revision.map_or_else(String::new, |revision| format!(", CRD revision {revision}")),
    )
}

/// `install`.
///
/// # Errors
/// No configuration, or the CRD cannot be installed.
pub async fn install(cluster: Cluster, crd: &Crd) -> Result<(), RunError> {
    telemetry::init(cluster.log);
    let (api, server) = connect(cluster.context, Arc::default(), REQUEST).await?;
    crd::install(&api, crd, PATIENCE)
        .await
        .map_err(|cause| RunError::Install { server, cause })?;
    print(&format!("{} is Established\n", crd.name))
}

/// `run`: until SIGTERM or SIGINT.
///
/// # Errors
/// What cannot be waited out: the configuration, the admin port.
pub async fn run<O: Operator>(options: Run, operator: Arc<O>, crd: &Crd) -> Result<(), RunError> {
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
        resync: options.resync,
        deadline: options.timeout,
        trim: crate::app::allocator::tidy,
        ..Config::default()
    };
    let access = client::config(options.cluster.context).await?;
    let server = access.server.to_string();
    let client = client::build(&access)?;
    drop(access);
    let api = Api::new(
        client.clone(),
        Arc::clone(&metrics),
        config.request_deadline,
    );
    info!(version = env!("CARGO_PKG_VERSION"), %server, cache = %options.cache, admin = %options.admin, "starting");

    let (stop, stopped) = watch::channel(());
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let signals = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        drop(stop);
    };
    let ended =
        |mut stopped: watch::Receiver<()>| async move { while stopped.changed().await.is_ok() {} };
    let operate = async {
        if options.install_crd {
            tokio::select! {
                () = install_at_start(&api, crd) => {}
                () = ended(stopped.clone()) => return,
            }
        }
        let run = controller::run(
            Arc::clone(&operator),
            options.cache.cache(&operator),
            client,
            Arc::clone(&metrics),
            config,
            ended(stopped.clone()),
        );
        tokio::select! {
            () = run => {}
            () = crd::compare(&api, crd) => {}
        }
    };
    let served = admin::serve(listener, Arc::clone(&metrics), std::future::pending());
    tokio::select! {
        // The admin port answers until the last write is done.
        ((), ()) = async { tokio::join!(signals, operate) } => {}
        () = served => {}
    }
    info!("stopped");
    Ok(())
}

/// Tries until it works: at the start of a node the API server may be the last to be there.
async fn install_at_start(api: &Api, crd: &Crd) {
    let mut delay = Duration::from_secs(1);
    while let Err(error) = crd::install(api, crd, PATIENCE).await {
        api.metrics().set_not_ready(&error.to_string());
        warn!(again_in_s = delay.as_secs(), "{error}");
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(Duration::from_secs(60));
    }
}

async fn connect(
    context: Option<String>,
    metrics: Arc<Metrics>,
    deadline: Duration,
) -> Result<(Api, String), RunError> {
    let config = client::config(context).await?;
    let server = config.server.to_string();
    let client = client::build(&config)?;
    Ok((Api::new(client, metrics, deadline), server))
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => "already in use".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
